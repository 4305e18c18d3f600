"""The sums of a run."""

from __future__ import annotations

import pytest

from xformer.training.ledger import Ledger


def enter(ledger: Ledger, *, target_tokens: int, loss: float) -> None:
    ledger.enter(source_tokens=10, target_tokens=target_tokens, loss=loss, nll=loss / 2, gradient_norm=loss)


def test_the_loss_of_an_interval_is_per_token_and_not_a_mean_of_means() -> None:
    ledger = Ledger()
    enter(ledger, target_tokens=3, loss=3.0)
    enter(ledger, target_tokens=30, loss=60.0)
    assert ledger.interval.mean_loss == pytest.approx(63 / 33)
    assert ledger.interval.mean_nll == pytest.approx(31.5 / 33)
    assert ledger.gradient_norm == 60.0


def test_closing_an_interval_keeps_the_total() -> None:
    ledger = Ledger()
    enter(ledger, target_tokens=3, loss=3.0)
    ledger.spend(2.0)
    ledger.close_interval()
    enter(ledger, target_tokens=5, loss=1.0)
    assert (ledger.interval.tokens, ledger.interval.seconds) == (15, 0.0)
    assert (ledger.total.tokens, ledger.total.seconds) == (28, 2.0)
    assert ledger.total.tokens_per_second == 14.0


def test_an_empty_interval_has_no_rate_and_no_loss() -> None:
    interval = Ledger().interval
    assert (interval.mean_loss, interval.mean_nll, interval.tokens_per_second) == (0.0, 0.0, 0.0)


def test_the_books_come_back_from_their_state() -> None:
    ledger = Ledger()
    enter(ledger, target_tokens=3, loss=0.1)
    ledger.close_interval()
    enter(ledger, target_tokens=7, loss=0.7)
    assert Ledger.from_state(ledger.state()) == ledger
