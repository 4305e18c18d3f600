"""What CTranslate2's specification of a Transformer can express, without loading that library or torch.

Whatever it has no word for is refused by name: an export never approximates.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator

from xformer.config import schema
from xformer.errors import UserError

FORMAT = "ctranslate2"
FILES = frozenset({"model.bin", "config.json", "shared_vocabulary.json", "tokenizer.json", "README.md"})

_PLACEMENTS = ("post", "pre", "sandwich", "deepnorm")
_POSITIONS = ("sinusoidal", "learned", "none", "rope", "t5")
_FEEDFORWARDS = ("relu", "gelu", "silu", *schema.GATED)


def check(config: schema.Model) -> None:
    """Raise UserError that names every key whose value cannot be expressed, or for a missing library."""
    if refused := list(_inexpressible(config)):
        raise UserError(
            "the CTranslate2 format cannot express this model; --to safetensors can:\n" + "\n".join(refused)
        )
    if importlib.util.find_spec("ctranslate2") is None:
        raise UserError("--to ctranslate2 needs the package ctranslate2: pip install 'xformer[ctranslate2]'")


def _inexpressible(config: schema.Model) -> Iterator[str]:
    def one_of(key: str, value: str, *allowed: str, why: str = "") -> Iterator[str]:
        if value not in allowed:
            yield f"model.{key}: {value}; CTranslate2 has {', '.join(allowed)} only{why}"

    yield from one_of(
        "architecture", config.architecture, "encoder_decoder",
        why=": its single stack does not let a source see all of itself",
    )  # fmt: skip
    yield from one_of("placement.kind", config.placement.kind, *_PLACEMENTS)
    yield from one_of("position.kind", config.position.kind, *_POSITIONS, why=", ALiBi in no encoder")
    yield from one_of("feedforward.kind", config.feedforward.kind, *_FEEDFORWARDS)
    yield from one_of(
        "attention.query_key_norm", config.attention.query_key_norm, "none",
        why=" in attention to the source",
    )  # fmt: skip
