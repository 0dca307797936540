"""Claims where each run first comes to a level of another quantity, against curves whose crossings are known."""

import math
from itertools import pairwise

import polars as pl
import pytest

import lnlab
from lnlab.errors import LabError
from lnlab.report.kept_rows import quantities_of_claim, quantities_of_section
from lnlab.select.rows import level_crossings
from lnlab.select.select import select_measured_rows
from lnlab.select.series import select_series
from lnlab.specfile.step_levels import StepLevel, step_level
from tests.support.toy_specs import TRAINED, toy_spec

RATES = {"fast": 0.02, "slow": 0.005}
"""The loss is 4 exp(-rate t): at a level L after log(4/L)/rate updates."""
SEEDS = (1, 2, 3, 4, 5, 6)


def table(steps=range(0, 401, 1), rates=RATES, seeds=SEEDS):
    """The loss falls exponentially, the distance is the square root of t, the norm is linear in t."""
    rows = []
    for arm, rate in rates.items():
        for seed in seeds:
            own = rate * (1 + seed / 50)
            rows += [
                {"arm": arm, "seed": seed, "step": t, "loss": 4 * math.exp(-own * t)}
                | {"norm": own * (3 + t), "total_displacement": own * math.sqrt(t)}
                for t in steps
            ]
    return pl.DataFrame(rows)


def runs_of(frame, **given):
    return lnlab.from_frame(frame, axes=["arm"], seed="seed", step="step", **given)


def expected_norms(arm, level):
    at = {seed: math.log(4 / level) / (RATES[arm] * (1 + seed / 50)) for seed in SEEDS}
    return {seed: RATES[arm] * (1 + seed / 50) * (3 + t) for seed, t in at.items()}


def numbers(runs, **of):
    series = select_series(runs.results, {"quantity": "norm", **of})
    return dict(series.numbers.select("seed", "value").iter_rows()), series


def test_a_quantity_at_equal_loss_is_that_of_the_closed_form():
    runs = runs_of(table())
    for arm in RATES:
        found, _ = numbers(runs, arm=arm, step="at loss 2.0")
        assert found == pytest.approx(expected_norms(arm, 2.0), rel=1e-4)  # of the chord, half an update wide
    coarse = runs_of(table(steps=range(0, 401, 20)))
    found, _ = numbers(coarse, arm="fast", step="at loss 2.0")
    by_hand = {}
    for seed in SEEDS:
        own = RATES["fast"] * (1 + seed / 50)
        curve = [(t, 4 * math.exp(-own * t)) for t in range(0, 401, 20)]
        (a, la), (b, lb) = next(pair for pair in pairwise(curve) if pair[1][1] <= 2 < pair[0][1])
        by_hand[seed] = own * (3 + a + (2 - la) / (lb - la) * (b - a))
    assert found == pytest.approx(by_hand, rel=1e-12)


def test_a_claim_at_equal_loss_and_at_matched_displacement():
    runs = runs_of(table())
    claims = [
        {"id": "loss", "kind": "ratio", "of": {"quantity": "norm", "arm": "fast", "step": "at loss 2.0"}}
        | {"to": {"arm": "slow"}, "at_most": 2},
        {
            "id": "far",
            "kind": "ratio",
            "of": {"quantity": "loss", "arm": "fast", "step": "at total_displacement 0.09"},
        }
        | {"to": {"arm": "slow"}, "at_least": 1.5},
    ]
    loss, far = runs.judge(claims)
    pairs = [expected_norms("fast", 2.0)[s] / expected_norms("slow", 2.0)[s] for s in SEEDS]
    assert (loss.verdict, loss.n) == ("supported", 6)
    assert loss.estimate == pytest.approx(math.exp(sum(map(math.log, pairs)) / 6), rel=1e-4)
    losses = {m: [4 * math.exp(-((0.09**2) / (r * (1 + s / 50)))) for s in SEEDS] for m, r in RATES.items()}
    pairs = [a / b for a, b in zip(losses["fast"], losses["slow"], strict=True)]
    assert far.verdict == "supported"
    assert far.estimate == pytest.approx(math.exp(sum(map(math.log, pairs)) / 6), rel=1e-3)


def test_a_run_that_never_comes_there_is_told_and_counted():
    frame = table().filter((pl.col("seed") != 3) | (pl.col("arm") != "slow") | (pl.col("step") < 60))
    frame = frame.with_columns(
        loss=pl.when((pl.col("seed") == 2) & (pl.col("arm") == "slow")).then(3.0).otherwise("loss")
    )
    runs = runs_of(frame)
    _, series = numbers(runs, arm="slow", step="at loss 2.0")
    assert series.seeds == [1, 4, 5, 6]
    assert series.total == 6
    assert series.excluded[2] == "never comes to loss 2, the nearest is 3"
    assert series.excluded[3].startswith("never comes to loss 2, the nearest is ")
    claim = {"id": "c", "kind": "ratio", "of": {"quantity": "norm", "arm": "fast", "step": "at loss 2.0"}}
    (verdict,) = runs.judge([{**claim, "to": {"arm": "slow"}, "at_most": 2}])
    assert verdict.n == 4
    assert "never comes to loss 2" in verdict.reason
    nobody = {"quantity": "norm", "arm": "fast", "step": "at loss 0.0001"}
    (verdict,) = runs.judge([{**claim, "of": nobody, "to": {"arm": "slow"}, "at_most": 2}])
    assert verdict.verdict in ("undecided", "not testable here")
    assert "never comes to loss 0.0001" in verdict.reason


