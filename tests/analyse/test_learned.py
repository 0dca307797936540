"""The learned fraction and the time to a target against a loop over runs in plain Python."""

import math
from statistics import median

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lnlab.select.select import select_measured_rows
from lnlab.select.series import select_series
from lnlab.select.settings import NothingSelected

H = 6.0


def numbers(results, quantity):
    rows = select_measured_rows(results, {"quantity": quantity})
    return dict(zip(zip(rows["variant"], rows["seed"], strict=True), rows["value"], strict=True))


def an_arm(trained, *finals, entropy=H):
    """A run a seed with that final nll; None diverged, a negative one was stopped by its rule."""
    for seed, final in enumerate(finals, 1):
        if final is None:
            yield seed, trained({0: 9.0}, "diverged", 20, entropy)
        elif final < 0:
            yield seed, trained({0: 9.0, 50: -final}, "finished", 50, entropy)
        else:
            yield seed, trained({0: 9.0, 50: (H + final) / 2, 100: final}, entropy=entropy)


@pytest.fixture
def arms(setting, training, trained):
    def build(**finals):
        variants = {name: setting(d_model=32 * n) for n, name in enumerate(finals, 1)}
        return training(variants, {(v, s): run for v, f in finals.items() for s, run in an_arm(trained, *f)})

    return build


def test_the_best_variant_learns_all_and_one_that_diverged_or_was_cut_short_sets_no_reference(arms):
    found = numbers(arms(good=(2.0, 2.0, 2.5), poor=(5.0, 6.5, None)), "learned_fraction")
    assert found["good", 1] == 1.0
    assert found["good", 3] == pytest.approx(3.5 / 4)
    assert found["poor", 1] == pytest.approx(0.25)
    assert found["poor", 2] == 0.0
    assert found["poor", 3] == 0.0
    # Its last loss was lower than any other; the median of its variant ranks it worst all the same.
    found = numbers(arms(cut=(-1.0, -1.0, 3.0), whole=(2.0, 2.0, 2.0)), "learned_fraction")
    assert found["whole", 1] == 1.0
    assert found["cut", 1] == pytest.approx(5 / 4)


def test_where_nothing_is_learned_there_is_no_fraction_but_that_of_what_diverged(arms, golden):
    results = arms(a=(6.5, 6.2, 6.1), b=(7.0, None, 7.0))
    assert numbers(results, "learned_fraction") == {("b", 2): 0.0}
    golden(select_series(results, {"quantity": "learned_fraction", "variant": "b"}).excluded[1])
    with golden.raises(NothingSelected):
        select_series(results, {"quantity": "learned_fraction", "variant": "a"})


def test_other_tasks_are_compared_among_themselves_and_only_once_everything_has_run(setting, training, trained):
    variants = {"a": setting(), "b": setting() | {"task": {"kind": "translation", "corpus": {"kind": "other"}}}}
    runs = {("a", 1): trained({100: 1.0}), ("b", 1): trained({100: 3.0})}
    assert numbers(training(variants, runs), "learned_fraction") == {("a", 1): 1.0, ("b", 1): 1.0}
    # The reference may still fall.
    variants = {"a": setting(), "b": setting(d_model=64)}
    runs = {("a", 1): trained({100: 3.0}), ("a", 2): trained({100: 3.0}), ("b", 1): trained({}, None)}
    found = select_series(training(variants, runs), {"quantity": "learned_fraction", "variant": "a"})
    assert (found.seeds, found.pending) == ([], (1, 2))
    assert select_series(training(variants, runs), {"quantity": "final_nll", "variant": "a"}).seeds == [1, 2]


def slow_fractions(finals):
    """Oracle; a stopped run counts as the worst in the medians only."""
    loss = lambda x: math.inf if x is None else abs(x)  # noqa: E731
    ranked = {arm: [math.inf if x is None or x < 0 else x for x in xs] for arm, xs in finals.items()}
    best = min(median(xs) for xs in ranked.values())
    found = {}
    for arm, xs in finals.items():
        for seed, x in enumerate(xs, 1):
            if x is None:
                found[arm, seed] = 0.0
            elif best < H:
                found[arm, seed] = max(0.0, (H - loss(x)) / (H - best))
    return found


finals = st.one_of(st.none(), st.floats(0.5, 8), st.floats(-8, -0.5))
experiments = st.dictionaries(st.sampled_from("abc"), st.lists(finals, min_size=1, max_size=4), min_size=1)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(experiments)
def test_fractions_agree_with_the_loop(arms, finals):
    found, expected = numbers(arms(**finals), "learned_fraction"), slow_fractions(finals)
    assert found.keys() == expected.keys()
    assert [found[key] for key in expected] == pytest.approx(list(expected.values()))


def slow_times(finals):
    """Oracle: the target of the worst variant that has not failed, on straight lines between 0, 50 and 100."""
    ranked = {arm: [math.inf if x is None or x < 0 else x for x in xs] for arm, xs in finals.items()}
    shares = slow_fractions(finals)
    worse = []
    for arm, xs in finals.items():
        of_arm = [-math.inf if x is not None and x < 0 else shares.get((arm, s)) for s, x in enumerate(xs, 1)]
        known = [x for x in of_arm if x is not None]
        if known and median(known) >= 0.25 and math.isfinite(median(ranked[arm])):
            worse.append(median(ranked[arm]))
    if not worse:
        return {}
    target = 1.02 * max(worse)
    found = {}
    for arm, xs in finals.items():
        for seed, x in enumerate(xs, 1):
            curve = {} if x is None else {50: -x} if x < 0 else {50: (H + x) / 2, 100: x}
            points = [] if x is None else list(({0: 9.0} | curve).items())
            at = [n for n, (_, loss) in enumerate(points) if loss <= target]
            found[arm, seed] = between(points, at[0], target) if at else math.inf
    return found


def between(points, number, target):
    """Oracle: numpy's interpolation of the step as a function of the loss."""
    steps, losses = zip(*points[max(number - 1, 0) : number + 1], strict=True)
    return float(np.interp(-target, [-loss for loss in losses], steps))


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(experiments)
def test_times_to_the_target_agree_with_the_loop(arms, finals):
    results, expected = arms(**finals), slow_times(finals)
    assert numbers(results, "time_to_target") == pytest.approx(expected)
    assert numbers(results, "epochs_to_target") == pytest.approx({key: t / 10 for key, t in expected.items()})


def test_a_seed_that_never_gets_to_the_target_has_failed(arms):
    results = arms(fast=(1.0, 1.0, 1.0), slow=(2.0, 2.0, 2.5))
    assert numbers(results, "time_to_target") == {
        **{("fast", s): pytest.approx(50 + 50 * (3.5 - 2.04) / 2.5) for s in (1, 2, 3)},
        **{("slow", s): pytest.approx(50 + 50 * (4.0 - 2.04) / 2.0) for s in (1, 2)},
        ("slow", 3): math.inf,
    }
    found = select_series(results, {"quantity": "time_to_target", "variant": "slow"})
    assert (found.seeds, found.failed, found.diverged) == ([1, 2], {3: "it never reaches the target"}, set())


def test_data_without_end_have_times_and_no_epochs(arms):
    results = arms(a=(1.0, 1.0))
    curves = results.tables["curves"]
    results.tables["curves"] = curves.filter(curves["quantity"] != "epoch")
    assert len(numbers(results, "time_to_target")) == 2
    assert numbers(results, "epochs_to_target") == {}
