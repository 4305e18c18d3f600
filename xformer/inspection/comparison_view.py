"""`xformer inspect --diff` for the eye."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from xformer.inspection.compare import Comparison
from xformer.inspection.tables import section, shown, table_of


def comparison_view(comparison: Comparison) -> RenderableType:
    """Differing keys, then parameters and costs with their ratio."""
    keys = table_of("key", comparison.left, comparison.right)
    for each in comparison.differences:
        keys.add_row(each.key, shown(each.left), shown(each.right))
    costs = table_of("by closed formula", f">{comparison.left}", f">{comparison.right}", ">ratio")
    for name, (left, right) in comparison.quantities.items():
        costs.add_row(name.replace("_", " "), f"{left:,}", f"{right:,}", f"{right / left:.4f}")
    title = f"{comparison.left} and {comparison.right}, scale={comparison.scale}"
    body = keys if comparison.differences else Text("no key differs")
    return Group(*section(title, body), *section("Cost", costs))
