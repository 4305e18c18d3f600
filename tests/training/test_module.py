"""The gradient of an update does not depend on how the update is cut, nor on padding (faults S12, S13).

After the first update Adam's first moment is (1 − β1) times the gradient, so the checkpoint shows it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, pad

from tests.training.runs import adam_moments, small_run, train, write_corpus
from xformer.config import schema
from xformer.data.batch import Batch, collate
from xformer.data.plan import UpdatePlan
from xformer.data.prepare import Prepared
from xformer.data.vocabulary import PAD
from xformer.model import build
from xformer.training import seeding
from xformer.training.module import TranslationModule

EXACT: dict[str, Any] = {"trainer__precision": "fp64", "model__dropout": 0.0, "trainer__updates": 1}
WHOLE_UPDATE = 400  # tokens; the padding of the test corpus included


def gradients(folder: Path, name: str, **changes: Any) -> list[Tensor]:
    """The gradient of the first update, parameter by parameter."""
    config, prepared = small_run(folder, **{**EXACT, "batch__tokens_per_update": 300, **changes})
    train(config, prepared, folder / name)
    return [moment / (1 - config.optim.beta1) for moment in adam_moments(folder / name, 1)]


def micro_batches(folder: Path, tokens_per_device: int) -> int:
    config, prepared = small_run(folder)
    plan = UpdatePlan(
        prepared.train.source_lengths,
        prepared.train.target_lengths,
        tokens_per_update=300,
        tokens_per_device=tokens_per_device,
        seed=config.seed,
    )
    return len(plan.update(0))


def assert_equal(found: list[Tensor], expected: list[Tensor], tolerance: float = 1e-10) -> None:
    for one, other in zip(found, expected, strict=True):
        assert (one - other).abs().max() <= tolerance * max(other.abs().max().item(), 1e-3)


def test_eight_micro_batches_and_more_give_the_gradient_of_one(tmp_path: Path) -> None:
    assert micro_batches(tmp_path, WHOLE_UPDATE) == 1
    eight = next(size for size in range(WHOLE_UPDATE, 0, -1) if micro_batches(tmp_path, size) == 8)
    assert micro_batches(tmp_path, eight // 2) > 12
    whole, *cut = (
        gradients(tmp_path, f"cut{size}", batch__tokens_per_device=size)
        for size in (WHOLE_UPDATE, eight, eight // 2)
    )
    for found in cut:
        assert_equal(found, whole)


def test_a_pair_of_3_target_tokens_weighs_a_tenth_of_one_of_30(tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path / "corpus")
    for language in ("fw", "bw"):
        (corpus / f"train.{language}").write_text(
            "1 2 3 4 5 6 7 8 9 0\n" * 100 + "1 2\n" + "1 2 " * 14 + "1\n"
        )
    together, apart = (
        gradients(tmp_path, f"cut{size}", batch__tokens_per_device=size, batch__tokens_per_update=100_000)
        for size in (100_000, 40)
    )
    assert_equal(apart, together)


def model_and_batch(config: schema.Config, prepared: Prepared, count: int = 6) -> tuple[Any, Batch]:
    seeding.seed_initialisation(config.seed)
    model = build(config.model, prepared.tokenizer.vocabulary).double()
    module = TranslationModule(model, config, forward=model.__call__, tokenizer_hash="")
    return module, collate(prepared.train, range(count))


def test_the_gradient_is_that_of_the_plain_mean_over_target_tokens(tmp_path: Path) -> None:
    found = gradients(tmp_path, "run", batch__tokens_per_update=10_000, batch__tokens_per_device=60)
    config, prepared = small_run(tmp_path, **EXACT)
    module, batch = model_and_batch(config, prepared, len(prepared.train))
    hidden_BTD = module.model(batch.source_BS, batch.source_mask_BS, batch.target_in_BT)
    loss = cross_entropy(
        module.model.logits(hidden_BTD).flatten(0, 1),
        batch.target_out_BT.flatten(),
        ignore_index=PAD,
        label_smoothing=config.optim.label_smoothing,
    )
    assert_equal(found, list(torch.autograd.grad(loss, list(module.model.parameters()))), 1e-9)


def wider(batch: Batch, columns: int) -> Batch:
    """The same sentences with more padding at the right of both sides."""
    ids = batch.source_BS, batch.target_in_BT, batch.target_out_BT
    source, target_in, target_out = (pad(each, (0, columns), value=PAD) for each in ids)
    mask = pad(batch.source_mask_BS, (0, columns), value=False)
    return Batch(source, mask, target_in, target_out, batch.source_tokens, batch.target_tokens)


def sums_and_gradient(module: TranslationModule, batch: Batch) -> tuple[float, float, list[Tensor]]:
    loss, nll = module.micro_batch_sums(batch)
    parameters: list[nn.Parameter] = list(module.model.parameters())
    return loss.item(), nll.item(), list(torch.autograd.grad(loss, parameters))


def test_ten_more_columns_of_padding_change_neither_loss_nor_gradient(tmp_path: Path) -> None:
    module, batch = model_and_batch(*small_run(tmp_path, **EXACT))
    loss, nll, gradient = sums_and_gradient(module, batch)
    padded_loss, padded_nll, padded_gradient = sums_and_gradient(module, wider(batch, 10))
    assert padded_loss == pytest.approx(loss, rel=1e-10)
    assert padded_nll == pytest.approx(nll, rel=1e-10)
    assert_equal(padded_gradient, gradient)


def test_a_batch_whose_targets_are_all_padding_gives_zero_and_a_zero_gradient(tmp_path: Path) -> None:
    module, batch = model_and_batch(*small_run(tmp_path, **EXACT))
    nothing = torch.full_like(batch.target_out_BT, PAD)
    empty = Batch(batch.source_BS, batch.source_mask_BS, batch.target_in_BT, nothing, batch.source_tokens, 0)
    loss, nll, gradient = sums_and_gradient(module, empty)
    assert (loss, nll) == (0.0, 0.0)
    assert not any(each.any() for each in gradient)


def test_the_vector_of_the_padding_token_gets_no_gradient_as_input(tmp_path: Path) -> None:
    config, prepared = small_run(tmp_path, **EXACT, model__tying="none")
    module, batch = model_and_batch(config, prepared)
    assert (batch.source_BS == PAD).any()
    assert (batch.target_in_BT == PAD).any()
    module.micro_batch_sums(batch)[0].backward()
    for role in ("source", "target"):
        gradient_WD = module.model.embedding.weight_WD[role].grad
        assert gradient_WD.any()
        assert not gradient_WD[PAD].any()


def test_the_rates_the_optimizer_used_are_the_formulas_however_an_update_is_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    used: list[float] = []
    step = torch.optim.Adam.step

    def spy(self: torch.optim.Adam, *arguments: Any, **named: Any) -> Any:
        used.append(self.param_groups[0]["lr"])
        return step(self, *arguments, **named)

    monkeypatch.setattr(torch.optim.Adam, "step", spy)
    for size in (WHOLE_UPDATE, 40):
        used.clear()
        config, prepared = small_run(
            tmp_path,
            trainer__updates=12,
            batch__tokens_per_device=size,
            optim__warmup_updates=4,
            optim__learning_rate_multiplier=1.0,
        )
        train(config, prepared, tmp_path / f"cut{size}")
        expected = [16**-0.5 * min(n**-0.5, n * 4**-1.5) for n in range(1, 13)]
        assert used == pytest.approx(expected, abs=1e-9)


def test_dropout_of_a_micro_batch_depends_on_its_number_and_the_update_alone(tmp_path: Path) -> None:
    config, prepared = small_run(tmp_path, trainer__precision="fp64", model__dropout=0.5)
    module, batch = model_and_batch(config, prepared)

    def loss(update: int, number: int) -> float:
        seeding.seed_dropout(config.seed, update, number, module.device)
        return module.micro_batch_sums(batch)[0].item()

    assert loss(3, 1) == loss(3, 1)
    assert len({loss(3, 1), loss(3, 2), loss(4, 1)}) == 3
