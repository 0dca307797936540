"""From a certain number of seeds on a verdict is possible, by the rules of each kind: one fewer never has one."""

import math

import pytest
from scipy import stats

from lnlab.claims.criterion import ONE_LOOK
from lnlab.claims.student import fewest_alike

OF = {"quantity": "q", "placement": "a"}
JUDGED = {
    "ratio": ({"kind": "ratio", "to": {"placement": "b"}, "at_least": 0.5}, (3, 5)),
    "difference": ({"kind": "difference", "to": {"placement": "b"}, "at_least": 0.5}, (5, 5)),
    "bound": ({"kind": "bound", "at_least": 0.5}, (3, 5)),
    "linear bound": ({"kind": "bound", "at_least": 0.5, "scale": "linear"}, (5, 5)),
    "exact bound": ({"kind": "bound", "at_least": 0.5, "exact": True}, (1, 1)),
    "order": ({"kind": "order", "over": "placement", "order": "b < a"}, (5, 5)),
    "everywhere": ({"kind": "everywhere", "at_least": 0.5}, (6, 6)),
}


@pytest.mark.parametrize("trained", [False, True])
@pytest.mark.parametrize("name", JUDGED)
def test_from_so_many_seeds_on_a_clear_claim_is_supported_and_not_before(verdict, name, trained):
    claim, (at_init, in_training) = JUDGED[name]
    least = in_training if trained else at_init

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
            rows = [[x * (1 + 1e-3 * seed) for x in range(1, 7)] for seed in range(least)]
            assert verdict(rows, **given, step=9 * trained).verdict == "supported"
            assert verdict(rows[:-1], **given, step=9 * trained).verdict == "undecided"


def test_seeds_of_a_share_are_those_whose_exact_interval_decides():
    """All n of n: the lower end is the root of p^n = .025 (Clopper & Pearson, 1934)."""
    assert math.ceil(math.log(0.025) / math.log(0.5)) == fewest_alike(ONE_LOOK.level) == 6
    assert stats.binomtest(5, 5).proportion_ci(method="exact").low < 0.5
