"""Whether there is a login of Weights & Biases; asking its own library could end in a prompt."""

from __future__ import annotations

import netrc
import os
from pathlib import Path


def has_login() -> bool:
    """A key in the environment or a login on this machine."""
    if os.environ.get("WANDB_API_KEY"):
        return True
    host = os.environ.get("WANDB_BASE_URL", "api.wandb.ai").removeprefix("https://").removeprefix("http://")
    path = os.environ.get("NETRC") or Path.home() / ".netrc"
    try:
        return netrc.netrc(str(path)).authenticators(host.rstrip("/")) is not None
    except (OSError, netrc.NetrcParseError):
        return False
