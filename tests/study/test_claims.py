"""The built-in claims, and what is refused in a file of one's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from xformer.config import schema
from xformer.errors import UserError
from xformer.study.claims import Claim, RowReference, built_in_claims, read_claims
from xformer.study.paper import paper_rows
from xformer.study.question import Above, Within

KNOWN = {row.name for row in paper_rows()}
KNOWN |= {
    f"modern/{name}"
    for name in (
        *("prenorm", "sandwich", "deepnorm", "postsublayer", "rmsnorm", "qknorm", "rope", "alibi", "t5bias"),
        *("nope", "gelu", "silu", "relu2", "glu", "geglu", "swiglu", "mqa", "gqa", "parallel", "nobias"),
        *("llama", "decoder_only"),
    )
}
KNOWN |= {
    f"pitfalls/{name}"
    for name in (
        *("postnorm_nowarmup", "prenorm_nowarmup", "no_positions", "scale_none", "scale_dk"),
        *("no_embedding_scale", "postnorm_deep", "prenorm_deep"),
    )
}

CLAIM = """\
- name: mine
  says: My row is better.
  source: my notebook
  tests:
    - {kind: superiority, metric: test_bleu, rows: [custom model.heads=2, table3/base], margin: 0.5}
"""


def read(tmp_path: Path, text: str) -> tuple[Claim, ...]:
    path = tmp_path / "mine.yaml"
    path.write_text(text, encoding="utf-8")
    return read_claims(path)


def test_the_six_claims_of_the_paper_and_those_of_later_literature_are_there() -> None:
    names = [claim.name for claim in built_in_claims()]
    assert names[:6] == ["heads", "key_size", "size", "dropout", "label_smoothing", "learned_positions"]
    assert set(names[6:]) == {
        *("averaging", "warmup", "deep_postnorm", "gated_feedforward", "rmsnorm", "rotary_length"),
        *("grouped_queries", "no_positions", "unscaled_scores"),
    }


def test_every_row_of_a_built_in_claim_is_an_experiment() -> None:
    for claim in built_in_claims():
        for test in claim.tests:
            for row in test.rows:
                assert RowReference.read(row).words <= KNOWN, (claim.name, row)


def test_the_papers_claims_hold_of_the_papers_own_figures() -> None:
    """The numbers that the authors print, without noise, support what they conclude."""
    printed = {row.name: row for row in paper_rows()}
    for claim in built_in_claims()[:6]:
        for test in claim.tests:
            figure = "dev_bleu" if test.metric == "test_bleu" else "dev_ppl"
            for question in test.questions():
                value = sum(w * getattr(printed[row], figure) for row, w in question.weights.items())
                if isinstance(question, Above):
                    assert question.sign * value > question.threshold, (claim.name, question)
                else:
                    assert abs(value) < question.margin, (claim.name, question)


def test_a_claim_of_ones_own_is_read(tmp_path: Path) -> None:
    (claim,) = read(tmp_path, CLAIM)
    (question,) = claim.tests[0].questions()
    assert question == Above({"custom model.heads=2": 1.0, "table3/base": -1.0}, 1, 0.5)


def test_each_kind_asks_its_own_questions(tmp_path: Path) -> None:
    head = "- {name: a, says: b, source: c, tests: [{kind: "
    ordering = read(tmp_path, head + "ordering, metric: test_perplexity, rows: [a, b, c]}]}")[0].tests[0]
    assert ordering.questions() == (Above({"a": 1, "b": -1}, -1), Above({"b": 1, "c": -1}, -1))
    no_worse = read(tmp_path, head + "no_worse, metric: dev_bleu, rows: [a, b], margin: 0.3}]}")[0].tests[0]
    assert no_worse.questions() == (Above({"a": 1, "b": -1}, 1, -0.3),)
    same = read(tmp_path, head + "equivalence, metric: dev_ter, rows: [a, b], margin: 0.3}]}")[0].tests[0]
    assert same.questions() == (Within({"a": 1, "b": -1}, -1, 0.3),)


def test_a_trend_is_the_rise_of_the_line_through_the_rows(tmp_path: Path) -> None:
    text = "- {name: a, says: b, source: c, tests: [{kind: trend, metric: test_bleu, rows: [a, b, c],"
    ((question,),) = (each.tests[0].questions() for each in read(tmp_path, text + " along: [4, 1, 2]}]}"))
    line = {row: 7 + 3 * x for row, x in (("a", 4), ("b", 1), ("c", 2))}
    assert sum(question.weights[row] * line[row] for row in line) == pytest.approx(3 * (4 - 1))
    assert sum(question.weights.values()) == pytest.approx(0)


def test_a_reference_names_overrides_in_any_order_and_decoding_apart() -> None:
    one = RowReference.read("table3/base model.heads=2 decode.average=5 optim.x=1 decode.beam=1")
    assert one == RowReference.read("table3/base optim.x=1 decode.beam=1 model.heads=2 decode.average=5")
    assert one.decoding == (("beam", 1), ("average", 5))


def test_a_reference_may_change_whatever_of_decoding_can_change_a_score() -> None:
    words = "table3/base decode.max_length=9 decode.min_length=5"
    assert RowReference.read(words).decoding == (("min_length", 5), ("max_length", 9))
    for key in schema.DECODING:
        assert RowReference.read(f"table3/base decode.{key}=1").decoding == ((key, 1),)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "margin",
            "margn",
            r"claim mine: tests\.0\.margn: no such key; there are metric, rows, kind, margin",
        ),
        ("says:", "say:", r"claim mine: (says: is missing|say: no such key; there are name, says)"),
        ("  source: my notebook\n", "", "claim mine: source: is missing"),
        ("margin: 0.5", "margin: -1", r"claim mine: tests\.0\.margin: .*greater than or equal to 0"),
        ("margin: 0.5", "margin: .nan", r"claim mine: "),
        ("margin: 0.5", "margin: half", r"claim mine: tests\.0\.margin: .*number"),
        ("test_bleu", "test_blue", r"claim mine: tests\.0: test_blue is no metric: SPLIT_SCORE"),
        ("superiority", "better", r"tests\.0\.kind: must be one of superiority, no_worse, ordering"),
        ("kind: superiority, ", "", r"tests\.0\.kind: must be one of"),
        (", table3/base]", "]", r"tests\.0\.rows: "),
        (", table3/base]", ", table3/base, c]", r"tests\.0: rows: 3 of them"),
        (", table3/base]", ", custom model.heads=2]", r"tests\.0: rows: the same row twice"),
        (", table3/base]", ", decode.average=5]", r"tests\.0: decode.average=5: begins with no experiment"),
        (", table3/base]", ", a decode.bean=5]", r"decode.bean=5: only decode.beam, decode.alpha"),
        (", table3/base]", ", a decode.beam=x]", "decode.beam=x: x is no number"),
        (", table3/base]", ", a decode.beam=0]", "decode.beam=0: 0 is no number"),
        (", table3/base]", ", a decode.alpha=-1]", "decode.alpha=-1: -1 is no number"),
        (", table3/base]", ", a decode.alpha=nan]", "decode.alpha=nan: nan is no number"),
        ("superiority", "equivalence", None),
        ("superiority", "ordering", r"tests\.0\.margin: no such key"),
        ("superiority", "trend", r"tests\.0\.(margin: no such key|along: is missing)"),
        ("name: mine", "name: my claim", r"claim my claim: name: "),
        ("name: mine", "nam: mine", r"claim number 1: "),
        ("says: My row is better.", "says: ' '", "claim mine: says: "),
        ("says:", "says: x\n  says:", "line 3: says stands twice"),
        ("says:", "says: [", r"mine.yaml: line \d+: "),
    ],
)
def test_a_faulty_claim_is_refused_with_file_claim_and_key(
    tmp_path: Path, old: str, new: str, message: str | None
) -> None:
    assert old in CLAIM
    text = CLAIM.replace(old, new, 1)
    if message is None:
        read(tmp_path, text)
        return
    with pytest.raises(UserError, match=r"mine\.yaml: .*" + message.removeprefix("mine.yaml: ")):
        read(tmp_path, text)


@pytest.mark.parametrize("margin", ["", ", margin: 0"])
@pytest.mark.parametrize("kind", ["equivalence", "no_worse"])
def test_no_difference_needs_a_margin(tmp_path: Path, kind: str, margin: str) -> None:
    text = CLAIM.replace("superiority", kind).replace(", margin: 0.5", margin)
    with pytest.raises(UserError, match=r"claim mine: tests\.0\.margin: "):
        read(tmp_path, text)


@pytest.mark.parametrize(
    ("rows", "along", "message"),
    [
        ("a, b", "1, 2", "at least three"),
        ("a, b, c", "1, 2", "needs 3 different values"),
        ("a, b, c", "1, 2, 2", "needs 3 different values"),
    ],
)
def test_a_trend_needs_three_rows_at_different_values(
    tmp_path: Path, rows: str, along: str, message: str
) -> None:
    tests = f"[{{kind: trend, metric: test_bleu, rows: [{rows}], along: [{along}]}}]"
    with pytest.raises(UserError, match=rf"claim a: tests\.0: .*{message}"):
        read(tmp_path, f"- {{name: a, says: b, source: c, tests: {tests}}}")


@pytest.mark.parametrize("text", ["", "{}", "[]", "a: 1", "- 3", "\x00"])
def test_what_is_no_list_of_claims_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(UserError, match=r"mine\.yaml"):
        read(tmp_path, text)


def test_two_claims_of_one_name_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="claim mine: 2 claims have this name"):
        read(tmp_path, CLAIM + CLAIM)


def test_a_file_that_is_not_there_or_not_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"none\.yaml: cannot be read: No such file"):
        read_claims(tmp_path / "none.yaml")
    (tmp_path / "bytes.yaml").write_bytes(b"\xff\xfe\xff")
    with pytest.raises(UserError, match=r"bytes\.yaml: is not UTF-8"):
        read_claims(tmp_path / "bytes.yaml")
