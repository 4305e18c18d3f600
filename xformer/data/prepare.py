"""From a configuration to text, tokenizer and encoded training pairs, each made once and then found again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path

from xformer.config import schema
from xformer.data import cache
from xformer.data.corpus import (
    Corpus,
    SplitFiles,
    check_unchanged,
    open_corpus,
    read_lines,
    split,
    stream_lines,
)
from xformer.data.progress import shown
from xformer.data.store import FORMAT, ParallelStore, is_intact, read_notes, read_store, write_store
from xformer.data.tokenizer import Tokenizer, train_tokenizer
from xformer.errors import UserError

_PAIRS_AT_ONCE = 16_384  # in memory while encoding


@dataclass(frozen=True)
class EvaluationSet:
    """A split as it stands in its files: n lines in, n pairs out, in order, nothing dropped."""

    store: ParallelStore
    source_lines: list[str]
    reference_lines: list[str]

    @staticmethod
    def of(tokenizer: Tokenizer, sources: list[str], references: list[str]) -> EvaluationSet:
        """Encode as many sources as references."""
        pairs = zip(tokenizer.encode(sources), tokenizer.encode_target(references), strict=True)
        return EvaluationSet(ParallelStore.from_pairs(pairs, tokenizer.vocabulary), sources, references)

    def __len__(self) -> int:
        return len(self.source_lines)


@dataclass(frozen=True)
class Prepared:
    """All that training and evaluation need to know of the data.

    `dropped` counts the training pairs left out, by reason: `blank`, `too_long`.
    `data_hash` and `tokenizer_hash` change with anything that can change a result.
    """

    corpus: Corpus
    tokenizer: Tokenizer
    train: ParallelStore
    dropped: dict[str, int]
    data_hash: str
    tokenizer_hash: str

    @property
    def longest_source(self) -> int:
        """Tokens of the longest source to train on, its EOS not counted."""
        return int(self.train.source_lengths.max()) - 1

    def evaluation(self, name: str) -> EvaluationSet:
        """Read and encode the split `name`; raises UserError where it is missing or uneven."""
        files = split(self.corpus, name)
        return EvaluationSet.of(self.tokenizer, read_lines(files.source), read_lines(files.target))

    def summary(self) -> str:
        """What was prepared, for a person to read."""
        corpus, kept, dropped = self.corpus, len(self.train), self.dropped
        source, target = int(self.train.source_lengths.sum()), int(self.train.target_lengths.sum())
        others = ", ".join(
            f"{name} {files.lines:,}" for name, files in corpus.splits.items() if name != "train"
        )
        return "\n".join(
            [
                f"corpus      {corpus.name}, {self.data_hash}",
                f"training    {kept:,} pairs kept",
                f"dropped     {dropped['blank']:,} with a blank side, {dropped['too_long']:,} too long",
                f"source      {source:,} tokens, {source / kept:.1f} a sentence",
                f"target      {target:,} tokens, {target / kept:.1f} a sentence",
                f"evaluation  {others} pairs",
                f"vocabulary  {self.tokenizer.vocabulary:,} ids, {self.tokenizer_hash[:16]}",
            ]
        )


def prepare(config: schema.Config) -> Prepared:
    """Open the corpus, and train the tokenizer and encode the training text unless that was done before.

    Raises UserError for wrong data, a vocabulary the text cannot fill, or when no training pair is left.
    """
    cache_dir = Path(config.cache_dir)
    corpus = open_corpus(config.data, cache_dir)
    train = corpus.splits["train"]
    tokenizer = _tokenizer(train, config.tokenizer, cache_dir / "tokenizers")
    max_length = config.data.max_length
    data_hash = cache.key("data", corpus.digest, max_length)
    folder = cache_dir / "stores" / cache.key("store", FORMAT, train.digest, tokenizer.digest, max_length)
    complete = partial(is_intact, memory=cache_dir / "seen")
    cache.build_once(folder, complete, lambda work: _encode_training(work, train, tokenizer, max_length))
    dropped: dict[str, int] = read_notes(folder)
    return Prepared(corpus, tokenizer, read_store(folder), dropped, data_hash, tokenizer.digest)


def _tokenizer(train: SplitFiles, config: schema.Tokenizer, folder: Path) -> Tokenizer:
    folder = folder / cache.key("tokenizer", train.digest, config.kind, config.vocabulary)
    file = "tokenizer.json"

    def is_complete(folder: Path) -> bool:
        try:
            return Tokenizer.load(folder / file).vocabulary == config.vocabulary
        except UserError:
            return False

    def build(work: Path) -> None:
        lines = (line for path in (train.source, train.target) for line in stream_lines(path))
        counted = shown(lines, "learn BPE", 2 * train.lines, "lines")
        train_tokenizer(counted, config.vocabulary).save(work / file)
        check_unchanged(train)

    cache.build_once(folder, is_complete, build)
    return Tokenizer.load(folder / file)


def _encode_training(work: Path, train: SplitFiles, tokenizer: Tokenizer, max_length: int) -> None:
    dropped = {"blank": 0, "too_long": 0}

    def kept(lines: list[tuple[str, str]]) -> list[tuple[list[int], list[int]]]:
        full = [(source, target) for source, target in lines if source.strip() and target.strip()]
        sources, targets = ([pair[side] for pair in full] for side in (0, 1))
        pairs = zip(tokenizer.encode(sources), tokenizer.encode_target(targets), strict=True)
        short = [pair for pair in pairs if max(map(len, pair)) + 1 <= max_length]  # the EOS counts
        dropped["blank"] += len(lines) - len(full)
        dropped["too_long"] += len(full) - len(short)
        return short

    # The notes are written after the last batch, when everything has been counted.
    write_store(work, map(kept, _batches(train)), tokenizer.vocabulary, notes=dropped)
    check_unchanged(train)
    if sum(dropped.values()) == train.lines:
        raise UserError(
            f"{train.source}: none of {train.lines} training pairs is left: {dropped['blank']} have a blank "
            f"side, {dropped['too_long']} are longer than data.max_length={max_length} tokens. "
            "Check the files, or raise data.max_length."
        )


def _batches(files: SplitFiles) -> Iterator[list[tuple[str, str]]]:
    # Not strict: the lines were counted; if the files have changed since, `check_unchanged` says so.
    pairs = zip(stream_lines(files.source), stream_lines(files.target), strict=False)
    counted = shown(pairs, "encode", files.lines, "pairs")
    while batch := list(islice(counted, _PAIRS_AT_ONCE)):
        yield batch
