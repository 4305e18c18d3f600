"""Training text is cleaned and counted, evaluation text is kept as it is, and work is done once."""

from __future__ import annotations

import dataclasses
import multiprocessing
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.data.corpora import config, grammar_data, sentences, write_corpus, write_small_corpus
from xformer.data import prepare as module
from xformer.data.corpus import SplitFiles
from xformer.data.prepare import prepare
from xformer.data.store import ParallelStore
from xformer.errors import UserError

MARKED = "line \u2028 with \x85 odd \v marks \f and \x1c a lone \r in it"


def test_training_pairs_are_the_encoded_lines(tmp_path: Path) -> None:
    write_small_corpus(tmp_path)
    prepared = prepare(config(tmp_path))
    assert len(prepared.train) == 60
    sources = prepared.tokenizer.decode([prepared.train.source(i) for i in range(60)])
    targets = prepared.tokenizer.decode([prepared.train.target(i) for i in range(60)])
    assert (sources, targets) == (sentences(60), sentences(60, shift=3))
    assert prepared.dropped == {"blank": 0, "too_long": 0}


def test_a_blank_side_drops_the_training_pair_and_is_counted(tmp_path: Path) -> None:
    write_small_corpus(tmp_path)
    sources, targets = sentences(60), sentences(60, shift=3)
    sources[3], targets[7], sources[9], targets[9] = "", " \t\u00a0\u2028", " ", ""
    write_corpus(tmp_path, {"train": (sources, targets)})
    prepared = prepare(config(tmp_path))
    assert prepared.dropped == {"blank": 3, "too_long": 0}
    kept = [source for i, source in enumerate(sources) if i not in (3, 7, 9)]
    assert prepared.tokenizer.decode([prepared.train.source(i) for i in range(57)]) == kept


def test_an_overlong_side_drops_the_training_pair_and_is_counted_with_its_eos(tmp_path: Path) -> None:
    write_small_corpus(tmp_path)
    whole = prepare(config(tmp_path)).train
    longest = int(max(whole.source_lengths.max(), whole.target_lengths.max()))
    assert prepare(config(tmp_path, max_length=longest)).dropped["too_long"] == 0
    cut = prepare(config(tmp_path, max_length=longest - 1))
    assert cut.dropped["too_long"] > 0
    assert len(cut.train) + cut.dropped["too_long"] == 60
    assert max(cut.train.source_lengths.max(), cut.train.target_lengths.max()) == longest - 1


def test_when_no_training_pair_is_left_the_reasons_are_counted(tmp_path: Path) -> None:
    write_small_corpus(tmp_path)
    write_corpus(tmp_path, {"train": ([*sentences(60), ""], [*sentences(60), "x"])})
    with pytest.raises(
        UserError, match=r"none of 61 training pairs is left: 1 have a blank .* 60 are longer .*max_length=1"
    ):
        prepare(config(tmp_path, max_length=1))
    assert not [path for path in (tmp_path / "cache" / "stores").iterdir() if not path.name.endswith(".lock")]


def test_odd_line_marks_do_not_shift_the_pairs_after_them(tmp_path: Path) -> None:
    write_small_corpus(tmp_path)
    write_corpus(
        tmp_path,
        {"train": (["one", MARKED, "three", *sentences(60)], ["eins", "zwei", "drei", *sentences(60)])},
    )
    prepared = prepare(config(tmp_path))
    assert prepared.tokenizer.decode([prepared.train.source(1), prepared.train.target(2)]) == [MARKED, "drei"]


# --- evaluation ------------------------------------------------------------------------------


