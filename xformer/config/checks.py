"""Settings that are each allowed but contradict one another, in one place."""

from __future__ import annotations

from collections.abc import Iterator

from xformer.config import schema
from xformer.wording import counted


def contradictions(config: schema.Config) -> Iterator[str]:
    """One line for each contradiction: the keys, their values, what is allowed."""
    yield from _attention(config.model)
    yield from _feedforward(config.model)
    yield from _positions(config)
    yield from _budgets(config)
    yield from _tokenizer(config)
    yield from _languages(config.data)
    yield from _checkpoints(config)
    yield from _schedule(config)
    yield from _lengths(config)


def _attention(model: schema.Model) -> Iterator[str]:
    if model.heads % model.key_value_heads:
        yield (
            f"model.key_value_heads: {model.key_value_heads} does not divide model.heads = {model.heads}; "
            "each key and value head serves the same number of query heads"
        )


def _feedforward(model: schema.Model) -> Iterator[str]:
    if model.feedforward.kind in schema.GATED and model.match == "none":
        yield (
            f"model.match: none with model/feedforward={model.feedforward.kind}, whose third matrix would "
            "make feed-forward layers half as large again; take params or flops, which solve model.d_ff"
        )


def _positions(config: schema.Config) -> Iterator[str]:
    model = config.model
    position, width = model.position, model.d_model
    if isinstance(position, schema.RotaryPosition):
        turned = position.fraction * model.d_k
        if turned != int(turned) or turned % 2:
            yield (
                f"model.position.fraction: {position.fraction:g} of model.d_k = {model.d_k} is {turned:g} "
                "features; they are turned in pairs, take an even number"
            )
    if isinstance(position, schema.RelativePosition):
        yield from _buckets(position)
    if isinstance(position, schema.SinusoidalPosition) and width % 2:
        yield f"model.d_model: {width} is odd; sinusoids come in pairs of sine and cosine, take an even width"
    if isinstance(position, schema.LearnedPosition) and position.max_length < config.data.max_length:
        yield (
            f"model.position.max_length: {position.max_length} is less than data.max_length = "
            f"{config.data.max_length}; training sentences would have positions that do not exist"
        )


def _buckets(position: schema.RelativePosition) -> Iterator[str]:
    buckets, distance = position.buckets, position.max_distance
    if buckets % 4:
        yield (
            f"model.position.buckets: {buckets} is no multiple of 4; they are halved for the two directions, "
            "and again for exact and logarithmic distances"
        )
    elif distance <= buckets // 2:
        yield (
            f"model.position.max_distance: {distance} is not more than the {buckets // 2} distances that "
            f"half of model.position.buckets = {buckets} hold one by one; raise it or take fewer buckets"
        )


def _budgets(config: schema.Config) -> Iterator[str]:
    longest = config.data.max_length
    for key, budget in (
        ("batch.tokens_per_update", config.batch.tokens_per_update),
        ("batch.tokens_per_device", config.batch.tokens_per_device),
    ):
        if budget < longest:
            yield f"{key}: {budget} is less than data.max_length = {longest}; its sentences would not fit"


def _tokenizer(config: schema.Config) -> Iterator[str]:
    kind, vocabulary = config.tokenizer.kind, config.tokenizer.vocabulary
    if kind == "sentencepiece" and config.experiment != schema.IMPORTED:
        yield f"tokenizer.kind: {kind} is that of imported models; bpe is what can be trained here"
    if kind == "bpe" and vocabulary < 260:
        yield f"tokenizer.vocabulary: {vocabulary} is less than 260, the 256 bytes and 4 control tokens"


def _languages(data: schema.Data) -> Iterator[str]:
    if isinstance(data, schema.HubData) and data.source == data.target:
        yield f"data.target: {data.target} is data.source too; give the two languages of the corpus"


def _checkpoints(config: schema.Config) -> Iterator[str]:
    average, trainer = config.decode.average, config.trainer
    if average > trainer.keep_checkpoints:
        yield (
            f"decode.average: {average} is more than trainer.keep_checkpoints = "
            f"{trainer.keep_checkpoints}; keep at least as many checkpoints as are averaged"
        )
    written = -(-trainer.updates // trainer.checkpoint_every)  # the last update has one of its own
    if average > written:
        yield (
            f"decode.average: {average} is more than the {counted(written, 'checkpoint')} of "
            f"trainer.updates = {trainer.updates} and trainer.checkpoint_every = "
            f"{trainer.checkpoint_every}; take fewer, or write checkpoints more often"
        )


def _lengths(config: schema.Config) -> Iterator[str]:
    least, most, position = config.decode.min_length, config.decode.max_length, config.model.position
    if most and least > most:
        yield f"decode.min_length: {least} is more than decode.max_length = {most}; no output is both"
    if isinstance(position, schema.LearnedPosition) and least >= position.max_length:
        yield (
            f"decode.min_length: {least} leaves no room for the end of a sentence within "
            f"model.position.max_length = {position.max_length}"
        )


def _schedule(config: schema.Config) -> Iterator[str]:
    if config.optim.cooldown_updates > config.trainer.updates:
        yield (
            f"optim.cooldown_updates: {config.optim.cooldown_updates} is more than trainer.updates = "
            f"{config.trainer.updates}; it is the last part of them"
        )
