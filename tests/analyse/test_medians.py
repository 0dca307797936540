"""Medians of histograms against numpy's median of the entries that were counted."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
import torch

from lnlab.analyse.statistics.medians import histogram_median
from lnlab.errors import LabError
from lnlab.probes.support.octaves import entry_histogram
from lnlab.select.select import select_measured_rows
from lnlab.select.series import select_series
from tests.support.results import results_of


@pytest.fixture(scope="module")
def drawn():
    """By (seed, stack) the entries: log-normal, a third of them 0."""
    random = np.random.default_rng(5)
    entries = {(s, stack): random.lognormal(-8, 2, 3000) * (s + 1) for s in (1, 2) for stack in ("encoder", None)}
    return {place: np.concatenate([x, np.zeros(1500)]) for place, x in entries.items()}


@pytest.fixture(scope="module")
def counted(setting, drawn):
    """The same, as the probes count them."""

    def rows(seed):
        for (s, stack), x in drawn.items():
            for quantity, times in (("gradient_size", 1), ("update_over_rate_size", 9)):
                counts = entry_histogram(quantity, {"stack": stack}, [torch.tensor(x * times)]) if s == seed else ()
                yield from ({"step": 7, **row} for row in counts)

    return results_of({"variant": "a", "seed": s, "setting": setting(), "histograms": rows(s)} for s in (1, 2))


@pytest.mark.parametrize(("quantity", "times"), [("median_gradient_size", 1), ("median_update_over_rate", 9)])
def test_it_is_the_median_of_what_is_not_0_at_every_place(counted, drawn, quantity, times):
    for (seed, stack), x in drawn.items():
        rows = select_measured_rows(counted, {"quantity": quantity, "seed": seed, "stack": stack, "step": 7})
        assert rows["value"].to_list() == pytest.approx([times * np.median(x[x > 0])], rel=0.02)


def test_a_claim_reads_a_median_where_the_place_is_pinned_and_nothing_but_zeros_has_none(counted, drawn):
    found = select_series(counted, {"quantity": "median_gradient_size", "stack": None, "step": 7})
    assert found.seeds == [1, 2]
    assert found.trained
    with pytest.raises(LabError, match="stack"):
        select_series(counted, {"quantity": "median_gradient_size", "step": 7})
    zeros = counted.tables["histograms"].filter(pl.col("right") == 0)
    empty = replace(counted, tables={**counted.tables, "histograms": zeros})
    assert select_measured_rows(empty, {"quantity": "median_gradient_size"}).is_empty()


def test_within_a_bin_it_moves_by_the_logarithm_and_a_bin_from_0_has_its_end():
    left, right = np.array([0.0, 1.0, 4.0]), np.array([1.0, 4.0, 16.0])
    assert histogram_median(left, right, np.array([1, 8, 1])) == pytest.approx(2)
    assert histogram_median(left, right, np.array([1, 1, 6])) == pytest.approx(4 * 4 ** (2 / 6))
    assert histogram_median(left, right, np.array([9, 1, 1])) == 1
