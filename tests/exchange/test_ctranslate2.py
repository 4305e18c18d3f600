"""CTranslate2 gives the probabilities and the translations of what was exported to it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import ctranslate2
import pytest
import torch
from tokenizers import Tokenizer

import xformer
from tests.decoding.models import padded
from tests.exchange.foreign import restless
from tests.model.configs import (
    DEEPNORM,
    LAYERNORM,
    PARTIAL_ROPE,
    RMSNORM,
    SANDWICH,
    SMALL,
    T5,
    VARIANTS,
    VOCABULARY,
)
from xformer import cli
from xformer.config import schema
from xformer.data.vocabulary import BOS, EOS, PAD, UNK
from xformer.decoding.likelihood import log_probabilities
from xformer.decoding.search import SearchSettings, beam_search
from xformer.errors import UserError
from xformer.exchange.ctranslate2_check import check
from xformer.exchange.ctranslate2_spec import to_spec
from xformer.model.encoder_decoder import EncoderDecoder

INEXPRESSIBLE = {
    "post_sub_layer": "placement.kind: postsublayer; CTranslate2 has post, pre, sandwich, deepnorm only",
    "parallel": "placement.kind: parallel; CTranslate2 has post, pre, sandwich, deepnorm only",
    "alibi": "position.kind: alibi; CTranslate2 has sinusoidal, learned, none, rope, t5 only, "
    "ALiBi in no encoder",
    "relu2": "feedforward.kind: relu2; CTranslate2 has relu, gelu, silu, glu, reglu, geglu, swiglu only",
    "qk_norm": "attention.query_key_norm: rms; CTranslate2 has none only in attention to the source",
    "decoder_only": "architecture: decoder_only; CTranslate2 has encoder_decoder only: "
    "its single stack does not let a source see all of itself",
}
EXPRESSIBLE = {
    **{name: config for name, config in VARIANTS.items() if "fused" not in name},
    "grouped_query_as_wide": replace(SMALL, heads=4, key_value_heads=2, d_k=4, d_v=4),
    "wide_values_and_rope": replace(SMALL, d_k=4, d_v=6, position=PARTIAL_ROPE),
    "no_shift": replace(SMALL, norm=replace(LAYERNORM, bias=False)),
    "large_epsilon": replace(SMALL, norm=replace(LAYERNORM, epsilon=0.01)),
    "large_epsilon_rms": replace(SMALL, norm=replace(RMSNORM, epsilon=0.01)),
    "deepnorm_rope_gqa": replace(
        VARIANTS["grouped_query"], placement=DEEPNORM, position=PARTIAL_ROPE, d_k=4, d_v=6
    ),
    "unscaled_embeddings": replace(SMALL, embedding_scale=False),
}
for _refused in [name for name in EXPRESSIBLE if name in INEXPRESSIBLE or "decoder_only" in name]:
    del EXPRESSIBLE[_refused]

Prepare = Callable[[EncoderDecoder], None]
Make = Callable[..., tuple[EncoderDecoder, ctranslate2.Translator]]
UPDATES = 150
NAMES = ["<pad>", "<bos>", "<eos>", "<unk>", *(f"t{number}" for number in range(4, VOCABULARY))]
SOURCES = [[5, 9, 30, 11, 7, 7, 25], [18], [4, 39, 22], list(range(4, 37))]


def sharpened(model: EncoderDecoder) -> None:
    """Surer of itself than a model that has learned nothing is, so that greedy search meets no ties."""
    last = model.decoder.norm if hasattr(model.decoder.norm, "weight") else None
    (last or model.decoder.layers[-1].residual.norms[-1]).weight.data *= 4


@pytest.fixture
def exported(tmp_path: Path) -> Make:
    """Makes a model, and what CTranslate2 has of it."""

    def make(
        config: schema.Model, prepare: Prepare = sharpened
    ) -> tuple[EncoderDecoder, ctranslate2.Translator]:
        check(config)
        model = restless(config, VOCABULARY)
        assert isinstance(model, EncoderDecoder)
        prepare(model)
        spec = to_spec(model, config, 64)
        spec.register_source_vocabulary(NAMES)
        spec.register_target_vocabulary(NAMES)
        spec.config.decoder_start_token = spec.config.bos_token = NAMES[BOS]
        spec.config.eos_token, spec.config.unk_token = NAMES[EOS], NAMES[UNK]
        spec.config.add_source_eos = True
        spec.validate()
        spec.save(str(tmp_path))
        return model, ctranslate2.Translator(str(tmp_path), compute_type="float32", intra_threads=1)

    return make


def named(ids: Sequence[int]) -> list[str]:
    return [NAMES[i] for i in ids]


@pytest.mark.parametrize("name", EXPRESSIBLE)
def test_probabilities_are_equal_for_everything_that_the_format_can_express(
    exported: Make, name: str
) -> None:
    ours, theirs = exported(EXPRESSIBLE[name])
    targets = [[8, 4, 33], [21, 6, 12, 12, 30, 5, 17, 29], list(range(39, 4, -1)), [38]]
    expected = log_probabilities(ours, [[*ids, EOS] for ids in SOURCES], targets, 1000)
    found = theirs.score_batch([named(ids) for ids in SOURCES], [named(ids) for ids in targets])
    assert [len(each.log_probs) for each in found] == [len(ids) + 1 for ids in targets]
    assert [sum(each.log_probs) for each in found] == pytest.approx(expected, abs=2e-4)


@pytest.mark.parametrize("name", EXPRESSIBLE)
def test_greedy_translations_are_equal_for_everything_that_the_format_can_express(
    exported: Make, name: str
) -> None:
    """Token by token, from our first token, with the keys and values of earlier ones kept."""
    ours, theirs = exported(EXPRESSIBLE[name])
    assert_equal_translations(ours, theirs, SOURCES, beam=1, longest=12)


TRAINED = {
    "paper": SMALL,
    "llama": VARIANTS["llama"],
    "deepnorm_rope_gqa": EXPRESSIBLE["deepnorm_rope_gqa"],
    "sandwich_t5_mqa": replace(SMALL, placement=SANDWICH, position=T5, key_value_heads=1),
}


@pytest.mark.parametrize("name", TRAINED)
def test_beam_search_finds_the_same_after_training(exported: Make, name: str) -> None:
    """Where translations end of themselves; at their greatest length the two searches differ."""
    ours, theirs = exported(TRAINED[name], taught)
    torch.manual_seed(5)
    sources = [torch.randint(4, 12, (length,)).tolist() for length in (1, 2, 3, 4, 5, 6) for _ in range(4)]
    found = assert_equal_translations(ours, theirs, sources, beam=4, longest=40)
    right = [ids == task(source) for ids, source in zip(found, sources, strict=True)]
    assert 8 <= sum(right) <= 22  # it has learned, and is not sure of everything


def task(source: list[int]) -> list[int]:
    """The first token twice, then the others."""
    return [source[0], *source]


def taught(model: EncoderDecoder) -> None:
    """Some updates on the task."""
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(UPDATES):
        sources = [torch.randint(4, 12, (int(length),)).tolist() for length in torch.randint(1, 6, (48,))]
        targets = [task(source) for source in sources]
        source, mask = padded([[*ids, EOS] for ids in sources])
        target_in, _ = padded([[BOS, *ids] for ids in targets])
        target_out, real = padded([[*ids, EOS] for ids in targets])
        logits = model.logits(model(source, mask, target_in))
        loss = torch.nn.functional.cross_entropy(logits[real], target_out[real])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def assert_equal_translations(
    ours: EncoderDecoder, theirs: ctranslate2.Translator, sources: list[list[int]], *, beam: int, longest: int
) -> list[list[int]]:
    """Without a length penalty on either side; returns the translations."""
    source, mask = padded([[*ids, EOS] for ids in sources])
    how = SearchSettings(beam=beam, alpha=0.0, extra_length=60, max_length=longest)
    expected = [best[0].ids for best in beam_search(ours, source, mask, how, bos=BOS, eos=EOS)]
    found = theirs.translate_batch(
        [named(ids) for ids in sources],
        beam_size=beam,
        length_penalty=0,
        min_decoding_length=0,
        max_decoding_length=longest,
        suppress_sequences=[[NAMES[token]] for token in (PAD, BOS, UNK)],
    )
    assert [each.hypotheses[0] for each in found] == [named(ids) for ids in expected]
    return expected


@pytest.mark.parametrize("name", INEXPRESSIBLE)
def test_what_the_format_cannot_express_is_refused_by_name(name: str) -> None:
    with pytest.raises(UserError, match="cannot express") as caught:
        check(VARIANTS[name])
    assert f"model.{INEXPRESSIBLE[name]}" in str(caught.value).splitlines()


def test_every_variant_is_refused_or_compared_above() -> None:
    """A strategy that is added to the model must not slip through."""
    for name, config in VARIANTS.items():
        try:
            check(config)
        except UserError:
            continue
        assert name in EXPRESSIBLE or "fused" in name  # the same model by another kernel


def test_a_missing_library_is_told_before_anything_is_loaded(
    monkeypatch: pytest.MonkeyPatch, trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert cli.main(["export", str(trained), "--to", "ctranslate2", "--out", str(tmp_path / "out")]) == 2
    assert "pip install 'xformer[ctranslate2]'" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.fixture(scope="module")
def folder(trained: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The trained run, exported."""
    out = tmp_path_factory.mktemp("ctranslate2") / "out"
    assert cli.main(["export", str(trained), "--to", "ctranslate2", "--out", str(out)]) == 0
    return out


