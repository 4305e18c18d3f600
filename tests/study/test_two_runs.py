"""Two runs against one another."""

from __future__ import annotations

import io
import json
import shutil
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from tests.study.folders import SIGNATURE, result, scores, write_json, write_run
from tests.study.kept import LINES, REFERENCES, outputs
from xformer.cli import main
from xformer.config.compose import compose
from xformer.config.validate import dump
from xformer.errors import UserError
from xformer.scoring.corpus import bleu_of, statistics
from xformer.scoring.counts import write_counts
from xformer.study.statistics.bootstrap import approximate_randomisation, paired_bootstrap
from xformer.study.two_runs import compare_runs
from xformer.study.two_runs_view import compare


@cache
def configuration(experiment: str) -> str:
    return json.dumps(dump(compose([f"experiments={experiment}"])))


def write(
    root: Path, experiment: str, lines: list[str], references: list[str] = REFERENCES, **score: Any
) -> Path:
    """A run that kept its hypotheses and their counts."""
    bleu = bleu_of(statistics(lines, references).sum(axis=0))
    outcome = result(test=scores(bleu, 3.0) | {"sentences": len(lines)} | score)
    folder = write_run(root, experiment, configuration=json.loads(configuration(experiment)), outcome=outcome)
    (folder / "hypotheses").mkdir()
    (folder / "hypotheses" / "test.txt").write_text("".join(f"{line}\n" for line in lines))
    write_counts(folder / "hypotheses" / "test.txt", lines, references)
    return folder


@pytest.fixture
def both(tmp_path: Path) -> tuple[Path, Path]:
    return (
        write(tmp_path, "table3/base", outputs(1, 0.3)),
        write(tmp_path, "table3/A_h4", outputs(2, 0.2)),
    )


def test_differences_and_tests_are_right_less_left(both: tuple[Path, Path]) -> None:
    found = compare_runs(*both)
    left, right = (statistics(outputs(seed, lost), REFERENCES) for seed, lost in ((1, 0.3), (2, 0.2)))
    bleu = found.scores[0]
    assert (bleu.left, bleu.right) == (bleu_of(left.sum(axis=0)), bleu_of(right.sum(axis=0)))
    assert bleu.difference == pytest.approx(found.bootstrap.difference)
    assert bleu.difference > 0
    assert found.bootstrap == paired_bootstrap(right, left)
    assert found.randomisation == approximate_randomisation(right, left)
    assert found.bootstrap.p < 0.05
    assert found.sentences == LINES


def test_the_configuration_differs_in_what_the_row_changes(both: tuple[Path, Path]) -> None:
    changed = {each.key: (each.left, each.right) for each in compare_runs(*both).changed}
    assert changed["model.heads"] == (8, 4)
    assert set(changed) <= {"model.heads", "model.key_value_heads", "model.d_k", "model.d_v"}


def test_perplexity_is_left_out_where_one_was_beyond_all_numbers(tmp_path: Path) -> None:
    left = write(tmp_path, "table3/base", outputs(1), perplexity=None)
    right = write(tmp_path, "table3/A_h4", outputs(2))
    assert [each.metric.score for each in compare_runs(left, right).scores] == ["bleu", "chrf", "ter"]


def test_a_run_against_itself_differs_in_nothing(both: tuple[Path, Path]) -> None:
    found = compare_runs(both[0], both[0])
    assert found.changed == ()
    assert found.pairs == ()
    assert (found.bootstrap.difference, found.bootstrap.p) == (0, 1)
    assert found.randomisation.p == 1


def test_sentences_that_differ_most_come_with_both_translations(both: tuple[Path, Path]) -> None:
    pairs = compare_runs(*both, sentences=5).pairs
    assert len(pairs) == 5
    gaps = [abs(pair.difference) for pair in pairs]
    assert gaps == sorted(gaps, reverse=True)
    assert pairs[0].left == outputs(1, 0.3)[pairs[0].line - 1]
    assert pairs[0].right == outputs(2, 0.2)[pairs[0].line - 1]


def test_counts_that_evaluate_wrote_later_are_found(tmp_path: Path) -> None:
    left = write(tmp_path, "table3/base", outputs(1))
    (left / "hypotheses" / "test.bleu.csv").unlink()
    right = write(tmp_path, "table3/A_h4", outputs(2))
    with pytest.raises(UserError, match=r"base.*kept no counts .*`xformer evaluate RUN` counts them"):
        compare_runs(left, right)
    kept = {"beam": 4, "alpha": 0.6, "extra_length": 50, "averaged_checkpoints": 1}
    split = json.loads((left / "result.json").read_text())["test"]
    (left / "evaluations").mkdir()
    write_json(left / "evaluations" / "ab.json", kept | {"splits": {"test": split}})
    (left / "evaluations" / "ab.test.txt").write_text("".join(f"{line}\n" for line in outputs(1)))
    write_counts(left / "evaluations" / "ab.test.txt", outputs(1), REFERENCES)
    assert compare_runs(left, right).sentences == LINES


def test_a_split_without_scores_is_refused_with_what_there_is(tmp_path: Path) -> None:
    left = write(tmp_path, "table3/base", outputs(1))
    with pytest.raises(
        UserError, match=r"no scores of news .*`xformer evaluate RUN --split news`.*of dev, test$"
    ):
        compare_runs(left, left, "news")


