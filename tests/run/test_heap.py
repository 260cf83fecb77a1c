"""The collector is kept away from what was there before a measurement, and put back after it."""

from __future__ import annotations

import gc

import pytest

from flowgauge.run.heap import THRESHOLDS, steady_heap


def test_what_is_there_is_set_aside_and_put_back() -> None:
    usual = gc.get_threshold()
    with steady_heap():
        assert gc.get_freeze_count() > 0
        assert gc.get_threshold() == THRESHOLDS
    assert gc.get_freeze_count() == 0
    assert gc.get_threshold() == usual


def test_one_measurement_inside_another_changes_nothing_until_the_last_is_over() -> None:
    with steady_heap():
        with steady_heap():
            pass
        assert gc.get_freeze_count() > 0
    assert gc.get_freeze_count() == 0


def test_an_error_puts_it_back_too() -> None:
    with pytest.raises(ZeroDivisionError), steady_heap():
        raise ZeroDivisionError
    assert gc.get_freeze_count() == 0