def test_a_run_is_exported_with_its_tokenizer_and_the_search_that_it_needs(
    folder: Path, trained: Path
) -> None:
    ours = xformer.load(trained, device="cpu")
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    theirs = ctranslate2.Translator(str(folder), compute_type="float32", intra_threads=1)
    sources, targets = ["A man sleeps.", " ⟨eos⟩  日本", "kob e la tol"], ["kob e", "", "日 </s> la"]
    found = theirs.score_batch(
        [tokenizer.encode(line).tokens for line in sources],
        [tokenizer.encode(line).tokens for line in targets],
    )
    expected = ours.score(sources, targets)
    assert [sum(each.log_probs) for each in found] == pytest.approx(expected, rel=1e-5)


def test_the_example_of_its_readme_runs(folder: Path, trained: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", (folder / "README.md").read_text(), re.DOTALL)
    monkeypatch.chdir(folder)
    values: dict[str, Any] = {}
    exec(example, values)
    how = SearchSettings(beam=4, alpha=0.0, extra_length=250)
    ours = xformer.load(trained, device="cpu").translate(["A man sleeps."], how)
    text = values["tokenizer"].decode(
        [values["tokenizer"].token_to_id(token) for token in values["result"].hypotheses[0]]
    )
    # It never ends, having learned next to nothing: at the greatest length the searches differ.
    assert text.split()[:100] == ours[0].split()[:100]


def test_a_long_source_has_positions(folder: Path) -> None:
    """As many as CTranslate2 reads."""
    theirs = ctranslate2.Translator(str(folder), compute_type="float32", intra_threads=1)
    tokens = [Tokenizer.from_file(str(folder / "tokenizer.json")).id_to_token(40)] * 1500
    assert theirs.score_batch([tokens], [tokens[:1]])[0].log_probs
