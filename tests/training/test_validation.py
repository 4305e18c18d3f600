"""Looks at the dev set against sums made sentence by sentence."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.training.runs import small_run, write_corpus
from xformer.data.batch import collate
from xformer.data.prepare import Prepared
from xformer.decoding.likelihood import negative_log_likelihood, perplexity
from xformer.decoding.search import SearchSettings
from xformer.decoding.translate import translate
from xformer.errors import Stopped
from xformer.model import build
from xformer.model.encoder_decoder import EncoderDecoder
from xformer.model.seq2seq import Seq2Seq
from xformer.scoring.corpus import score
from xformer.training.ranks import Ranks
from xformer.training.validation import Validation

ALONE = Ranks(0, 1, torch.device("cpu"))


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("validation")
    corpus = write_corpus(place / "corpus")
    for language in ("fw", "bw"):  # a blank line counts in evaluation
        with (corpus / f"valid.{language}").open("a") as file:
            file.write("\n")
    return place


def model_for(config: Any, prepared: Prepared) -> Seq2Seq:
    torch.manual_seed(3)
    return build(config.model, prepared.tokenizer.vocabulary)


def test_the_likelihood_is_that_of_each_sentence_alone_without_dropout_or_smoothing(place: Path) -> None:
    config, prepared = small_run(place, model__dropout=0.5)
    model = model_for(config, prepared).double()
    evaluation = prepared.evaluation("valid")
    total, tokens = 0.0, 0
    model.eval()
    for sentence in range(len(evaluation)):
        batch = collate(evaluation.store, [sentence])
        logits = model.logits(model(batch.source_BS, batch.source_mask_BS, batch.target_in_BT))
        log_p = logits.log_softmax(-1)[0]
        total -= sum(log_p[position, token].item() for position, token in enumerate(batch.target_out_BT[0]))
        tokens += batch.target_out_BT.shape[1]
    model.train()
    batches: list[None] = []
    found = negative_log_likelihood(model, evaluation.store, 30, between=lambda: batches.append(None))
    assert len(batches) > 3
    assert found[1] == tokens
    assert found[0] == pytest.approx(total, rel=1e-10)
    assert model.training, "the model must be left as it was found"


def test_perplexity_is_per_token_and_never_an_error() -> None:
    assert perplexity(3 * math.log(7), 3) == pytest.approx(7)
    assert perplexity(1e6, 3) == math.inf
    assert math.isnan(perplexity(math.nan, 3))


def test_bleu_is_that_of_the_first_sentences_translated(place: Path) -> None:
    config, prepared = small_run(place, trainer__validation_sentences=7)
    model = model_for(config, prepared)
    scores = Validation(config, prepared, ALONE).look(model, lambda: None)
    assert scores is not None
    evaluation = prepared.evaluation("valid")
    settings = SearchSettings(config.decode.beam, config.decode.alpha, config.decode.extra_length)
    translations = translate(model, prepared.tokenizer, evaluation.source_lines[:7], settings, 100)
    assert scores.bleu == score([each.text for each in translations], evaluation.reference_lines[:7]).bleu


def test_the_number_of_sentences_translated_does_not_change_the_perplexity(place: Path) -> None:
    found = []
    for sentences in (2, 0):
        config, prepared = small_run(place, trainer__validation_sentences=sentences)
        scores = Validation(config, prepared, ALONE).look(model_for(config, prepared), lambda: None)
        assert scores is not None
        found.append(scores.perplexity)
    assert found[0] == found[1]


@pytest.mark.parametrize("call", [1, 2, 4, 6])
def test_a_stop_between_any_two_batches_leaves_no_scores(place: Path, call: int) -> None:
    config, prepared = small_run(
        place,
        batch__tokens_per_device=60,
        decode__tokens_per_batch=40,
        trainer__validation_sentences=0,
    )
    calls = 0

    def between() -> None:
        nonlocal calls
        calls += 1
        if calls == call:
            raise Stopped

    assert Validation(config, prepared, ALONE).look(model_for(config, prepared), between) is None
    assert calls == call


def test_a_model_whose_positions_end_is_asked_only_for_what_it_can_predict(place: Path) -> None:
    config, prepared = small_run(place)
    model = model_for(config, prepared)
    evaluation = prepared.evaluation("valid")

    class Short(EncoderDecoder):
        max_source_length = 4  # type: ignore[assignment]
        max_target_length = 5  # type: ignore[assignment]

        def forward(self, source_BS: Any, source_mask_BS: Any, target_in_BT: Any) -> Any:
            assert source_BS.shape[1] <= 4
            assert source_mask_BS.shape[1] <= 4
            assert target_in_BT.shape[1] <= 5
            return super().forward(source_BS, source_mask_BS, target_in_BT)

    model.__class__ = Short
    _, tokens = negative_log_likelihood(model, evaluation.store, 200)
    assert tokens == sum(min(int(length), 5) for length in evaluation.store.target_lengths)
