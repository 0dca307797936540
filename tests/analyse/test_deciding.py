"""From the frames of tuning runs to decisions."""

from math import nan

import polars as pl
import pytest

from lnlab.analyse.tuning.decide import decide_tuning
from lnlab.compile.decisions import Undecided
from lnlab.errors import LabError
from lnlab.tables import Results
from tests.support.results import results_of

SEEDS = (7, 8)


def tuned(ends, steps=(0, 10), entropy=4.0):
    """``{(variant, seed): loss or status}``; curves fall to the loss, and another split knows better."""
    runs = []
    for (variant, seed), end in ends.items():
        told = [(0, "train", "unigram_entropy", entropy), (10, "train", "nll", 0.0), (10, "validation", "loss", 0.0)]
        if not isinstance(end, str):
            told += [(steps[1], "validation", "nll", end), (steps[0], "validation", "nll", 9.0)]
        names = ("step", "split", "quantity", "value")
        curves = [dict(zip(names, row, strict=True)) for row in told if row[-1] is not None]
        run = {"variant": variant, "seed": seed, "steps": 10, "status": end if isinstance(end, str) else "finished"}
        runs.append(run | {"setting": {"task": {"kind": "toy", "corpus": variant[0]}}, "curves": curves})
    return results_of(runs)


def question(*variants, kind="best", **params):
    candidates = tuple((float(n + 1), variant) for n, variant in enumerate(variants))
    return Undecided("k" + variants[0], "optimizer.lr", {}, {"kind": kind, **params}, SEEDS, candidates)


def test_a_decision_has_its_evidence():
    found = tuned({("a1", 7): 3.0, ("a1", 8): 2.0, ("a2", 7): 1.0, ("a2", 8): "diverged"})
    (made,) = decide_tuning([question("a1", "a2")], found)
    assert (made.key, made.path, made.value, made.met) == ("ka1", "optimizer.lr", 1.0, True)
    assert made.statistic == "validation NLL"
    assert [(t.value, t.score, t.losses) for t in made.candidates] == [(1.0, 2.5, (3.0, 2.0)), (2.0, None, (1.0, None))]
    assert (made.seeds, made.look) == (SEEDS, 1)


def test_the_last_validation_loss_counts_whatever_the_order_of_the_rows():
    forth = tuned({("a1", s): 1.0 for s in SEEDS} | {("a2", s): 2.0 for s in SEEDS})
    back = Results(forth.runs.reverse(), forth.axes, {"curves": forth.tables["curves"].reverse()})
    assert decide_tuning([question("a1", "a2")], forth) == decide_tuning([question("a1", "a2")], back)
    assert decide_tuning([question("a1", "a2")], forth)[0].value == 1.0


def test_the_digest_moves_with_every_number_that_was_looked_at():
    ends = {("a1", s): 1.0 for s in SEEDS} | {("a2", s): 2.0 for s in SEEDS}
    asked = [question("a1", "a2")]
    (before,) = decide_tuning(asked, tuned(ends))
    moved = [{**ends, ("a2", 8): 2.5}, {**ends, ("a2", 8): "diverged"}]
    found = {before.rows, *(decide_tuning(asked, tuned(each))[0].rows for each in moved)}
    found.add(decide_tuning(asked, tuned(ends, entropy=5.0))[0].rows)
    assert len(found) == 4


def test_what_is_learned_is_measured_against_the_best_on_the_same_task():
    ends = {("a1", s): 2.0 for s in SEEDS} | {("a2", s): 3.6 for s in SEEDS} | {("a3", s): 3.0 for s in SEEDS}
    ends |= {("b1", s): 3.5 for s in SEEDS}
    asked = [question("a1", "a2", kind="failing", below=0.25), question("a3", kind="failing", below=0.25)]
    first, second, other = decide_tuning([*asked, question("b1", kind="failing", below=0.25)], tuned(ends))
    assert (first.value, first.met) == (2.0, True)
    assert [t.score for t in first.candidates] == pytest.approx([1.0, 0.2])
    assert (second.met, second.candidates[0].score) == (False, 0.5)
    assert other.candidates[0].score == 1.0


def test_nan_is_no_loss_and_nothing_is_decided_before_every_run_has_ended_by_itself(golden):
    found = tuned({("a1", 7): nan, ("a1", 8): nan, ("a2", 7): 3.0, ("a2", 8): 3.0})
    assert decide_tuning([question("a1", "a2")], found)[0].value == 2.0
    assert tuned({("a1", 7): 1.0, ("a1", 8): "diverged"}).ended
    for status in ("failed", "interrupted", "timed_out", "out_of_memory"):
        assert not tuned({("a1", 7): 1.0, ("a1", 8): status}).ended
    lost = tuned({("a1", 7): 1.0})
    unknown = lost.runs.with_columns(pl.lit(None, pl.String).alias("status"))
    assert not Results(unknown, lost.axes, lost.tables).ended
    found = tuned({("a1", 7): 1.0, ("a1", 8): 1.0})
    curves = found.tables["curves"].filter(pl.col("split") != "validation")
    with golden.raises(LabError):
        decide_tuning([question("a1")], Results(found.runs, found.axes, {"curves": curves}))
