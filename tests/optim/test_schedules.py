"""Factors at every update: closed forms, torch's own schedulers, sums of rates, and what holds for any parameters."""

import math
from inspect import signature
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lnlab.errors import LabError
from lnlab.optim.schedules import Factor, schedules

EXACT = {"rel": 1e-12, "abs": 1e-12}


def asked_by(kind: str) -> list[str]:
    """What the lab has to supply to its builder, by name."""
    return [p.name for p in signature(schedules[kind].build).parameters.values() if p.kind < p.VAR_POSITIONAL]


def made(kind: str, steps: int = 100, epoch: float | None = 10.0, **options: Any) -> Factor:
    """A schedule as a spec would choose it; the lab supplies by name what its builder asks for."""
    build = schedules.builder(schedules.resolve({"kind": kind, **options}))
    supplied = {"steps": steps, "epoch": epoch}
    return build(**{name: supplied[name] for name in asked_by(kind)})


def written(value: Any) -> str | None:
    """The name of a parameter: none of functions, whose text is another in every process."""
    return str(value) if isinstance(value, str | dict) else None


def sequence(factor: Factor, steps: int) -> list[float]:
    return [factor(t) for t in range(1, steps + 1)]


@pytest.mark.parametrize(
    ("kind", "options", "formula"),
    [
        ("constant", {}, lambda t: 1.0),
        ("constant", {"warmup_steps": 8}, lambda t: t / 8 if t < 8 else 1.0),
        ("linear", {"warmup_steps": 8}, lambda t: t / 8 if t < 8 else 1 - (t - 8) / 92),
        ("linear", {"warmup_steps": 8, "floor": 0.1}, lambda t: t / 8 if t < 8 else 0.9 * (1 - (t - 8) / 92) + 0.1),
        ("linear", {}, lambda t: 1 - (t - 1) / 99),
        ("inverse_sqrt", {"warmup_steps": 8}, lambda t: t / 8 if t < 8 else math.sqrt(8) / math.sqrt(t)),
        ("inverse_sqrt", {}, lambda t: 1 / math.sqrt(t)),
        ("inverse_sqrt", {"anchor": 40}, lambda t: 1.0 if t < 40 else math.sqrt(40 / t)),
        ("inverse_sqrt", {"anchor": 40, "warmup_steps": 8}, lambda t: min(t / 8, 1) * min(1, math.sqrt(40 / t))),
        ("inverse_sqrt", {"anchor": 4, "warmup_steps": 8}, lambda t: min(t / 8, 1) * min(1, math.sqrt(4 / t))),
        ("inverse_sqrt", {"anchor": 40, "form": "shifted"}, lambda t: math.sqrt(40 / (40 + t))),
        ("inverse_sqrt", {"warmup_steps": 8, "form": "shifted"}, lambda t: min(t / 8, 1) * math.sqrt(8 / (8 + t))),
        ("noam", {"d_model": 512, "warmup_steps": 8}, lambda t: 512**-0.5 * min(t**-0.5, t * 8**-1.5)),
        ("noam", {"d_model": 64, "warmup_steps": 0, "scale": 2.0}, lambda t: 2 * 64**-0.5 * t**-0.5),
        ("cosine", {"warmup_steps": 8}, lambda t: t / 8 if t < 8 else math.cos(math.pi * (t - 8) / 92 / 2) ** 2),
        ("cosine", {"floor": 0.2}, lambda t: 0.2 + 0.4 * (1 + math.cos(math.pi * (t - 1) / 99))),
        ("step", {"at": [20, 60]}, lambda t: 1.0 if t <= 20 else 0.1 if t <= 60 else 0.01),
        ("step", {"epochs": [2, 6], "factor": 0.5}, lambda t: 1.0 if t <= 20 else 0.5 if t <= 60 else 0.25),
        ("step", {"at": [20], "epochs": [2], "warmup_steps": 8}, lambda t: t / 8 if t < 8 else 1 if t <= 20 else 0.01),
    ],
    ids=written,
)
def test_every_update_has_the_factor_of_the_formula(kind, options, formula):
    assert sequence(made(kind, **options), 100) == pytest.approx([formula(t) for t in range(1, 101)], **EXACT)


