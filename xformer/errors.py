"""The one exception that is written for the person at the keyboard."""

from __future__ import annotations


class UserError(Exception):
    """Something the user can mend: what is wrong, where, and what to do. Exit code 2, no traceback."""
