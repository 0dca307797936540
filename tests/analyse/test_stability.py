"""Clipped updates and spikes of the loss, counted by hand and by a loop."""

import math
import random
import statistics

import pytest

from lnlab.analyse.quantities.stability import SPIKE_DEVIATIONS, SPIKE_WINDOW
from lnlab.select.select import select_measured_rows
from tests.support.results import with_rows


def results_with(training, setting, trained, curve, values, clip=None):
    """One run of some updates with a value of a training curve at each."""
    made = training({"a": setting() | {"train": {"clip": clip}}}, {("a", 1): trained({0: 9.0})})
    rows = [{"step": step, "split": "train", "quantity": curve, "value": x} for step, x in enumerate(values, 1)]
    return with_rows(made, "curves", {"a-1": rows})


def number(results, quantity):
    return select_measured_rows(results, {"quantity": quantity})["value"].to_list()


def test_the_clipped_share_counts_updates_above_the_limit_alone(training, setting, trained):
    norms = [0.5, 1.0, 1.5, 3.0]
    for clip, share in ((1.0, 0.5), (4.0, 0.0)):
        made = results_with(training, setting, trained, "global_gradient_norm", norms, clip)
        assert number(made, "clipped_share") == [share]


def by_hand(losses):
    spikes = []
    for t in range(SPIKE_WINDOW, len(losses)):
        before = [x for x in losses[t - SPIKE_WINDOW : t] if math.isfinite(x)]
        limit = statistics.mean(before) + SPIKE_DEVIATIONS * statistics.stdev(before)
        spikes.append(not math.isfinite(losses[t]) or losses[t] > limit)
    return sum(spikes) / len(spikes)


def test_the_spike_score_is_that_of_a_loop_and_a_run_shorter_than_the_window_has_none(training, setting, trained):
    draw = random.Random(5)
    losses = [4 + 0.1 * draw.gauss(0, 1) for _ in range(400)]
    for place, value in ((50, 40.0), (150, 9.0), (151, 4.0), (300, math.inf), (301, 4.6), (399, 6.0)):
        losses[place] = value
    found = number(results_with(training, setting, trained, "loss", losses), "spike_score")
    assert found == [pytest.approx(by_hand(losses))]
    assert 0 < found[0] < 0.02
    short = results_with(training, setting, trained, "loss", [4.0] * SPIKE_WINDOW)
    assert number(short, "spike_score") == []
