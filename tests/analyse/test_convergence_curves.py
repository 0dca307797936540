"""From recorded losses to runs that have converged, and to the largest rate that does, within each seed."""

import math
from dataclasses import dataclass, replace

import polars as pl
import pytest

from lnlab.analyse.convergence.boundary import boundary_index
from lnlab.analyse.convergence.curves import decisive_losses, loss_records
from lnlab.errors import LabError
from lnlab.select.select import select_measured_rows
from lnlab.select.series import select_series
from lnlab.tables import Results
from tests.support.results import results_of

H, EPOCH = 1.0, 10
RATES = (0.01, 0.1, 1.0)
GOOD, SLOW, BAD = (0.8, 0.5, 0.4, 0.3), (1.1, 1.0, 0.99, 0.98), (1.1, 1.3, 1.6, 1.9)


@dataclass(frozen=True)
class Run:
    """Losses of epochs in training, and at evaluations of each split and mode; ``None``: it diverged."""

    train: tuple[float, ...] = GOOD
    validation: tuple[float, ...] = GOOD
    others: tuple[tuple[str, str, tuple[float, ...]], ...] = ()
    status: str | None = "finished"
    recorded: bool = False


def rows(run):
    """``step split quantity value`` as training and evaluations put them on the curve."""
    yield 0, "train", "unigram_entropy", H
    for epoch, mean in enumerate(run.train):
        for batch in range(EPOCH):
            off = 0.0 if epoch == batch == 0 else 0.01 * (batch - (EPOCH - 1) / 2)
            yield EPOCH * epoch + batch, "train", "loss", 1.2 if epoch == batch == 0 else mean + off
        if run.recorded:
            yield EPOCH * (epoch + 1), "train", "epoch_loss", mean
        yield EPOCH * (epoch + 1), "train", "epoch", epoch + 1.0
    for split, quantity, means in (("validation", "nll", run.validation), *run.others):
        for number, value in enumerate((1.2, *means)):
            yield EPOCH * number, split, quantity, value


def results_of_runs(runs, setting):
    """``runs``: (arm, rate, seed) -> ``Run``."""
    return results_of(
        {"variant": f"{arm}{rate:g}", "seed": seed, "steps": 40, "done": 40, "status": run.status}
        | {"setting": setting(arm) | {"optimizer": {"kind": "sgd", "lr": rate}, "train": {"steps": 40}}}
        | {"reason": "loss is nan at step 12" if run.status == "diverged" else None}
        | {"axes": {"placement": arm, "optimizer.lr": rate}}
        | {"curves": [{"step": t, "split": s, "quantity": q, "value": x} for t, s, q, x in rows(run)]}
        for (arm, rate, seed), run in runs.items()
    )


@pytest.fixture
def made(setting):
    return lambda runs: results_of_runs(runs, setting)


def number(results, quantity, rule="unstuck", split="train", **where):
    found = select_measured_rows(results, {"quantity": quantity, "rule": rule, "split": split, **where})
    assert found.height == 1, found
    return found["value"][0]


def test_each_loss_is_judged_by_each_rule(made):
    results = made({("post", 0.1, 1): Run(train=GOOD, validation=BAD), ("pre", 0.1, 1): Run(train=SLOW)})
    post = {
        (rule, split): number(results, "converged", rule, split, placement="post")
        for rule in ("learned", "stable")
        for split in ("train", "validation")
    }
    assert post == {
        ("learned", "train"): 1,
        ("stable", "train"): 1,
        ("learned", "validation"): 0,
        ("stable", "validation"): 0,
    }
    assert [number(results, "converged", rule, placement="pre") for rule in ("stable", "learned", "unstuck")] == [
        1,
        0,
        1,
    ]
    assert select_measured_rows(results, {"quantity": "converged"}).height == 2 * 2 * 4


