"""Which of our numbers is which of Marian's, both ways.

Three things differ between the two:

* **Sinusoids.** Ours stand interleaved, sine and cosine of a wavelength side by side; Marian's stand in
  halves. That is one permutation of the d_model features of the residual stream, applied to everything that
  reads or writes it.
* **Epsilon.** Marian's norms have 1e-5 built in. With c = √(1e-5 / ε), norm(x; ε) = norm(c x; 1e-5) exactly,
  so the residual stream is carried c times as large: what writes it gets the factor c, what reads it 1/c.
  The sinusoids are written too, so that their table, c times as large, has to stand among the weights; for
  ε = 1e-5 it need not. (To leave ε as it is would change logits of a trained model by up to 1e-4.)
* **Packing.** Queries, keys and values of one input are one matrix here and three there.

D d_model, W vocabulary.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from xformer.config import schema
from xformer.errors import UserError
from xformer.exchange.marian_config import EPSILON
from xformer.model.architectures import skeleton
from xformer.model.embedding import TYING
from xformer.model.positions import sinusoids

BIAS = "final_logits_bias"  # (1, W), added to the logits
POSITIONS = ("model.encoder.embed_positions.weight", "model.decoder.embed_positions.weight")


@dataclass(frozen=True)
class Part:
    """A tensor of Marian's and where its numbers stand in ours."""

    theirs: str
    ours: str
    rows: tuple[int, int] | None = None  # of ours, first and past the last; None for all
    stream_axis: int | None = None  # the axis along the residual stream, None where there is none
    factor: float = 1.0  # theirs is ours times this

    def of(self, state: Mapping[str, Tensor]) -> Tensor:
        """Our numbers, as they stand here."""
        return state[self.ours] if self.rows is None else state[self.ours][slice(*self.rows)]


def export_weights(state: Mapping[str, Tensor], config: schema.Model, positions: int) -> dict[str, Tensor]:
    """Marian's tensors from a model's state, with a table of so many positions where they need one."""
    layout = config.position.layout if isinstance(config.position, schema.SinusoidalPosition) else "halves"
    order = halves_order(config.d_model) if layout == "interleaved" else torch.arange(config.d_model)
    tensors = {}
    for part in parts(config):
        ours = part.of(state).cpu()
        if part.stream_axis is not None:
            ours = ours.index_select(part.stream_axis, order)
        tensors[part.theirs] = (ours.double() * part.factor).to(ours.dtype)
    tensors[BIAS] = torch.zeros(1, len(tensors[_embedding_names(config)[2]]))
    if stores_positions(config):
        table = (sinusoids(positions, config.d_model, "halves") * enlargement(config)).float()
        tensors |= {name: table.clone() for name in POSITIONS}  # a file holds no tensor twice
    return tensors


def import_weights(
    tensors: Mapping[str, Tensor], config: schema.Model
) -> tuple[schema.Model, dict[str, Tensor], Tensor]:
    """The configuration with its epsilon, the state in float32, and the bias of the logits (W).

    Raises UserError for a tensor that is missing, of another shape, or of no use.
    """
    config = replace(config, norm=_norm(tensors, config))
    wanted = list(parts(config))
    vocabulary = _vocabulary(tensors, wanted[0].theirs)
    shapes = skeleton(config, vocabulary).state_dict()
    packed: dict[str, list[Tensor]] = {}
    for part in wanted:
        theirs = _tensor(tensors, part.theirs, tuple(part.of(shapes).shape))
        packed.setdefault(part.ours, []).append((theirs.double() / part.factor).float())
    bias = _tensor(tensors, BIAS, (1, vocabulary)) if BIAS in tensors else torch.zeros(1, vocabulary)
    _check_the_rest(tensors, config, known={part.theirs for part in wanted} | {BIAS, *POSITIONS})
    return config, {name: torch.cat(rows) for name, rows in packed.items()}, bias[0].float()


def enlargement(config: schema.Model) -> float:
    """How many times as large as ours Marian's residual stream is."""
    return math.sqrt(EPSILON / config.norm.epsilon)


def stores_positions(config: schema.Model) -> bool:
    """Whether the sinusoids have to stand among the weights."""
    return enlargement(config) != 1.0


def halves_order(d_model: int) -> Tensor:
    """Which interleaved feature stands at each place when sines come before cosines, (D,)."""
    return torch.cat([torch.arange(0, d_model, 2), torch.arange(1, d_model, 2)])


def parts(config: schema.Model) -> Iterator[Part]:
    """Every tensor of Marian's but the bias of the logits and the sinusoids, its embeddings first."""
    for theirs, role in dict(zip(_embedding_names(config), TYING[config.tying], strict=True)).items():
        yield Part(theirs, f"embedding.weight_WD.{role}", stream_axis=1, factor=enlargement(config))
    for stack in ("encoder", "decoder"):
        for layer in range(config.layers):
            yield from _layer(config, stack, layer)


