"""What must never reach a report: values of keys that speak of an API key, a secret or a password."""

from __future__ import annotations

import re

_SECRET = re.compile(
    r"(?is)^([^=]*(?:api[_-]?key|access[_-]?key|secret|passw(?:or)?d|auth[_-]?token|credential)[^=]*=).+"
)


def without_secret(override: str) -> str:
    """The override, its value hidden where its key speaks of a secret."""
    return _SECRET.sub(r"\1…", override)