def test_a_batch_norm_may_fail_in_one_mode_only(made):
    others = (("train", "nll", BAD), ("validation", "batch_nll", GOOD))
    results = made({("post", 0.1, 1): Run(GOOD, BAD, others)})
    found = select_measured_rows(results, {"quantity": "converged", "rule": "learned"})
    assert {
        (split, mode): value for split, mode, value in found.select("split", "statistics", "value").iter_rows()
    } == {("train", "batch"): 1, ("train", "running"): 0, ("validation", "batch"): 1, ("validation", "running"): 0}
    with pytest.raises(LabError, match=r"statistics \(batch, running\)"):
        select_series(results, {"quantity": "converged", "rule": "learned", "split": "train"})


def test_recorded_means_over_epochs_are_those_of_the_batches(made):
    runs = {("post", 0.1, s): Run(recorded=s == 1) for s in (1, 2)}
    first, second = (c for c in loss_records(made(runs)) if c.split == "train")
    assert (first.steps, second.steps) == ((10, 20, 30, 40),) * 2
    assert first.curve.means == pytest.approx(GOOD)
    assert second.curve.means == pytest.approx((0.8 + (1.2 - 0.8) / 10 + 0.0045, *GOOD[1:]))
    assert (first.curve.start, second.curve.start, first.curve.entropy) == (1.2, 1.2, H)


def start(results):
    return {c.seed: c.curve.start for c in loss_records(results) if (c.split, c.statistics) == ("train", "batch")}


def test_a_run_starts_at_the_loss_of_a_whole_split_and_never_at_that_of_a_batch(made):
    """The first batch has 1.2; the training split 1.5, the validation split 1.4 with its batches, 1.3 without."""
    results = made({("post", 0.1, 1): Run()})
    curves = results.tables["curves"]
    at_once = (pl.col("step") == 0) & (pl.col("quantity") == "nll")
    splits = [("train", "nll", 1.5), ("validation", "batch_nll", 1.4), ("validation", "nll", 1.3)]
    base = curves.filter(~at_once)
    one = curves.filter(at_once).head(1)
    rows = [one.with_columns(split=pl.lit(s), quantity=pl.lit(q), value=pl.lit(x)) for s, q, x in splits]
    for number, expected in enumerate((1.5, 1.4, 1.3, H)):
        tables = dict(results.tables) | {"curves": pl.concat([base, *rows[number:]])}
        assert start(Results(results.runs, results.axes, tables)) == {1: expected}
    gone = base.filter(pl.col("quantity") != "unigram_entropy")
    assert start(Results(results.runs, results.axes, dict(results.tables) | {"curves": gone})) == {}


def test_a_run_that_a_rule_ended_at_a_finite_loss_is_not_known_to_settle(made):
    ended = {("post", 0.1, s): Run(train=(0.8, 9.0), status="diverged") for s in (1, 2)}
    results = made(ended)
    curves = results.tables["curves"]
    last = (pl.col("seed") == 2) & (pl.col("quantity") == "loss") & (pl.col("step") == 19)
    broken = curves.with_columns(value=pl.when(last).then(math.nan).otherwise("value"))
    found = select_measured_rows(
        Results(results.runs, results.axes, dict(results.tables) | {"curves": broken}),
        {"quantity": "converged", "rule": "settled", "split": "train"},
    )
    assert found.select("seed", "value").rows() == [(2, 0.0)]


def test_a_run_that_diverged_has_not_converged_though_it_was_never_evaluated(made):
    lost = Run(train=(0.8,), validation=(), status="diverged")
    results = made({("post", 0.1, 1): Run(), ("post", 0.1, 2): lost})
    for split in ("train", "validation"):
        found = select_series(results, {"quantity": "converged", "rule": "learned", "split": split})
        assert (found.numbers["value"].to_list(), found.failed) == ([1.0, 0.0], {})
    assert [c.curve.diverged for c in loss_records(results) if c.seed == 2] == [True] * 2


