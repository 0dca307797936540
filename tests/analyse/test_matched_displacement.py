"""States equally far from their start: joined by hand, and of a quantity that is a function of the distance."""

import math

import pytest

from lnlab.select.select import select_measured_rows

QUANTITY = "hidden_norm_sq"
SITE = {"stack": "encoder", "layer": 1, "sublayer": "feed_forward", "tensor": "sum"}


def matched(results, **selection):
    """(variant, seed, step) -> value of all that is there."""
    rows = select_measured_rows(results, {"quantity": f"{QUANTITY}_at_displacement", **selection})
    return {(v, s, t): x for v, s, t, x in rows.select("variant", "seed", "step", "value").rows()}


@pytest.fixture
def moving(setting, experiment):
    """From (variant, seed) -> {step: (displacement, quantity)} to results; a displacement of None is not measured."""

    def build(runs):
        variants = {variant: setting("pre" if variant == "pre" else "post") for variant, _ in runs}

        def rows(variant, seed):
            for step, (distance, value) in runs.get((variant, seed), {}).items():
                yield {"step": step, "quantity": QUANTITY, "value": value, **SITE}
                yield {"step": step, "quantity": QUANTITY, "value": 3 * value, **SITE, "layer": 2}
                if distance is not None:
                    yield {"step": step, "quantity": "total_displacement", "value": distance}

        axes = [("placement", lambda s: s["encoder"]["placement"]["kind"])]
        return experiment(variants, sorted({seed for _, seed in runs}), rows, axes=axes, steps=30)

    return build


def test_it_is_read_between_states_where_the_slower_run_is_at_a_step(moving):
    """At step 30 D* is 4, three quarters of the way of the fast one from 1 to 5; at step 10 both are at 1."""
    results = moving(
        {
            ("fast", 1): {0: (None, 1.0), 10: (1.0, 2.0), 20: (5.0, 32.0), 30: (9.0, 1e3)},
            ("slow", 1): {0: (None, 1.0), 10: (1.0, 5.0), 30: (4.0, 7.0)},
        }
    )
    for layer, factor in ((1, 1), (2, 3)):
        found = matched(results, reference="best", layer=layer, step=[10, 30])
        expected = {("fast", 1, 10): 2.0, ("slow", 1, 10): 5.0, ("fast", 1, 30): 16.0, ("slow", 1, 30): 7.0}
        assert found == pytest.approx({key: factor * value for key, value in expected.items()})


def test_runs_that_differ_in_pace_alone_are_alike(moving):
    """q = exp(distance / 3), whatever the step: every run of a seed has the same number, from step 0 on."""
    paces = {("fast", 1): 3.0, ("slow", 1): 0.4, ("fast", 2): 1.0, ("slow", 2): 0.7, ("pre", 1): 0.1, ("pre", 2): 1.0}
    steps = (0, 7, 11, 30)
    results = moving(
        {run: {t: (None if t == 0 else pace * t, math.exp(pace * t / 3)) for t in steps} for run, pace in paces.items()}
    )
    found = matched(results, reference={"placement": "post"}, layer=1)
    least = {1: 0.4, 2: 0.7}  # Pre-LN sets no distance
    expected = {(v, s, t): math.exp(least[s] * t / 3) for v, s in paces for t in steps[1:]}
    del expected["pre", 1, 11], expected["pre", 1, 30]  # it comes to 3, short of 4.4 and 12
    assert found == pytest.approx(expected)


def test_a_run_that_has_come_farther_before_it_is_looked_at_has_none(moving):
    results = moving({("fast", 1): {10: (3.0, 2.0), 30: (9.0, 8.0)}, ("slow", 1): {10: (1.0, 5.0), 30: (2.0, 7.0)}})
    assert matched(results, reference="best", layer=1) == pytest.approx({("slow", 1, 10): 5.0, ("slow", 1, 30): 7.0})


def test_numbers_that_are_not_finite_neither_count_nor_set_the_distance(moving):
    results = moving(
        {
            ("fast", 1): {0: (None, 1.0), 10: (4.0, 2.0), 30: (math.inf, math.nan)},
            ("slow", 1): {0: (None, 1.0), 10: (3.0, math.nan), 30: (6.0, 8.0)},
        }
    )
    assert matched(results, reference="best", layer=1) == pytest.approx(
        {("fast", 1, 10): 2.0 ** (3 / 4), ("slow", 1, 10): 8.0 ** (3 / 6), ("slow", 1, 30): 8.0}
    )