def test_the_schedule_of_vaswani_peaks_at_the_end_of_warm_up_and_without_it_is_another():
    """Trap 5: lr(4000) is 1/63, .354 and 1 of the rate for T = 1, 500 and 4,000."""
    at_4000 = [made("inverse_sqrt", warmup_steps=T)(4000) for T in (1, 500, 4000)]
    assert at_4000 == pytest.approx([1 / 63.2456, 0.35355, 1.0], rel=1e-5)
    rates = sequence(made("noam", d_model=512), 8000)
    assert max(rates) == rates[3999] == pytest.approx(6.99e-4, rel=1e-3)


def test_epochs_end_between_updates_whatever_float_makes_of_a_third():
    """517 batches in groups of three are 172 1/3 updates: three epochs end with update 517."""
    factor = made("step", epoch=517 / 3, epochs=[3])
    assert (factor(517), factor(518)) == (1.0, 0.1)
    for batches in range(1, 400):
        factor = made("step", epoch=batches / 7, epochs=[7])
        assert (factor(batches), factor(batches + 1)) == (1.0, 0.1)
    assert [made("step", epoch=10.4, epochs=[1])(t) for t in (10, 11, 12)] == [1.0, 1.0, 0.1]


def test_drops_that_cannot_be_are_refused_and_only_what_anneals_asks_for_the_total(golden):
    with golden.raises(LabError):
        made("step")
    with golden.raises(LabError):
        made("step", epoch=None, epochs=[3])
    assert made("step", epoch=None, at=[3])(4) == 0.1
    asked = {entry.name: asked_by(entry.name) for entry in schedules}
    assert asked.pop("linear") == asked.pop("cosine") == asked.pop("wsd") == ["steps"]
    assert asked.pop("step") == ["epoch"]
    assert not any(asked.values())


LATER = 1000
"""Beyond any warm-up drawn below."""
WARMUPS = st.integers(0, 900)
ANCHORS = st.integers(1, 5000)
FORMS = st.sampled_from(["literal", "shifted"])


def drawn(*kinds: str, **options: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({"kind": st.sampled_from(kinds), "warmup_steps": WARMUPS, **options})


CHOICES = st.one_of(
    drawn("constant", "inverse_sqrt"),
    drawn("inverse_sqrt", anchor=ANCHORS, form=FORMS),
    drawn("linear", "cosine", floor=st.floats(0, 1)),
    drawn("step", at=st.lists(st.integers(1, 2 * LATER), min_size=1, max_size=5)),
)


@given(CHOICES, st.integers(1, 3 * LATER))
def test_a_factor_is_between_zero_and_one_and_never_rises_after_warm_up(choice, t):
    factor = made(steps=2 * LATER, **choice)
    assert 0 <= factor(t) <= 1
    assert factor(t) > 0 or t >= 2 * LATER
    if t >= choice["warmup_steps"]:
        assert factor(t + 1) <= factor(t) + 1e-12


@given(CHOICES.filter(lambda choice: "anchor" not in choice), st.integers(1, 900))
def test_warm_up_is_a_straight_line_from_one_over_t_to_exactly_one(choice, warmup):
    if choice["kind"] == "step":
        choice = choice | {"at": [at + LATER for at in choice["at"]]}
    factor = made(steps=2 * LATER, **choice | {"warmup_steps": warmup})
    assert factor(warmup) == 1.0
    assert factor(1) == pytest.approx(1 / warmup, **EXACT)
    rise = [b - a for a, b in pairwise(sequence(factor, warmup))]
    assert rise == pytest.approx([1 / warmup] * (warmup - 1), rel=1e-9, abs=1e-12)


@given(CHOICES, st.integers(1, 3 * LATER))
def test_no_warm_up_may_be_written_zero_or_one(choice, t):
    none, one = (made(steps=2 * LATER, **choice | {"warmup_steps": n}) for n in (0, 1))
    assert none(t) == one(t)


@given(st.integers(1, 900), st.integers(1, 900), ANCHORS, FORMS, st.integers(1, 5000))
def test_with_an_anchor_arms_differ_by_their_ramp_alone_and_nothing_jumps(short, long, anchor, form, t):
    arms = [made("inverse_sqrt", warmup_steps=T, anchor=anchor, form=form) for T in (short, long)]
    for T, factor in zip((short, long), arms, strict=True):
        assert factor(t) == pytest.approx(min(t / T, 1) * made("inverse_sqrt", anchor=anchor, form=form)(t), **EXACT)
        assert math.sqrt(T / (T + 1)) - 1e-12 <= factor(T + 1) / factor(T) <= 1 + 1e-12
    if t >= max(short, long):
        assert arms[0](t) == arms[1](t)
