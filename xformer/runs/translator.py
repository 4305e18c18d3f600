"""A trained run in Python: `xformer.load(RUN)`, then `.translate([...])` and `.score([...], [...])`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import torch

from xformer.decoding.likelihood import log_probabilities
from xformer.decoding.search import SearchSettings
from xformer.decoding.strategy import Strategy
from xformer.decoding.translate import Translation, cut, translate
from xformer.errors import UserError
from xformer.runs.folder import RunFolder
from xformer.runs.trained import Trained, default_device, load as load_trained


def load(
    run: str | os.PathLike[str], *, average: int | None = None, device: str | torch.device | None = None
) -> Translator:
    """Load the run folder `run`: the model after its last update, or the mean of its last checkpoints.

    average: how many; what the run's configuration says if left out.
    device: such as "cpu" or "cuda:1"; a GPU where there is one if left out.
    Raises UserError for a folder that is no run or holds too few checkpoints.
    """
    chosen = default_device() if device is None else torch.device(device)
    return Translator(load_trained(RunFolder(Path(run)), average=average, device=chosen))


class Translator:
    """A trained run, ready to translate and to score; `trained` holds its model and tokenizer."""

    def __init__(self, trained: Trained) -> None:
        self.trained = trained

    def __repr__(self) -> str:
        return f"<xformer run {self.trained.folder.path} at update {self.trained.update}>"

    def translate(self, lines: Sequence[str], strategy: Strategy | None = None) -> list[str]:
        """The best translation of each line, as `xformer translate` gives it.

        strategy: a `SearchSettings` or a `Sampling`; as the run's configuration has it if left out.
        """
        return [each.text for each in self.translations(lines, strategy)]

    def translations(self, lines: Sequence[str], strategy: Strategy | None = None) -> list[Translation]:
        """Each line's candidates, with ids, log-probabilities and scores, best first."""
        trained = self.trained
        decode = trained.config.decode
        how = strategy or SearchSettings.of(decode)
        return translate(
            trained.model, trained.tokenizer, _lines("lines", lines), how, decode.tokens_per_batch
        )

    def score(self, sources: Sequence[str], targets: Sequence[str]) -> list[float]:
        """log P(target | source) of each pair, natural, the end of the target included.

        Of the tokens that the tokenizer cuts `targets` into; a model may have written the same text in other
        ones, less probable or more. A source beyond the model's positions is cut, as in translation.
        Raises UserError for uneven sides or a target longer than the model has positions for.
        """
        sources, targets = _lines("sources", sources), _lines("targets", targets)
        if len(sources) != len(targets):
            raise UserError(f"{len(sources)} sources but {len(targets)} targets: give as many of both")
        model, tokenizer = self.trained.model, self.trained.tokenizer
        read = [cut(ids, model.max_source_length) for ids in tokenizer.encode(sources)]
        written = tokenizer.encode_target(targets)
        longest = model.max_target_length
        for number, ids in enumerate(written):
            if longest is not None and len(ids) + 1 > longest:
                raise UserError(
                    f"target {number} has {len(ids)} tokens, the model has positions for {longest - 1}"
                )
        return log_probabilities(model, read, written, self.trained.config.decode.tokens_per_batch)


def _lines(name: str, lines: Sequence[str]) -> list[str]:
    if isinstance(lines, str):  # whose items are its characters
        raise UserError(f"{name} is one text: give a list of lines, such as [{lines[:20]!r}]")
    return list(lines)
