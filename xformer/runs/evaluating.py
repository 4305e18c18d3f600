"""The command `xformer evaluate`: scores of a trained run on splits of its corpus or on any two files."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tqdm import tqdm

from xformer.config import schema, splits
from xformer.data.evaluation_sets import content_name, from_files, joined
from xformer.data.named_sets import check_named, named_set
from xformer.data.prepare import EvaluationSet, prepare
from xformer.decoding.search import SearchSettings
from xformer.errors import UserError
from xformer.files import write_atomic, write_json
from xformer.runs.evaluation import Evaluation, evaluate as evaluate_set
from xformer.runs.folder import RunFolder
from xformer.runs.further_metrics import METRICS, Scored, target_language
from xformer.runs.identity import decoding_hash, decoding_settings
from xformer.runs.opening import decoding, open_run
from xformer.runs.trained import Trained, default_device, same_tokenizer
from xformer.scoring.counts import write_counts
from xformer.scoring.lengths import Bucket, score_by_length


@dataclass(frozen=True)
class _TestSet:
    """What is to be scored, and the longest source that was trained on, in tokens, where it is known."""

    name: str
    data: EvaluationSet
    longest_trained: int | None
    made: bool = False  # its references stand in no file of the corpus


def evaluate(options: argparse.Namespace) -> int:
    """Score into `evaluations/<hash>.json`, hypotheses beside it; `result.json` stays as it is."""
    _check(options)
    decode = decoding(options)
    settings = SearchSettings.of(decode)
    trained = open_run(options, decode)
    folder, digest = trained.folder.evaluations, decoding_hash(decode)
    folder.mkdir(exist_ok=True)
    kept = _Kept(trained, digest, decode)
    if kept.read() is None:
        for stale in folder.glob(f"{digest}.*"):
            stale.unlink()
    for each in _test_sets(trained, options):
        with tqdm(
            total=len(each.data), desc=f"translate {each.name}", unit=" lines", leave=False, disable=None
        ) as bar:
            found = evaluate_set(trained, each.data, settings, bar.update)
        lengths = [len(ids) for ids in trained.tokenizer.encode(each.data.source_lines)]
        buckets = score_by_length(
            [translation.text for translation in found.translations],
            each.data.reference_lines, lengths, each.longest_trained,
        )  # fmt: skip
        hypotheses = folder / f"{digest}.{each.name}.txt"
        write_atomic(hypotheses, found.text())
        write_counts(hypotheses, found.hypotheses, each.data.reference_lines)
        if each.made:
            text = "".join(f"{line}\n" for line in each.data.reference_lines)
            write_atomic(folder / f"{each.name}.reference.txt", text)
        own = found.summary() | {
            "longest_trained": each.longest_trained,
            "by_source_length": [_values(bucket) for bucket in buckets],
        }
        kept.add(each.name, own)  # before further metrics, which can fetch gigabytes and fail
        further = _further(trained, each, found, options)
        if further:
            kept.add(each.name, own | further)
        print("\n".join(_report(each, found, buckets, further)))
    print(kept.path)
    return 0


@dataclass(frozen=True)
class _Kept:
    """`evaluations/<hash>.json`: the scores with one way of decoding, split by split."""

    trained: Trained
    digest: str
    decode: schema.Decode

    @property
    def path(self) -> Path:
        return self.trained.folder.evaluations / f"{self.digest}.json"

    def read(self) -> dict[str, Any] | None:
        """What is kept; None for none, damaged ones, or those of weights that the run has left behind."""
        scores = self.trained.folder.evaluation(self.digest) or {}
        of_these_weights = scores.get("update") == self.trained.update
        return scores if of_these_weights and isinstance(scores.get("splits"), dict) else None

    def add(self, split: str, values: dict[str, Any]) -> None:
        """Store the scores of one split beside those of others, those that came meanwhile included."""
        scores = self.read() or decoding_settings(self.decode) | {
            "averaged_checkpoints": self.trained.averaged,
            "update": self.trained.update,
            "splits": {},
        }
        scores["splits"][split] = values
        write_json(self.path, scores)


def _check(options: argparse.Namespace) -> None:
    """Before anything is loaded."""
    if (options.input is None) != (options.reference is None):
        raise UserError("--input FILE and --reference FILE belong together: a text and its translation")
    if options.input is not None and options.split:
        raise UserError("--split and --input are two choices of what to score: give one of them")
    if (options.testset is None) != (options.langpair is None):
        raise UserError(
            "--testset NAME and --langpair SOURCE-TARGET belong together, such as wmt14 and en-de"
        )
    if options.testset is not None and (options.split or options.input is not None):
        raise UserError("--testset, --split and --input are choices of what to score: give one of them")
    if options.testset is not None:
        check_named(options.testset, options.langpair)
    if options.join < 1:
        raise UserError(f"--join {options.join}: give 1 (lines as they are) or more")
    on_its_corpus = options.testset is None and options.input is None
    if on_its_corpus and RunFolder(options.folder).config().experiment == schema.IMPORTED:
        raise UserError(
            f"{options.folder}: has no corpus, as it was imported; "
            "give --input FILE and --reference FILE, or --testset NAME and --langpair SOURCE-TARGET"
        )
    for name in options.metric or ():
        METRICS[name].check(_language(RunFolder(options.folder).config().data, options))


def _test_sets(trained: Trained, options: argparse.Namespace) -> Iterator[_TestSet]:
    """One after the other, so that a mistake in the last does not cost the first."""
    join, tokenizer = options.join, trained.tokenizer
    suffix = f".join{join}" if join > 1 else ""
    longest = (trained.folder.result() or {}).get("longest_source")
    known = longest if isinstance(longest, int) else None
    if options.input is not None:
        data = from_files(tokenizer, options.input, options.reference)
        name = content_name(options.input, data)
        yield _TestSet(name + suffix, joined(tokenizer, data, join), known, made=join > 1)
        return
    if options.testset is not None:
        data = EvaluationSet.of(tokenizer, *named_set(options.testset, options.langpair))
        name = f"{options.testset}.{options.langpair}".replace("/", "-")
        yield _TestSet(name + suffix, joined(tokenizer, data, join), known, made=True)
        return
    prepared = prepare(trained.config)
    same_tokenizer(trained, prepared)
    for split in options.split or ["test"]:
        data = joined(tokenizer, prepared.evaluation(split), join)
        yield _TestSet(splits.in_files(split) + suffix, data, prepared.longest_source, made=join > 1)


def _further(
    trained: Trained, each: _TestSet, found: Evaluation, options: argparse.Namespace
) -> dict[str, Any]:
    """What was asked for beside the usual scores, by name."""
    scored = Scored(
        sources=each.data.source_lines,
        hypotheses=found.hypotheses,
        references=each.data.reference_lines,
        language=_language(trained.config.data, options),
        gpu=default_device().type == "cuda",
    )
    return {name: METRICS[name].measure(scored) for name in options.metric or ()}


def _language(data: schema.Data, options: argparse.Namespace) -> str | None:
    """Of the target, where it is known."""
    return options.langpair.rpartition("-")[2] if options.langpair else target_language(data)


def _values(bucket: Bucket) -> dict[str, Any]:
    scores = bucket.scores
    return {
        "from": bucket.shortest,
        "to": bucket.longest,
        "beyond_training": bucket.beyond_training,
        "sentences": scores.sentences,
        "bleu": scores.bleu,
        "chrf": scores.chrf,
        "ter": scores.ter,
    }


def _report(
    each: _TestSet, found: Evaluation, buckets: list[Bucket], further: dict[str, Any]
) -> Iterator[str]:
    scores = found.scores
    yield f"{each.name}: {scores.sentences} sentences, perplexity {found.perplexity:.3f}"
    for name in ("bleu", "chrf", "ter"):
        yield f"  {name:4} {getattr(scores, name):6.2f}  {scores.signature[name]}"
    for name, values in further.items():
        yield f"  {name} {values['score']:.4f}  {values['label']}  {values['signature']}"
    if cut := sum(translation.source_cut for translation in found.translations):
        yield f"  {cut} sources were longer than the model has positions for and were cut"
    if cut := found.target_cut:
        yield f"  {cut} references were longer too: the perplexity is of what the model has positions for"
    yield f"  {'source tokens':>13} {'sentences':>9} {'bleu':>6} {'chrf':>6} {'ter':>6}"
    for bucket in buckets:
        values = "".join(f" {getattr(bucket.scores, name):6.2f}" for name in ("bleu", "chrf", "ter"))
        remark = "  longer than any trained on" if bucket.beyond_training else ""
        yield f"  {bucket.label:>13} {bucket.scores.sentences:9}{values}{remark}"
