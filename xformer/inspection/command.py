"""`xformer inspect`: describe one configuration, or compare two experiments."""

from __future__ import annotations

import argparse
import json
from typing import Any

from xformer.config.compose import compose_job
from xformer.errors import UserError


def inspect(options: argparse.Namespace) -> int:
    """Print what is asked for and return the exit code.

    Raises UserError for a wrong configuration, and, after printing, for an experiment that changes something
    that its file does not declare.
    """
    if options.diff:
        return _compare(options)
    job = compose_job(options.overrides, config_dir=options.config_dir)
    # Only now, since a configuration error should answer at once.
    from xformer.inspection.description import describe

    description = describe(job, options.config_dir)
    if options.json:
        _print_json(description.plain())
    else:
        from xformer.inspection.tables import show
        from xformer.inspection.view import description_view

        show(description_view(description))
    if description.undeclared:
        changed = "\n".join(f"  {each.key}: {each.left} → {each.right}" for each in description.undeclared)
        raise UserError(
            f"experiments={job.config.experiment}: changes what its file does not declare; add it to "
            f"`changes` there, or leave it as in the base:\n{changed}"
        )
    return 0


def _compare(options: argparse.Namespace) -> int:
    from xformer.inspection.compare import compare

    left, right = options.diff
    comparison = compare(left, right, options.overrides, config_dir=options.config_dir)
    if options.json:
        _print_json(comparison.plain())
    else:
        from xformer.inspection.comparison_view import comparison_view
        from xformer.inspection.tables import show

        show(comparison_view(comparison))
    return 0


def _print_json(plain: dict[str, Any]) -> None:
    print(json.dumps(plain, indent=2, ensure_ascii=False))
