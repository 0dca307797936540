"""What rules choose, against numbers that were worked out by hand."""

from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lnlab.analyse.tuning.rules import TuningTrial, best, failing, safest, trial_fractions
from lnlab.errors import LabError


def trials(*losses, values=None, entropy=4.0):
    values = values or [10.0**n for n in range(len(losses))]
    pairs = zip(values, losses, strict=True)
    return [TuningTrial(value, tuple(each), (entropy,) * len(each)) for value, each in pairs]


def test_the_best_has_the_lowest_median_and_a_run_that_diverged_ranks_worst(golden):
    found = best(trials([3, 3, 3], [2.5, 2.5, 9], [1, 4, 4]), 2.5)
    assert (found.number, found.met, found.scores) == (1, True, (3, 2.5, 4))
    golden(found.reason)
    assert best(trials([1, inf], [3, 3]), 3).number == 1
    found = best(trials([inf, inf], [inf, 1], [inf, inf]), inf)
    assert (found.number, found.met) == (0, False)
    golden(found.reason)


def test_the_safest_has_the_lowest_loss_on_its_worst_seed_and_words_have_no_edge(golden):
    found = safest(trials([3, 3, 3], [2.5, 2.5, 9], [1, 4, 4]), 2.5)
    assert (found.number, found.met, found.scores) == (0, True, (3, 9, 4))
    golden(found.reason)
    assert safest(trials([1, 1, inf], [5, 5, 5]), 1).number == 1
    assert "edge" not in best(trials([1], [2], values=["post", "pre"]), 1).reason
    assert "beyond" not in best(trials([1]), 1).reason


@pytest.mark.parametrize(("losses", "end"), [(([1], [2], [3]), "smallest"), (([3], [2], [1]), "largest")])
def test_an_optimum_at_the_edge_is_said_to_be_there(losses, end, golden):
    golden(best(trials(*losses), 1).reason)


def test_the_smallest_that_fails_is_the_smallest_by_value_and_the_threshold_itself_does_not_fail(golden):
    found = failing(trials([3.9], [1.0], [3.6], values=[4.0, 1.0, 2.0]), 1.0)
    assert found.number == 2
    assert found.scores == pytest.approx((0.1 / 3, 1.0, 0.4 / 3))
    golden(found.reason)
    two = trials([2.0], [3.5], entropy=4.0)
    assert failing(two, 2.0, below=0.25).met is False
    assert failing(two, 2.0, below=0.26).number == 1
    found = failing(trials([2.0], [2.1], [2.2], values=[4.0, 9.0, 1.0]), 2.0)
    assert (found.number, found.met) == (1, False)
    golden(found.reason)


def test_what_diverged_has_learned_nothing_and_without_entropy_nothing_can_be_said():
    assert trial_fractions(TuningTrial(1, (inf, 2.0), (None, 4.0)), 2.0) == [0.0, 1.0]
    assert failing(trials([4.5], [4.2]), 4.2).number == 0
    assert failing(trials([inf], [inf]), inf).scores == (0.0, 0.0)
    with pytest.raises(LabError, match="no unigram entropy"):
        failing(trials([1.0], entropy=None), 1.0)


losses = st.lists(st.one_of(st.floats(0.1, 9), st.just(inf)), min_size=3, max_size=3)


@given(st.lists(losses, min_size=1, max_size=6))
def test_both_rules_agree_with_numpy(given):
    made = trials(*given)
    with np.errstate(invalid="ignore"):
        medians = np.median(np.array(given), axis=1)
        phi = np.median(np.where(np.isinf(given), 0, (4 - np.array(given)) / (4 - 1)), axis=1)
    assert best(made, 1).number == int(np.argmin(medians))
    failed = np.flatnonzero(phi < 0.25)
    assert failing(made, 1).number == (failed[0] if failed.size else len(given) - 1)
