"""How many parameters a model has, by closed formula.

Pure arithmetic on the configuration, without torch. `xformer.model.counting` counts what was built: the two
must agree for every configuration; a difference is a fault in one of them.

D d_model, F d_ff, H heads, G key_value_heads, K d_k, V d_v, W vocabulary.
"""

from __future__ import annotations

from xformer.config import schema
from xformer.config.sizes.layout import Stack, stacks

_EMBEDDING_MATRICES = {"three_way": 1, "target": 2, "none": 3}


def parameters(config: schema.Model, vocabulary: int) -> dict[str, int]:
    """Return the parameters by part, from the closed formulas; their sum is the model's size."""
    parts = {"embedding": _EMBEDDING_MATRICES[config.tying] * vocabulary * config.d_model}
    size = {
        "attention": attention_parameters(config),
        "cross_attention": attention_parameters(config),
        "feedforward": feedforward_parameters(config),
    }
    for stack in stacks(config):
        parts[f"{stack.name}.position"] = position_parameters(config)
        for sublayer in stack.sublayers:
            parts[f"{stack.name}.{sublayer}"] = stack.layers * size[sublayer]
        parts[f"{stack.name}.norm"] = norms(config, stack) * norm_parameters(config)
    return parts


def attention_parameters(config: schema.Model) -> int:
    """Parameters of one attention sub-layer, of either kind."""
    inputs = config.heads * config.d_k + config.key_value_heads * (config.d_k + config.d_v)
    weights = config.d_model * inputs + config.heads * config.d_v * config.d_model
    biases = inputs + config.d_model if config.attention.bias else 0
    gains = 0 if config.attention.query_key_norm == "none" else 2 * config.d_k
    return weights + biases + gains


def feedforward_parameters(config: schema.Model) -> int:
    """Parameters of one feed-forward sub-layer; a gated one has a third matrix."""
    inner = 2 if config.feedforward.kind in schema.GATED else 1
    weights = (inner + 1) * config.d_model * config.d_ff
    return weights + (inner * config.d_ff + config.d_model if config.feedforward.bias else 0)


def norm_parameters(config: schema.Model) -> int:
    """Parameters of one norm."""
    match config.norm:
        case schema.LayerNorm(bias=bias):
            return config.d_model * (2 if bias else 1)
        case schema.RMSNorm():
            return config.d_model


def norms(config: schema.Model, stack: Stack) -> int:
    """Norms in one stack, the one at its end included."""
    each = stack.layers * len(stack.sublayers)
    match config.placement:
        case schema.PostPlacement() | schema.DeepNormPlacement():
            return each
        case schema.PrePlacement() | schema.PostSubLayerPlacement():
            return each + 1
        case schema.SandwichPlacement():
            return 2 * each + 1
        case schema.ParallelPlacement():
            return stack.layers + 1


def position_parameters(config: schema.Model) -> int:
    """Parameters of one stack's position scheme."""
    match config.position:
        case schema.LearnedPosition(max_length=max_length):
            # A single stack has positions for a source and a target one after the other.
            return max_length * config.d_model * (2 if config.architecture == "decoder_only" else 1)
        case schema.RelativePosition(buckets=buckets):
            return buckets * config.heads
        case _:
            return 0