def test_in_evaluation_n_lines_give_n_pairs_in_order_whatever_is_in_them(tmp_path: Path) -> None:
    write_small_corpus(tmp_path)
    sources = ["the cat", "", MARKED, "</s>", "the " * 300]
    references = ["die  Katze", "leer", "\"Zitat\" '' 語", "  ", ""]
    write_corpus(tmp_path, {"test": (sources, references)})
    evaluation = prepare(config(tmp_path, max_length=40)).evaluation("test")
    assert len(evaluation) == len(evaluation.store) == 5
    assert (evaluation.source_lines, evaluation.reference_lines) == (sources, references)
    tokenizer = prepare(config(tmp_path, max_length=40)).tokenizer
    assert tokenizer.decode([evaluation.store.source(i) for i in range(5)]) == sources
    assert tokenizer.decode([evaluation.store.target(i) for i in range(5)]) == references


def test_a_further_split_can_be_evaluated_and_a_missing_one_is_named(tmp_path: Path) -> None:
    write_small_corpus(tmp_path)
    write_corpus(tmp_path, {"test_2017": (["one"], ["eins"])})
    prepared = prepare(config(tmp_path))
    assert prepared.evaluation("test_2017").reference_lines == ["eins"]
    with pytest.raises(UserError, match=r"test_2018\.en not found"):
        prepared.evaluation("test_2018")


def test_the_built_in_language_has_a_long_split(tmp_path: Path) -> None:
    write_small_corpus(tmp_path)
    prepared = prepare(dataclasses.replace(config(tmp_path), data=grammar_data()))
    assert len(prepared.evaluation("long")) == 3


# --- done once -------------------------------------------------------------------------------


def _fail(*_: object) -> None:
    raise AssertionError("done again")


def test_a_second_preparation_finds_the_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_small_corpus(tmp_path)
    first = prepare(config(tmp_path))
    monkeypatch.setattr(module, "train_tokenizer", _fail)
    monkeypatch.setattr(module, "write_store", _fail)
    second = prepare(config(tmp_path))
    assert (second.data_hash, second.tokenizer_hash) == (first.data_hash, first.tokenizer_hash)
    assert second.train.source_lengths.tolist() == first.train.source_lengths.tolist()


def _ids(store: ParallelStore) -> list[list[int]]:
    return [store.source(i).tolist() for i in range(len(store))]