def test_a_run_that_did_not_end_by_itself_or_was_measured_once_is_not_judged(made):
    results = made(
        {("post", 0.1, 1): Run(), ("post", 0.1, 2): Run(status="timed_out"), ("post", 0.1, 3): Run(status=None)}
    )
    found = select_series(results, {"quantity": "converged", "rule": "learned", "split": "train"})
    assert (found.seeds, list(found.excluded), found.pending) == ([1], [2], (3,))
    once = (("validation", "batch_nll", ()),)
    results = made({("post", 0.1, 1): Run(others=once), ("post", 0.1, 2): Run(others=once, status="diverged")})
    for quantity in ("converged", "time_to_converge"):
        found = select_measured_rows(results, {"quantity": quantity, "split": "validation", "statistics": "batch"})
        assert set(found["seed"]) == {2}


def test_what_has_not_converged_takes_for_ever(made):
    results = made({("post", 0.1, 1): Run(), ("post", 0.1, 2): Run(train=SLOW)})
    assert number(results, "time_to_converge", "learned", seed=1) == 40
    assert number(results, "time_to_converge", "learned", seed=2) == math.inf
    assert number(results, "time_to_converge", "unstuck", seed=2) == 20  # 1.2 to .98: nine tenths are at 1.002
    found = select_measured_rows(results, {"quantity": "time_to_converge", "rule": "learned", "split": "train"})
    assert found["value"].median() == math.inf


def test_the_boundary_is_the_place_of_the_largest_rate_that_converges(made):
    losses = {"post": (GOOD, GOOD, BAD), "pre": (GOOD, BAD, GOOD), "plain": (BAD, BAD, BAD)}
    results = made(
        {
            (arm, rate, 1): Run(train)
            for arm, each in losses.items()
            for rate, train in zip(reversed(RATES), reversed(each), strict=True)
        }
    )
    found = {
        arm: [number(results, q, "learned", placement=arm) for q in ("convergence_boundary", "max_converged_lr")]
        for arm in losses
    }
    assert found == {"post": [2, 0.1], "pre": [3, 1.0], "plain": [0, 0.0]}


def test_a_column_with_a_hole_has_no_boundary(made, golden):
    runs = {("post", rate, seed): Run() for rate in RATES for seed in (1, 2)}
    results = made(runs | {("post", 1.0, 2): Run(status="timed_out")})
    found = select_series(results, {"quantity": "convergence_boundary", "rule": "learned", "split": "train"})
    assert (found.numbers["value"].to_list(), list(found.excluded)) == ([3.0], [2])
    with golden.raises(LabError):
        select_measured_rows(results, {"quantity": "convergence_boundary", "optimizer.lr": 0.1})


@pytest.mark.parametrize(("cells", "at"), [("CCNN", 2), ("NNNN", 0), ("CCCC", 4), ("NCNC", 4), ("NC", 2)])
def test_boundaries(cells, at):
    assert boundary_index([cell == "C" for cell in cells]) == at


def test_of_runs_with_means_over_epochs_the_losses_of_batches_decide_nothing(made):
    """Diverged and censored runs included, whose last loss says which of both they are."""
    runs = {
        ("pre", rate, seed): Run(train, recorded=seed > 1, status=status)
        for rate, (train, status) in zip(
            RATES, ((GOOD, "finished"), (SLOW, "finished"), ((1.1, math.inf), "diverged")), strict=True
        )
        for seed in (1, 2, 3)
    }
    results = made(runs)
    decisive = decisive_losses(results.tables["curves"])
    reduced = replace(results, tables=results.tables | {"curves": decisive})
    assert list(loss_records(reduced)) == list(loss_records(results))
    batches = decisive.filter(quantity="loss", split="train").group_by("seed").len().sort("seed")["len"].to_list()
    assert batches[0] == 2 * 40 + 20
    assert batches[1:] == [10, 10], "of a run that diverged what is not finite"
