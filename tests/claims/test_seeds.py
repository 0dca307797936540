"""The fewest seeds that a plan announces are those from which on a verdict is possible: one fewer never has one."""

import math

import pytest
from scipy import stats

import lnlab.claims.kinds.everywhere
import lnlab.claims.kinds.table  # noqa: F401 - registers the kinds
from lnlab.claims.claim import claims
from lnlab.claims.least_seeds import fewest_seeds, min_share_seeds

OF = {"quantity": "q", "placement": "a"}
JUDGED = {
    "ratio": ({"kind": "ratio", "to": {"placement": "b"}, "at_least": 0.5}, (3, 5)),
    "bound": ({"kind": "bound", "at_least": 0.5}, (3, 5)),
    "linear bound": ({"kind": "bound", "at_least": 0.5, "scale": "linear"}, (5, 5)),
    "exact bound": ({"kind": "bound", "at_least": 0.5, "exact": True}, (1, 1)),
    "probable bound": ({"kind": "bound", "at_least": 0.5, "probability": 0.3}, (1, 1)),
    "order": ({"kind": "order", "over": "placement", "order": "b < a"}, (5, 5)),
    "everywhere": ({"kind": "everywhere", "at_least": 0.5}, (6, 6)),
}


def resolved(claim):
    return claims.resolve({"of": OF, **claim})


@pytest.mark.parametrize("trained", [False, True])
@pytest.mark.parametrize("name", JUDGED)
def test_from_so_many_seeds_on_a_clear_claim_is_supported_and_not_before(verdict, name, trained):
    claim, (at_init, in_training) = JUDGED[name]
    least = fewest_seeds(resolved(claim), trained=trained)
    assert least == (in_training if trained else at_init) or name == "probable bound"

    def word(n):
        numbers = {"a": [2.0 + 1e-3 * seed for seed in range(n)], "b": [1.0 + 1e-3 * seed for seed in range(n)]}
        return verdict(numbers, **{"of": OF, **claim}, step=9 if trained else 0).verdict

    assert word(least) == "supported"
    if least > 1:
        assert word(least - 1) == "undecided"


def test_levels_need_the_same_seeds(verdict):
    for claim in ({"kind": "trend", "over": "layer", "direction": "up"}, {"kind": "power_law", "over": "layer"}):
        given = claim | ({"between": [0.5, 1.5]} if claim["kind"] == "power_law" else {})
        for trained, least in ((False, 3), (True, 5)):
            assert fewest_seeds(resolved(given), trained=trained) == least
            rows = [[x * (1 + 1e-3 * seed) for x in range(1, 7)] for seed in range(least)]
            assert verdict(rows, **given, step=9 * trained).verdict == "supported"
            assert verdict(rows[:-1], **given, step=9 * trained).verdict == "undecided"


def test_seeds_of_a_share_are_those_whose_exact_interval_lies_above_one_half():
    """All n of n: the lower end is the root of p^n = .025 (Clopper & Pearson, 1934)."""
    assert math.ceil(math.log(0.025) / math.log(0.5)) == min_share_seeds() == 6
    assert stats.binomtest(5, 5).proportion_ci(method="exact").low < 0.5


def test_a_chance_needs_the_seeds_that_could_contradict_it():
    claim = resolved({"kind": "bound", "at_least": 0.5, "probability": 0.9})
    assert fewest_seeds(claim, trained=True) == 2  # 0 of 2: at most .842; of all inside 36 would be needed
    assert stats.binomtest(0, 2).proportion_ci(method="exact").high < 0.9
    assert stats.binomtest(0, 1).proportion_ci(method="exact").high > 0.9