@pytest.mark.parametrize("harm", ["truncate", "alter", "delete"])
@pytest.mark.parametrize(
    "pattern", ["stores/*/source.ids", "stores/*/target.offsets", "tokenizers/*/tokenizer.json"]
)
def test_what_was_torn_or_altered_is_made_again(tmp_path: Path, pattern: str, harm: str) -> None:
    write_small_corpus(tmp_path)
    first = _ids(prepare(config(tmp_path)).train)
    (path,) = (tmp_path / "cache").glob(pattern)
    data = path.read_bytes()
    if harm == "delete":
        path.unlink()
    else:
        path.write_bytes(data[: len(data) // 2] if harm == "truncate" else b"\xff" + data[1:])
    assert _ids(prepare(config(tmp_path)).train) == first
    assert path.read_bytes() == data


def test_changed_text_is_prepared_anew(tmp_path: Path) -> None:
    write_small_corpus(tmp_path)
    first = prepare(config(tmp_path))
    write_corpus(tmp_path, {"train": (sentences(60, shift=1), sentences(60, shift=4))})
    second = prepare(config(tmp_path))
    assert second.data_hash != first.data_hash
    assert second.tokenizer.decode([second.train.source(5)]) == [sentences(60, shift=1)[5]]


def test_the_hashes_change_with_what_can_change_a_result_and_with_nothing_else(tmp_path: Path) -> None:
    write_small_corpus(tmp_path / "a")
    write_small_corpus(tmp_path / "b")

    def hashes(folder: str = "a", **changes: object) -> tuple[str, str]:
        prepared = prepare(config(tmp_path / folder, **changes))  # type: ignore[arg-type]
        return prepared.data_hash, prepared.tokenizer_hash

    base = hashes()
    assert hashes("b") == base
    assert hashes(max_length=200)[0] != base[0]
    assert hashes(max_length=200)[1] == base[1]
    assert hashes(vocabulary=272)[0] == base[0]
    assert hashes(vocabulary=272)[1] != base[1]
    write_corpus(tmp_path / "a", {"test": (["other"], ["text"])})
    assert hashes()[0] != base[0]
    assert hashes()[1] == base[1]


def test_text_that_changes_while_it_is_read_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_small_corpus(tmp_path)
    learn = module.train_tokenizer

    def change_and_learn(lines, vocabulary):  # type: ignore[no-untyped-def]
        write_corpus(tmp_path, {"train": (sentences(61), sentences(61))})
        return learn(lines, vocabulary)

    monkeypatch.setattr(module, "train_tokenizer", change_and_learn)
    with pytest.raises(UserError, match="changed while it was being read"):
        prepare(config(tmp_path))
    monkeypatch.setattr(module, "train_tokenizer", learn)
    assert len(prepare(config(tmp_path)).train) == 61


def test_another_tokenizer_encodes_the_text_anew(tmp_path: Path) -> None:
    write_small_corpus(tmp_path)
    for vocabulary in (270, 260):
        prepared = prepare(config(tmp_path, vocabulary=vocabulary))
        assert prepared.tokenizer.decode([prepared.train.source(20)]) == [sentences(60)[20]]
        assert prepared.tokenizer.encode([sentences(60)[20]]) == [prepared.train.source(20).tolist()]


def test_a_vocabulary_beyond_the_text_leaves_no_tokenizer_behind(tmp_path: Path) -> None:
    write_small_corpus(tmp_path)
    with pytest.raises(UserError, match=r"tokenizer\.vocabulary=5000: this text gives no more than"):
        prepare(config(tmp_path, vocabulary=5000))
    assert not list((tmp_path / "cache" / "tokenizers").glob("*/tokenizer.json"))


def _prepared(folder: Path) -> tuple[str, list[list[int]]]:
    prepared = prepare(config(folder))
    return prepared.tokenizer_hash, _ids(prepared.train)


def test_several_processes_at_once_prepare_the_same(tmp_path: Path) -> None:
    write_small_corpus(tmp_path)
    with multiprocessing.get_context("spawn").Pool(3) as pool:
        first, *others = pool.map(_prepared, [tmp_path] * 3, chunksize=1)
    assert all(other == first for other in others)
    assert len(list((tmp_path / "cache" / "stores").glob("*/header.json"))) == 1


# --- manners ---------------------------------------------------------------------------------


_PREPARE = """
import sys
from pathlib import Path
from tests.data.corpora import config
from xformer.data.prepare import prepare
prepare(config(Path(sys.argv[1])))
assert not {"torch", "lightning"} & set(sys.modules)
"""


def test_preparing_loads_neither_torch_nor_lightning_and_is_silent_when_redirected(tmp_path: Path) -> None:
    write_small_corpus(tmp_path)
    run = subprocess.run(
        [sys.executable, "-c", _PREPARE, str(tmp_path)],
        env=os.environ,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")


def test_the_summary_reports_what_was_dropped(tmp_path: Path) -> None:
    write_small_corpus(tmp_path)
    write_corpus(tmp_path, {"train": (["", *sentences(60)], ["x", *sentences(60)])})
    summary = prepare(config(tmp_path)).summary()
    assert "60 pairs kept" in summary
    assert "1 with a blank side, 0 too long" in summary


def test_large_text_is_read_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_small_corpus(tmp_path)
    whole = prepare(config(tmp_path))
    monkeypatch.setattr(module, "_PAIRS_AT_ONCE", 7)
    files = whole.corpus.splits["train"]
    assert isinstance(files, SplitFiles)
    assert [len(batch) for batch in module._batches(files)] == [7] * 8 + [4]
    assert _ids(prepare(config(tmp_path, cache_dir=tmp_path / "other")).train) == _ids(whole.train)
