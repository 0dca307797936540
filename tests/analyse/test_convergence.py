"""Rules of convergence on curves whose fate is known by construction, and what holds for all others."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr

from lnlab.analyse.convergence.rules import LossCurve, convergences, epoch_means
from lnlab.registry import Flawed

H = 0.9157
EPOCH, EPOCHS = 57, 10
STEPS = EPOCH * EPOCHS
NAMES = ("stable", "learned", "unstuck", "settled")
WAVE = [math.sin(7 * t) + math.sin(3.3 * t + 1) for t in range(STEPS)]
"""What stands for the noise of batches: of mean nearly 0 over an epoch, and the same each time."""


def judged(curve, **given):
    return {name: convergences.builder(convergences.resolve({"kind": name}))(curve) for name in NAMES}


def batches(f, noise=0.05, broke=False, steps=STEPS):
    """The curve of ``f(t)``, t from 0 to 1, with the noise of batches on it."""
    means = epoch_means([(t, f(t / STEPS) + noise * WAVE[t]) for t in range(steps)], EPOCH)
    return LossCurve(f(0), means, H, broke)


def looked(*values):
    """A curve of evaluations."""
    return LossCurve(values[0], values[1:], H)


def decay(end, start=1.2, speed=8.0):
    return lambda t: end + (start - end) * math.exp(-speed * t)


def spike(f, at, height, width):
    return lambda t: f(t) + (height if at <= t < at + width else 0.0)


def steps_to(*levels):
    """Piecewise constant: an epoch at each level, the last one to the end."""
    return lambda t: levels[min(int(t * EPOCHS), len(levels) - 1)]


def saw(low, high, turns, drift=0.0):
    """Up and down so many times, and up by ``drift`` on the whole."""
    return lambda t: low + drift * t + (high - low) * (0.5 + 0.5 * math.cos(2 * math.pi * turns * t))


INF, NAN = math.inf, math.nan
TENTHS = tuple(n / 10 for n in range(1, 11))
CURVES = {
    # name: (curve, stable, learned, unstuck)
    "learns quickly": (batches(decay(0.1)), 1, 1, 1),
    "learns too little to count": (batches(decay(0.85), 0.01), 1, 0, 1),
    "learns to just above an eighth": (batches(decay(0.806, speed=20), 0.001), 1, 0, 1),
    "learns to just below an eighth": (batches(decay(0.795, speed=20), 0.001), 1, 1, 1),
    "slow and straight": (batches(lambda t: 1.2 - 0.08 * t, 0.01), 1, 0, 1),
    "slow, with an easy first batch": (batches(lambda t: (1.12 if t == 0 else 1.2) - 0.05 * t, 0.0), 1, 0, 1),
    "slow, from a huge first loss": (batches(lambda t: 30 - 20 * t, 0.5), 1, 0, 1),
    "frozen": (batches(lambda t: 1.2, 0.0), 1, 0, 0),
    "plateau at the class entropy": (batches(steps_to(1.1, H + 0.02, H + 0.01, H), 0.0), 1, 0, 0),
    "plateau far above it": (batches(steps_to(3.0, 2.0), 0.0), 1, 0, 0),
    "plateau, then it learns": (batches(steps_to(1.1, H, H, H, H, 0.7, 0.5, 0.4), 0.0), 1, 1, 1),
    "learns, then collapses to the plateau": (batches(steps_to(1.1, 0.6, 0.5, 0.4, 0.4, H + 0.005), 0.0), 0, 0, 0),
    "learns, then ends somewhat higher": (batches(steps_to(1.1, 0.7, 0.4, 0.3, 0.2, 0.2, 0.25), 0.0), 1, 1, 1),
    "rises and stays below its start": (batches(lambda t: (2.0 if t < 0.002 else 1.0) + 0.5 * t, 0.0), 0, 0, 0),
    "diverges exponentially": (batches(lambda t: 1.1 * math.exp(9 * t)), 0, 0, 0),
    "is thrown up and falls back to twice its start": (batches(steps_to(90.0, 20.0, 9.0, 5.0, 3.0, 2.6)), 1, 0, 0),
    "not a number in the first epoch": (batches(lambda t: NAN if t > 0.03 else 1.1), 0, 0, 0),
    "infinite once": (batches(lambda t: INF if t == 300 / STEPS else decay(0.1)(t)), 0, 0, 0),
    "not a number at the start": (batches(lambda t: NAN if t == 0 else 1.0), 0, 0, 0),
    "ended by its rule": (batches(decay(0.1), broke=True, steps=90), 0, 0, 0),
    "ended by its rule after one update": (batches(lambda t: 1.2, 0.0, "train loss is inf at step 1", 1), 0, 0, 0),
    "spike of a batch, and back": (batches(spike(decay(0.2), 0.5, 30, 1.5 / STEPS)), 1, 1, 1),
    "spike of an epoch, and back": (batches(spike(decay(0.2), 0.4, 5.0, 0.1), 0.0), 0, 1, 0),
    "spike at the very end": (batches(spike(decay(0.2), 0.9, 5.0, 0.1), 0.0), 0, 0, 0),
    "spike at the start, and back": (batches(spike(decay(0.2), 0.002, 20.0, 0.1), 0.0), 0, 1, 0),
    "oscillates slowly around the class entropy": (batches(saw(0.8, 1.05, 3), 0.0), 1, 0, 0),
    "oscillates wildly": (batches(saw(6.0, 0.5, 5), 0.0), 0, 0, 0),
    "evaluations that fall": (looked(1.2, *[1.2 - 0.1 * n for n in range(1, 11)]), 1, 1, 1),
    "evaluations that overfit": (looked(1.2, 0.6, 0.5, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2), 0, 0, 0),
    "evaluations of which one is not a number": (looked(1.2, 0.6, NAN, 0.5, 0.4), 0, 0, 0),
    "evaluations of a broken evaluation mode": (looked(1.2, 9.0, 30.0, 12.0, 40.0), 0, 0, 0),
    "nothing but a start": (looked(1.2), 0, 0, 0),
    "one evaluation": (looked(1.2, 0.5), 1, 1, 1),
}
UNSETTLED = """diverges exponentially; not a number in the first epoch;
not a number at the start; ended by its rule; ended by its rule after one update;
spike at the very end; oscillates wildly; evaluations of a broken evaluation mode;
nothing but a start""".replace("\n", " ").split("; ")
"""The curves that do not end near their start or the entropy of the labels; all others do, whatever came before."""
CURVES = {name: (*row, int(name not in UNSETTLED)) for name, row in CURVES.items()}


@pytest.mark.parametrize("name", CURVES)
def test_the_fate_of_a_curve_is_told(name):
    curve, *labels = CURVES[name]
    found = {rule: bool(each) for rule, each in judged(curve).items()}
    assert found == dict(zip(NAMES, map(bool, labels), strict=True))


def test_a_curve_without_its_entropy_or_ended_while_finite_is_judged_as_far_as_it_is_known():
    found = judged(LossCurve(1.2, (0.5, 0.3, 0.2)))
    assert (found["learned"], found["stable"], found["unstuck"]) == (None, True, True)
    curve = LossCurve(1.2, (0.9, 150.0), H, diverged=True, censored=True)
    assert judged(curve) == dict.fromkeys(("stable", "learned", "unstuck"), False) | {"settled": None}
    assert judged(looked(1.2)) == dict.fromkeys(NAMES)


def test_means_are_of_epochs_and_half_an_epoch_left_over_is_one_more():
    of = lambda steps: epoch_means([(t, float(t)) for t in range(steps)], 10)  # noqa: E731
    assert of(30) == (4.5, 14.5, 24.5)
    assert of(35) == (4.5, 14.5, 24.5, 32.0)
    assert of(34) == (4.5, 14.5, 26.5)
    assert of(4) == (1.5,)
    assert len(epoch_means([(t, 1.0) for t in range(200)], None)) == 10
    assert epoch_means([(t, 1.0) for t in range(5)], 2.5) == (1.0, 1.0)


def test_a_rule_does_not_depend_on_the_first_batch():
    """Of 32 sentences: .64 or 2.3 where the whole has 1.1; epochs of 1.4 nats lie above twice the one alone."""
    losses = [[(0, first), *((t, 1.4) for t in range(1, 40))] for first in (0.64, 1.1, 2.3)]
    found = [judged(LossCurve(1.1, epoch_means(points, 10), H)) for points in losses]
    assert {each["stable"] for each in found} == {False}
    assert {each["settled"] for each in found} == {False}
    higher = [judged(LossCurve(1.35, epoch_means(points, 10), H)) for points in losses]
    assert {each["settled"] for each in higher} == {True}


def test_settled_comes_back_from_any_height_and_a_parameter_moves_the_level():
    settled = convergences.builder(convergences.resolve({"kind": "settled"}))
    assert settled(LossCurve(1.0, (1e11, 1e6, 0.944), H))
    assert settled(LossCurve(0.6, (0.9, H + 0.09), H))
    assert not settled(LossCurve(0.6, (0.9, H + 0.11), H))
    curve = CURVES["learns too little to count"][0]
    lenient = convergences.builder(convergences.resolve({"kind": "learned", "share": 0.05}))
    assert lenient(curve)
    with pytest.raises(Flawed, match="share"):
        convergences.resolve({"kind": "learned", "share": 1.5})


losses = st.floats(0.01, 8.0)
curves = st.builds(LossCurve, losses, st.lists(losses, min_size=1, max_size=12).map(tuple), st.just(H))


@given(curves, st.floats(0.01, 0.99))
def test_a_lower_last_loss_never_undoes_what_was_learned(curve, factor):
    lower = LossCurve(curve.start, (*curve.means[:-1], factor * curve.means[-1]), H)
    for name in ("learned", "unstuck"):
        assert judged(lower)[name] >= judged(curve)[name]


@given(st.lists(st.floats(0.5, 1.5), min_size=3, max_size=12))
def test_stable_is_a_spearman_correlation_that_is_not_positive(means):
    curve = LossCurve(1.5, tuple(means), H)
    rho = spearmanr(range(len(means)), means).statistic if len(set(means)) > 1 else 0.0
    if abs(rho) > 1e-9:
        assert judged(curve)["stable"] is bool(rho < 0)


@given(curves)
def test_a_curve_that_broke_has_converged_by_no_rule(curve):
    broken = LossCurve(curve.start, curve.means, H, diverged=True)
    assert set(judged(broken).values()) == {False}
