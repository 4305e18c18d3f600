"""When a run is given up."""

from __future__ import annotations

import math

import pytest

from xformer.training.divergence import PATIENCE, DivergenceWatch

TOO_HIGH = math.log(100) + 1.01
HIGH = math.log(100) + 0.99


def watch(warmup_updates: int = 10) -> DivergenceWatch:
    return DivergenceWatch(vocabulary=100, warmup_updates=warmup_updates)


def first_reason(watch: DivergenceWatch, losses: list[float]) -> tuple[int, str] | None:
    for update, loss in enumerate(losses, start=1):
        if (reason := watch.look(update, loss, 2.5)) is not None:
            return update, reason
    return None


def test_a_hundred_high_losses_on_end_after_the_warm_up_are_divergence() -> None:
    found = first_reason(watch(), [TOO_HIGH] * 1000)
    assert found is not None
    assert found[0] == 10 + PATIENCE == 110
    assert "update 110" in found[1]
    assert "gradient norm 2.5" in found[1]


def test_one_lower_loss_starts_the_count_anew() -> None:
    losses = [TOO_HIGH] * 100 + [HIGH] + [TOO_HIGH] * 99
    assert first_reason(watch(warmup_updates=1), losses) is None
    assert first_reason(watch(warmup_updates=1), [*losses, TOO_HIGH]) is not None


def test_a_loss_just_under_the_limit_is_none() -> None:
    assert first_reason(watch(), [HIGH] * 1000) is None


@pytest.mark.parametrize("loss", [math.nan, math.inf, -math.inf])
def test_a_loss_that_is_no_number_is_divergence_even_in_the_warm_up(loss: float) -> None:
    found = first_reason(watch(), [5.0, loss])
    assert found is not None
    assert "loss was not finite at update 2" in found[1]


def test_a_gradient_that_is_no_number_is_divergence_too() -> None:
    reason = watch().look(3, 5.0, math.inf)
    assert reason is not None
    assert "gradient was not finite at update 3" in reason
