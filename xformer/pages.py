"""Self-contained pages: how they are put together, and a policy that lets no script run but their own."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable
from importlib import resources
from typing import Any

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup


def filled(package: str, *, finalize: Callable[[Any], Any] | None = None, **values: Any) -> str:
    """`page.html` of a package with its `page.css`, its `page.js`, their policy, and these values.

    Jinja2 escapes every value that is not `Markup`, after `finalize` has seen it.
    """
    text, style, script = (
        resources.files(package).joinpath(name).read_text(encoding="utf-8")
        for name in ("page.html", "page.css", "page.js")
    )
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, finalize=finalize, trim_blocks=False, auto_reload=False
    )
    return environment.from_string(text).render(
        policy=policy(style, script), style=Markup(style), script=Markup(script), **values
    )


def policy(style: str, script: str) -> str:
    """The content security policy of a page with this one style and this one script, to the letter.

    Nothing is fetched from anywhere, and no other style or script runs, whatever text ends up in the page.
    """
    return f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; img-src data:"


def _hash(content: str) -> str:
    digest = hashlib.sha256(content.encode()).digest()
    return "sha256-" + base64.b64encode(digest).decode()
