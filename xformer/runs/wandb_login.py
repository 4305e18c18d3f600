"""What this machine says of Weights & Biases; asking its own library is slow and could end in a prompt."""

from __future__ import annotations

import netrc
import os
from pathlib import Path

from xformer.errors import UserError

_MODES = ("online", "offline", "disabled", "shared", "dryrun", "run")  # wandb's


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


def wanted_mode() -> str:
    """`WANDB_MODE`, or what a login allows. Raises UserError for a mode that there is none of."""
    mode = os.environ.get("WANDB_MODE") or ("online" if has_login() else "offline")
    if mode not in _MODES:
        raise UserError(f"WANDB_MODE={mode}: must be one of {', '.join(_MODES)}, or unset")
    return mode
