"""What ends work early: a mistake the user can mend, or a wish that it should stop."""

from __future__ import annotations


class UserError(Exception):
    """Something the user can mend: what is wrong, where, and what to do. Exit code 2, no traceback."""


class Stopped(Exception):
    """Work between two checkpoints was given up because the process was asked to stop."""
