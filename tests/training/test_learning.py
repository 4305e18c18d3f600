"""The whole of training and decoding at work: a small model learns to read digits backwards."""

from __future__ import annotations

from pathlib import Path

from tests.training.runs import rows, small_run, train, write_corpus


def test_a_small_model_learns_to_reverse_strings_of_digits(tmp_path: Path) -> None:
    write_corpus(tmp_path / "corpus", pairs=5000, dev=100, longest=7)
    config, prepared = small_run(
        tmp_path,
        model__d_model=64,
        model__d_ff=128,
        model__heads=4,
        model__key_value_heads=4,
        model__d_k=16,
        model__d_v=16,
        model__dropout=0.0,
        batch__tokens_per_update=800,
        batch__tokens_per_device=800,
        optim__warmup_updates=100,
        optim__learning_rate_multiplier=0.3,
        trainer__updates=800,
        trainer__log_every=200,
        trainer__validate_every=800,
        trainer__checkpoint_every=800,
        trainer__validation_sentences=0,
    )
    train(config, prepared, tmp_path / "run")
    last = rows(tmp_path / "run")[-1]
    assert float(last["dev_bleu"]) >= 95
    assert float(last["dev_perplexity"]) < 1.2
