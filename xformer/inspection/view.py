"""`xformer inspect` for the eye: tables in the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from xformer.config.sizes.flops import SENTENCE
from xformer.inspection.description import Description
from xformer.inspection.key_values import BYTES
from xformer.inspection.shapes import SOURCE, TARGET
from xformer.inspection.tables import section, shown, table_of

LETTERS = (
    "B sentences, S source length, T target length, D d_model, H heads, G key_value_heads where fewer, "
    "K d_k, V d_v, F d_ff, W vocabulary"
)


def description_view(description: Description) -> RenderableType:
    """All of it, the shortest sections first."""
    return Group(
        *section(
            f"{description.config.experiment}, scale={description.config.scale.name}", _sizes(description)
        ),
        *section("Parameters", _parameters(description)),
        *section(
            "Floating-point operations", _costs(description),
            f"Matrix products only, a multiply-add counts 2, sentences of {SENTENCE} tokens on both sides.",
        ),
        *section(
            "Keys and values kept in decoding", _key_values(description),
            "For each hypothesis of a beam. Decoding runs in fp32 whatever the training's precision.",
        ),
        *section(
            f"Memory of training on a device ({description.device})", _memory(description),
            "The last two parts, and so the total, are ESTIMATES: what is kept for the backward pass of "
            f"one micro-batch of {description.config.batch.tokens_per_device:,} tokens a side "
            f"(batch.tokens_per_device), in sentences of {SENTENCE} tokens.",
        ),
        *section("Disk", _disk(description), "Beside the corpus, which runs share under cache_dir."),
        *section("Tensors, from token ids to logits", _shapes(description),
                  f"{LETTERS}. Sizes for two sentences: sources of {SOURCE[0]} and {SOURCE[1]} tokens, "
                  f"targets of {TARGET[0]} and {TARGET[1]}.",
                  "Additions, masks and scalings keep a tensor's shape and are left out. Attention is shown "
                  "in separate products; fused kernels keep the scores to themselves."),
        *section("Differences from the paper", *_deviations(description)),
        *section("Left open by the paper", _left_open(description)),
        *section("Different from the paper in every configuration", _always(description)),
    )  # fmt: skip


def _sizes(description: Description) -> Table:
    """Two sizes a line."""
    table = Table.grid(padding=(0, 4, 0, 0))
    sizes = [
        (name, shown(value))
        for name, value in description.sizes().items()
        if name not in ("experiment", "scale")
    ]
    half = (len(sizes) + 1) // 2
    for number in range(half):
        right = sizes[number + half] if number + half < len(sizes) else ("", "")
        table.add_row(*sizes[number], *right)
    return table


def _parameters(description: Description) -> Table:
    table = table_of("part", ">closed form", ">counted")
    closed, counted = description.closed_form, description.counted
    for part in [*closed, *(part for part in counted if part not in closed)]:
        if closed.get(part) or counted.get(part):
            table.add_row(part, f"{closed.get(part, 0):,}", f"{counted.get(part, 0):,}")
    table.add_section()
    totals = (sum(closed.values()), sum(counted.values()))
    table.add_row(
        "total", *(f"{total:,}" for total in totals), style="bold" if totals[0] == totals[1] else "red"
    )
    return table


def _costs(description: Description) -> Table:
    table = table_of("a token of", ">operations")
    table.add_row("the source, forward", f"{description.flops.source_token:,}")
    table.add_row("the target, forward", f"{description.flops.target_token:,}")
    table.add_row(
        "training, forward and backward (mean of both sides)", f"{description.flops_per_training_token:,}"
    )
    table.add_section()
    table.add_row("all training, updates as full as can be", f"{description.flops_of_training:,}")
    return table


def _key_values(description: Description) -> Table:
    precisions = description.precisions()
    table = table_of("for each", ">numbers", *(f">bytes in {each}" for each in precisions))
    kept = description.key_values
    for name, numbers in (
        ("source token (fixed while decoding)", kept.per_source_token),
        ("target token", kept.per_target_token),
        (f"sentence of {SENTENCE} source and {SENTENCE} target tokens", kept.sentence(SENTENCE, SENTENCE)),
    ):
        table.add_row(name, f"{numbers:,}", *(f"{numbers * BYTES[each]:,}" for each in precisions))
    return table


def _memory(description: Description) -> Table:
    memory = description.memory
    table = table_of("part", ">bytes", ">MiB")
    for name, size in (
        ("weights", memory.weights),
        ("gradients", memory.gradients),
        ("Adam's two moments", memory.adam_moments),
        ("kept for the backward pass (estimate)", memory.activations),
        ("logits and the loss (estimate)", memory.loss),
    ):
        table.add_row(name, f"{size:,}", f"{size / 2**20:,.1f}")
    table.add_section()
    table.add_row("total (estimate)", f"{memory.total:,}", f"{memory.total / 2**20:,.1f}", style="bold")
    return table


def _disk(description: Description) -> Table:
    kept = description.config.trainer.keep_checkpoints
    table = table_of("part", ">bytes", ">MiB")
    for name, size in (
        ("a checkpoint: weights, Adam's two moments", description.memory.checkpoint),
        (f"the {kept} that stay (trainer.keep_checkpoints)", kept * description.memory.checkpoint),
    ):
        table.add_row(name, f"{size:,}", f"{size / 2**20:,.1f}")
    return table


def _shapes(description: Description) -> Table:
    table = table_of("", "module", "operation", "shape", "sizes")
    table.columns[1].no_wrap = True
    for block in description.shapes:
        for number, row in enumerate(block.rows):
            table.add_row(
                f"× {block.times}" if number == 0 and block.times > 1 else "",
                row.module or "the model",
                row.operation,
                "\n".join(_joined(row.letters)),
                "\n".join(_joined([" ".join(map(str, shape)) for shape in row.sizes])),
            )
        table.add_section()
    return table


def _joined(shapes: Sequence[str]) -> list[str]:
    """One line each, equal neighbours once."""
    lines: list[str] = []
    for shape in shapes:
        if lines and lines[-1].split(" × ")[0] == shape:
            times = int(lines[-1].partition(" × ")[2] or 1) + 1
            lines[-1] = f"{shape} × {times}"
        else:
            lines.append(shape)
    return lines


def _deviations(description: Description) -> Iterator[RenderableType]:
    for change in description.undeclared:
        yield Text(
            f"UNDECLARED {change.key}: {shown(change.left)} in the base, {shown(change.right)} here; name "
            "it in the experiment's `changes`, or the row compares more than it says",
            style="bold red",
        )
    if not description.deviations:
        yield Text("none: every key is the paper's")
        return
    table = table_of("key", "here", "the paper", "because", "section")
    for each in description.deviations:
        here = shown(each.here)
        if each.here != each.at_paper_scale and each.at_paper_scale != each.paper:
            here += f" ({shown(each.at_paper_scale)} at scale=paper)"
        because = "; ".join([", ".join(each.causes), *([each.reason] if each.reason else [])])
        paper = f"open, base {shown(each.paper)}" if each.open else shown(each.paper)
        table.add_row(each.key, here, paper, because, each.section)
    yield table


def _left_open(description: Description) -> Table:
    table = table_of("what", "ours is", "because", "section")
    for each in description.left_open:
        table.add_row(each.what, shown(each.here), each.reason, each.section)
    return table


def _always(description: Description) -> Table:
    table = table_of("what", "here", "the paper", "because", "section")
    for each in description.always:
        table.add_row(each.what, each.here, each.paper, each.reason, each.section)
    return table
