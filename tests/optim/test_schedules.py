"""Factors at every update: closed forms, torch's own schedulers, sums of rates, and what holds for any parameters."""

import math
import warnings
from inspect import signature
from itertools import pairwise
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.optim.lr_scheduler import ChainedScheduler, CosineAnnealingLR, LinearLR, LRScheduler, MultiStepLR

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


def of_torch(steps: int, *schedulers: Any) -> list[float]:
    """The rates that torch uses for its updates, each in turn, from a rate of 1."""
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(()))], lr=1.0)
    scheduler: LRScheduler = ChainedScheduler([make(optimizer) for make in schedulers])
    rates = []
    for _ in range(steps):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # torch's own, of one scheduler that calls another
            scheduler.step()
    return rates


def rising(warmup: int) -> Any:
    """Torch's way to say t / T: from 1/T at the first update to 1 in T - 1 more."""
    return lambda optimizer: LinearLR(optimizer, 1 / warmup, 1.0, warmup - 1)


@pytest.mark.parametrize(
    ("kind", "options", "schedulers"),
    [
        ("constant", {"warmup_steps": 8}, [rising(8)]),
        ("linear", {}, [lambda o: LinearLR(o, 1.0, 0.0, 99)]),
        ("linear", {"floor": 0.25}, [lambda o: LinearLR(o, 1.0, 0.25, 99)]),
        ("cosine", {}, [lambda o: CosineAnnealingLR(o, 99)]),
        ("cosine", {"floor": 0.25}, [lambda o: CosineAnnealingLR(o, 99, 0.25)]),
        ("step", {"at": [20, 60]}, [lambda o: MultiStepLR(o, [20, 60])]),
        ("step", {"epochs": [2.0, 6.0], "factor": 0.3}, [lambda o: MultiStepLR(o, [20, 60], 0.3)]),
        ("step", {"at": [5, 50], "warmup_steps": 12}, [rising(12), lambda o: MultiStepLR(o, [5, 50])]),
    ],
    ids=written,
)
def test_every_update_has_the_rate_that_torch_gives_it(kind, options, schedulers):
    assert sequence(made(kind, **options), 100) == pytest.approx(of_torch(100, *schedulers), **EXACT)


def test_the_schedule_of_vaswani_peaks_at_the_end_of_warm_up_and_without_it_is_another():
    """Trap 5: lr(4000) is 1/63, .354 and 1 of the rate for T = 1, 500 and 4,000."""
    at_4000 = [made("inverse_sqrt", warmup_steps=T)(4000) for T in (1, 500, 4000)]
    assert at_4000 == pytest.approx([1 / 63.2456, 0.35355, 1.0], rel=1e-5)
    rates = sequence(made("noam", d_model=512), 8000)
    assert max(rates) == rates[3999] == pytest.approx(6.99e-4, rel=1e-3)


def test_sums_of_rates_by_warm_up_differ_forty_fold_without_an_anchor_and_little_with_one():
    """Over 16,500 updates at 5e-3; the integrals are 2 sqrt(A (A + t)) and its like, so Σ is within a rate of them."""

    def total(warmup_steps: int, **options: Any) -> float:
        return 5e-3 * math.fsum(sequence(made("inverse_sqrt", warmup_steps=warmup_steps, **options), 16_500))

    assert [total(T) for T in (1, 500, 4000)] == pytest.approx([1.28, 25.0, 51.2], abs=0.1)
    shifted = {"anchor": 4000, "form": "shifted"}
    after = 5e-3 * 2 * math.sqrt(4000) * (math.sqrt(20_500) - math.sqrt(4000))
    lost = [
        5e-3 * T * (1 / 2 - T / 4000 / 12) for T in (1, 500)
    ]  # ∫ (1 - t/T) sqrt(A / (A + t)), to first order in T/A
    lost.append(5e-3 * 4000 * (8 * math.sqrt(2) / 3 - 10 / 3))
    assert [total(T, **shifted) for T in (1, 500, 4000)] == pytest.approx([after - each for each in lost], abs=0.02)
    assert after == pytest.approx(50.6, abs=0.05)


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