def test_of_an_imported_run_its_training_is_not_known_and_given_text_scores_it(tmp_path: Path) -> None:
    left = write(tmp_path, "table3/base", outputs(1))
    for name in ("config.yaml", "status.json"):
        text = (left / name).read_text()
        (left / name).write_text(
            text.replace("experiment: table3/base", "experiment: imported").replace(
                '"table3/base"', '"imported"'
            )
        )
    for experiment, keys in (("C_n2", {"model.layers"}), ("D_ls00", set[str]())):
        both = compare_runs(left, write(tmp_path, f"table3/{experiment}", outputs(2)))
        assert {each.key for each in both.changed} == keys
        assert any("was imported" in note for note in both.notes)
    with pytest.raises(
        UserError, match=r"has no corpus; `xformer evaluate RUN --input FILE --reference FILE`"
    ):
        compare_runs(left, left, "long")


def test_a_folder_of_any_name_has_the_corpus_that_its_result_names(tmp_path: Path) -> None:
    first = write(tmp_path, "table3/base", outputs(1))
    found = json.loads((first / "result.json").read_text())
    write_json(first / "result.json", found | {"data": "multi30k-en-de", "data_hash": "0123abcd"})
    other = first.with_name("averaged")
    shutil.copytree(first, other)
    assert not any("corpora differ" in note for note in compare_runs(first, other).notes)


def test_other_references_are_refused_with_where_they_differ(tmp_path: Path) -> None:
    left = write(tmp_path, "table3/base", outputs(1))
    other = [*REFERENCES[:4], f"{REFERENCES[4]} longer", *REFERENCES[5:]]
    right = write(tmp_path, "table3/A_h4", outputs(2), other)
    with pytest.raises(UserError, match="against different references of test: that of line 5 has"):
        compare_runs(left, right)
    fewer = write(tmp_path, "table3/A_h1", outputs(2)[:50], REFERENCES[:50])
    with pytest.raises(UserError, match=r"80 sentences in .*, 50 in "):
        compare_runs(left, fewer)


def test_another_scorer_is_refused(tmp_path: Path) -> None:
    left = write(tmp_path, "table3/base", outputs(1))
    other = {"bleu": SIGNATURE.replace("13a", "intl")}
    right = write(tmp_path, "table3/A_h4", outputs(2), signature=other)
    with pytest.raises(UserError, match=r"scored in different ways.*tok:13a.*tok:intl"):
        compare_runs(left, right)


def test_perplexities_of_other_tokenizers_are_left_out_and_that_is_said(tmp_path: Path) -> None:
    left = write(tmp_path, "table3/base", outputs(1))
    right = write(tmp_path, "table3/A_h4", outputs(2))
    assert [each.metric.score for each in compare_runs(left, right).scores] == [
        "bleu",
        "chrf",
        "ter",
        "perplexity",
    ]
    outcome = json.loads((right / "result.json").read_text())
    write_json(right / "result.json", outcome | {"tokenizer": "another"})
    found = compare_runs(left, right)
    assert [each.metric.score for each in found.scores] == ["bleu", "chrf", "ter"]
    assert any("Perplexities are left out" in note for note in found.notes)


def test_a_split_that_was_not_scored_is_refused_with_the_command(both: tuple[Path, Path]) -> None:
    with pytest.raises(UserError, match=r"no scores of long .*`xformer evaluate RUN --split long`"):
        compare_runs(*both, split="long")


def test_mistakes_end_with_2_and_no_traceback(
    both: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", str(both[0]), str(tmp_path / "nowhere")]) == 2
    assert "nowhere: no such folder; give two folders such as" in capsys.readouterr().err
    assert main(["compare", str(both[0]), str(tmp_path)]) == 2
    assert "is not a run folder" in capsys.readouterr().err
    (both[1] / "result.json").write_text("{")
    assert main(["compare", *map(str, both)]) == 2
    assert "result.json" in capsys.readouterr().err


def test_json_holds_what_the_terminal_shows(
    both: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", *map(str, both), "--json"]) == 0
    values = json.loads(capsys.readouterr().out)
    assert values["split"] == "test"
    assert values["scores"]["bleu"]["difference"] == values["paired_bootstrap"]["difference"]
    assert {"key": "model.heads", "left": 8, "right": 4} in values["differences"]
    assert len(values["largest_differences"]) == 10


def test_the_terminal_shows_all_of_it_and_steers_nothing(tmp_path: Path) -> None:
    lines = [f"\x1b[31m[bold]{line}" for line in outputs(1)]
    left, right = write(tmp_path, "table3/base", lines), write(tmp_path, "table3/A_h4", outputs(2))
    console = Console(file=io.StringIO(), width=120)
    assert compare(left, right, "test", as_json=False, console=console) == 0
    assert isinstance(console.file, io.StringIO)
    shown = console.file.getvalue()
    assert "model.heads" in shown
    assert "paired bootstrap: p " in shown
    assert "approximate randomisation: p " in shown
    assert "[bold]" in shown
    assert "\x1b" not in shown
