"""Every verdict says what its numbers are, and of which quantity; a stored one says it again."""

import numpy as np
import pytest

from lnlab.claims.judging import judge_claim
from lnlab.claims.verdict_rows import verdict_frame, verdicts_from_frame

RISING = np.array(
    [[1.0, 2.1, 4.0, 8.2, 16.1, 32.0], [1.1, 2.0, 4.1, 8.0, 16.0, 33.0], [1.0, 2.0, 4.2, 8.1, 15.9, 31.0]]
)
OF = {"quantity": "q", "placement": "post"}
ONE = {**OF, "layer": 6}


@pytest.mark.parametrize(
    ("claim", "measure"),
    [
        ({"kind": "bound", "of": ONE, "at_least": 1}, "value"),
        ({"kind": "bound", "of": OF, "over": "layer", "reduce": "last/first", "at_least": 1}, "ratio"),
        ({"kind": "bound", "of": OF, "over": "layer", "reduce": "max", "at_least": 1}, "value"),
        ({"kind": "bound", "of": OF, "exact": True, "at_least": 0}, "value"),
        ({"kind": "ratio", "of": ONE, "to": {"placement": "pre"}, "at_least": 1}, "ratio"),
        ({"kind": "trend", "of": OF, "over": "layer", "direction": "up", "at_least": 2}, "ratio"),
        ({"kind": "power_law", "of": OF, "over": "layer", "exponent": 2}, "exponent"),
        ({"kind": "order", "of": {"quantity": "q", "layer": 6}, "over": "placement", "order": "pre < post"}, "ratio"),
        (
            {"kind": "order", "of": {"quantity": "q", "layer": 6}, "over": "placement", "order": "pre < post"}
            | {"scale": "linear"},
            "difference",
        ),
        ({"kind": "status", "of": ONE, "at_least": 1}, "share"),
        ({"kind": "everywhere", "of": ONE, "at_least": 1}, "share"),
    ],
    ids=lambda given: given if isinstance(given, str) else given["kind"],
)
def test_what_the_numbers_of_a_verdict_are(experiment, claim, measure):
    found = judge_claim({"id": "a", "says": "b", **claim}, experiment({"post": RISING, "pre": RISING / 2}))
    assert (found.measure, found.quantity) == (measure, "q")
    assert verdicts_from_frame(verdict_frame([found])) == [found]