def test_a_run_that_ends_after_it_came_there_counts():
    frame = table().filter((pl.col("seed") != 3) | (pl.col("step") < 300))
    found, _ = numbers(runs_of(frame), arm="fast", step="at loss 2.0")
    assert found == pytest.approx(expected_norms("fast", 2.0), rel=1e-4)


def test_levels_met_exactly_at_the_start_and_from_below():
    rows = [{"arm": "a", "seed": 1, "step": t, "loss": v, "norm": 10.0 * t} for t, v in ((0, 2.0), (1, 4.0), (3, 1.0))]
    runs = runs_of(pl.DataFrame(rows))
    at = {
        level: level_crossings(runs.results, StepLevel("loss", level))["at"][0] for level in (2.0, 3.0, 4.0, 1.5, 0.5)
    }
    assert at == {2.0: 0.0, 3.0: 0.5, 4.0: 1.0, 1.5: 1 + 2 * 2.5 / 3, 0.5: None}
    row = select_measured_rows(runs.results, {"quantity": "norm", "step": "at loss 3"}).row(0, named=True)
    assert (row["step"], row["value"]) == (1, 5.0)


def test_what_is_no_level_is_one_line():
    runs = runs_of(table(steps=range(0, 100, 20)).with_columns(pl.col("loss").alias("val_loss")))
    of = {"quantity": "norm", "arm": "fast"}
    claim = {"id": "c", "kind": "ratio", "to": {"arm": "slow"}, "at_most": 2}
    for step, said in (
        ("at los 2.0", "nothing measured is called 'los'"),
        ("at loss 2.0", "it is there on train and validation; name one: at validation loss 2"),
    ):
        (verdict,) = runs.judge([{**claim, "of": {**of, "step": step}}])
        assert verdict.verdict == "not testable here"
        assert said in verdict.reason
    found, _ = numbers(runs, arm="fast", step="at validation loss 2.0")
    assert len(found) == 6


@pytest.mark.parametrize(
    ("written", "level"),
    [
        ("at loss 2.0", StepLevel("loss", 2.0)),
        ("at validation loss 2e-1", StepLevel("loss", 0.2, "validation")),
        ("at total_displacement 5", StepLevel("total_displacement", 5.0)),
        ("at loss", None),
        ("at training loss 2", None),
        ("at loss 2.0.1", None),
        ("last", None),
        (7, None),
    ],
)
def test_how_a_level_is_written(written, level):
    assert step_level(written) == level


REST = """\
sweep: [{placement: [pre, post]}]
claims:
  - id: c
    says: The gradient is smaller at equal loss.
    role: prediction
    kind: ratio
    of: {quantity: global_gradient_norm, placement: pre, step: LEVEL}
    to: {placement: post}
    at_most: 1
"""
SPEC = toy_spec(
    TRAINED,
    REST,
    model={"dropout": None},
    placement=None,
    schedule=None,
    train={"steps": 4, "evaluate": {"every": 2}},
    seeds=2,
)


@pytest.mark.parametrize(
    ("level", "said"),
    [
        ("at validation loss 4.5", None),
        ("at loss 4.5", "'loss' is there on .*; name one: at validation loss 4.5"),
        ("at los 4.5", "no quantity 'los' is measured here"),
        ("at loss", "is no level of a quantity; write it as at loss 2.0"),
        ("at test loss 4.5", "'loss' is not measured on test"),
    ],
)
def test_a_spec_is_checked_before_anything_is_computed(tmp_path, level, said):
    spec = tmp_path / "levels.yaml"
    spec.write_text(SPEC.replace("LEVEL", level))
    if said is None:
        lnlab.check(spec)
    else:
        with pytest.raises(LabError, match=said):
            lnlab.check(spec)


def test_a_report_keeps_the_quantity_of_a_level():
    section = {"kind": "depth_profile", "quantity": "gradient_norm", "where": {"step": "at loss 2.0"}}
    assert quantities_of_section(section) >= {"gradient_norm", "loss"}
    claim = {"id": "c", "kind": "ratio", "of": {"quantity": "norm", "arm": "fast", "step": "at loss 2.0"}}
    asked = runs_of(table())._question([{**claim, "to": {"arm": "slow"}, "at_most": 2}], (), {"title": "t"})
    assert quantities_of_claim(asked.claims[0]) == {"norm", "loss"}