def _layer(config: schema.Model, stack: str, layer: int) -> Iterator[Part]:
    ours, theirs = f"{stack}.layers.{layer}", f"model.{stack}.layers.{layer}"
    size = enlargement(config)
    kinds = ["self_attn", "encoder_attn", "ff"] if stack == "decoder" else ["self_attn", "ff"]
    for number, kind in enumerate(kinds):
        if kind == "ff":
            yield from _linear(f"{theirs}.fc1", f"{ours}.feedforward.inner", reads=size)
            yield from _linear(f"{theirs}.fc2", f"{ours}.feedforward.output", writes=size)
        else:
            yield from _attention(config, f"{theirs}.{kind}", ours, kind)
        after = size
        if layer == config.layers - 1 and number == len(kinds) - 1:
            # The source is handed over as it is; the logits are taken with enlarged embeddings.
            after = 1.0 if stack == "encoder" else 1 / size
        norm = "final_layer_norm" if kind == "ff" else f"{kind}_layer_norm"
        for name in ("weight", "bias"):
            yield Part(f"{theirs}.{norm}.{name}", f"{ours}.residual.norms.{number}.{name}", None, 0, after)


def _attention(config: schema.Model, theirs: str, layer: str, kind: str) -> Iterator[Part]:
    D, size = config.d_model, enlargement(config)
    cross = kind == "encoder_attn"
    ours = f"{layer}.cross_attention" if cross else f"{layer}.attention"
    packs = {"query": "q", "memory": "kv"} if cross else {"input": "qkv"}
    for pack, letters in packs.items():
        for number, letter in enumerate(letters):
            rows = (number * D, (number + 1) * D)
            reads = 1.0 if pack == "memory" else size
            yield from _linear(f"{theirs}.{letter}_proj", f"{ours}.{pack}", reads=reads, rows=rows)
    yield from _linear(f"{theirs}.out_proj", f"{ours}.output", writes=size)


def _linear(
    theirs: str,
    ours: str,
    *,
    reads: float | None = None,
    writes: float | None = None,
    rows: tuple[int, int] | None = None,
) -> Iterator[Part]:
    """A map from the stream (`reads`: its size) or to it (`writes`)."""
    if writes is not None:
        yield Part(f"{theirs}.weight", f"{ours}.weight", rows, 0, writes)
        yield Part(f"{theirs}.bias", f"{ours}.bias", rows, 0, writes)
    elif reads is not None:
        yield Part(f"{theirs}.weight", f"{ours}.weight", rows, 1, 1 / reads)
        yield Part(f"{theirs}.bias", f"{ours}.bias", rows)


def _embedding_names(config: schema.Model) -> tuple[str, str, str]:
    """Of source, target and output, as Hugging Face stores each matrix once."""
    if config.tying == "three_way":
        return ("model.shared.weight",) * 3
    source, target = (f"model.{stack}.embed_tokens.weight" for stack in ("encoder", "decoder"))
    return source, target, (target if config.tying == "target" else "lm_head.weight")


def _norm(tensors: Mapping[str, Tensor], config: schema.Model) -> schema.LayerNorm:
    """With the epsilon that the size of stored sinusoids stands for; raises UserError for other positions."""
    tables = {name: tensors[name].double() for name in POSITIONS if name in tensors}
    # Their last feature at position 0 is the cosine of 0.
    sizes = [float(table[0, -1]) for table in tables.values() if table.dim() == 2 and table.numel()]
    size = sizes[0] if sizes else 1.0
    for name, table in tables.items():
        expected = size * sinusoids(len(table), config.d_model, "halves")
        if size <= 0 or table.shape != expected.shape or not torch.allclose(table, expected, atol=1e-3):
            raise UserError(f"the weights' {name} holds no sinusoids; other positions cannot be imported")
    epsilon = float(f"{EPSILON / size**2:.6g}")
    return schema.LayerNorm(kind="layernorm", epsilon=epsilon, bias=True)


def _vocabulary(tensors: Mapping[str, Tensor], name: str) -> int:
    if name not in tensors:
        raise UserError(f"the weights lack {name}")
    return tensors[name].shape[0] if tensors[name].dim() else 0


def _tensor(tensors: Mapping[str, Tensor], name: str, shape: tuple[int, ...]) -> Tensor:
    if name not in tensors:
        raise UserError(f"the weights lack {name}")
    tensor = tensors[name]
    if tuple(tensor.shape) != shape:
        raise UserError(f"the weights' {name} is {tuple(tensor.shape)}, the configuration's {shape}")
    if not tensor.is_floating_point():
        raise UserError(
            f"the weights' {name} has the type {tensor.dtype}; only floating numbers can be imported"
        )
    return tensor.float()


def _check_the_rest(tensors: Mapping[str, Tensor], config: schema.Model, known: set[str]) -> None:
    """Copies of a tied matrix may stand there too; anything else may not."""
    source, target, output = _embedding_names(config)
    tied = {
        "model.shared.weight": source,
        "model.encoder.embed_tokens.weight": source,
        "model.decoder.embed_tokens.weight": target,
        "lm_head.weight": output,
    }
    for name in sorted(tensors.keys() - known):
        if name not in tied:
            raise UserError(f"the weights hold {name}, which this architecture has no place for")
        if not torch.equal(tensors[name], tensors[tied[name]]):
            raise UserError(f"the weights' {name} differs from {tied[name]}, and the configuration ties them")
