"""Which stacks an architecture has, and what their layers are made of; without torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from xformer.config import schema


@dataclass(frozen=True)
class Stack:
    """One stack of layers. `decoder_only` is the single one that reads the source and writes the target."""

    kind: Literal["encoder", "decoder", "decoder_only"]
    layers: int
    sublayers: tuple[str, ...]  # of each layer, by the names of their modules

    @property
    def name(self) -> str:
        """Of the module, and so of its parameters."""
        return "encoder" if self.kind == "encoder" else "decoder"


def encoder(config: schema.Model) -> Stack:
    return Stack("encoder", config.layers, ("attention", "feedforward"))


def decoder(config: schema.Model) -> Stack:
    """The target's stack, which has a cross-attention beside what the encoder has; or the only one."""
    if config.architecture == "decoder_only":
        return Stack("decoder_only", 2 * config.layers, ("attention", "feedforward"))
    return Stack("decoder", config.layers, ("attention", "cross_attention", "feedforward"))


def stacks(config: schema.Model) -> tuple[Stack, ...]:
    """Return the stacks of a model, in the order in which text goes through them."""
    if config.architecture == "decoder_only":
        return (decoder(config),)
    return encoder(config), decoder(config)
