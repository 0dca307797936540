"""Stored training runs from formulas: losses that fall to a floor, runs that diverge, and runs not done."""

import json
import math
from functools import partial

import numpy as np
import polars as pl
import pytest

from lnlab.report.facts import ReportFacts
from lnlab.tables import WRITTEN_BY_WORKERS, Results, frame
from tests.support.row_schemas import row_schema

STEPS, EPOCH, ENTROPY = 200, 40.0, 5.5
FLOOR = {"post": 2.6, "pre": 2.2}
NAMES = {"post": "Post-LN", "pre": "Pre-LN"}
RUNS = {
    **dict.fromkeys(("run", "trajectory", "variant", "setting", "status", "reason", "device", "versions"), pl.String),
    **dict.fromkeys(("steps", "seed", "done", "parameters"), pl.Int64),
    **dict.fromkeys(("seconds", "last_finite_loss"), pl.Float64),
}


def loss(placement, lr, seed, t):
    """Falls from 7 to a floor that is lowest at the rate 1e-3, with the seed's own level."""
    floor = FLOOR[placement] + 0.3 * abs(math.log10(lr / 1e-3)) + 0.02 * seed
    return floor + (7.0 - floor) * np.exp(-np.asarray(t) / 40)


def diverges(placement, lr, seed):
    return placement == "post" and lr > 2e-3 and seed % 2 == 1


def unfinished(placement, lr, seed):
    return False


def curve(placement, lr, seed, steps, gone):
    """Rows of a run: split, quantity, step, value; ``gone``: it ends after step 60, its loss exploding from 50 on."""
    last = 60 if gone else steps
    rng = np.random.default_rng([seed, placement == "pre", int(lr * 1e6)])
    t = np.arange(last + 1)
    train = loss(placement, lr, seed, t) + 0.05 * rng.normal(size=t.size)
    train = np.where(gone & (t > 50), 7.0 * np.exp(0.9 * (t - 50.0)), train)
    if gone:
        train[-1] = np.nan
    yield from (("train", "loss", int(n), float(v)) for n, v in zip(t, train, strict=True))
    yield from (("train", "learning_rate", int(n), lr * min(n / 20, 1.0)) for n in t[1:])
    yield "train", "unigram_entropy", 0, ENTROPY
    for n in range(0, last + 1, 20):
        yield "train", "epoch", n, n / EPOCH
        value = float(train[n]) if gone and n > 50 else float(loss(placement, lr, seed, n)) + 0.2
        yield "validation", "nll", n, value
        yield "validation", "loss", n, value + 0.3


def histograms(placement, seed, steps):
    """Gradients of 1,000 entries: log-normal, in Post-LN ever smaller; a tenth of them exactly zero."""
    for step in steps:
        rng = np.random.default_rng([seed, step, placement == "pre"])
        values = np.exp2(rng.normal(-10 - (step / 10 if placement == "post" else 0), 2, 900))
        exponent = np.floor(np.log2(values))
        quarter = np.floor(4 * (values / 2**exponent - 1))
        lefts, counts = np.unique(2**exponent * (1 + quarter / 4), return_counts=True)
        for left, count in zip(lefts, counts, strict=True):
            yield step, float(left), float(left + 2 ** np.floor(np.log2(left)) / 4), int(count)
        yield step, 0.0, 0.0, 100


def make_trained(
    placements=("post", "pre"),
    rates=(1e-3, 3e-3),
    seeds=(1, 2, 3, 4, 5),
    steps=STEPS,
    lost=diverges,
    missing=unfinished,
    bins=(),
):
    """Every run of placements by learning rates, but those that are ``missing``; those that are ``lost`` diverge."""
    runs, axes, curves, counts = [], [], [], []
    for placement in placements:
        for lr in rates:
            for seed in seeds:
                variant = f"{placement}-{lr:g}"
                run, gone = f"{variant}-{seed}", lost(placement, lr, seed)
                key, absent = {"run": run, "variant": variant, "seed": seed}, missing(placement, lr, seed)
                setting = {
                    "task": {"kind": "translation"},
                    "encoder": {"layers": 6, "placement": {"kind": placement}},
                    "optimizer": {"kind": "adam", "lr": lr},
                    "train": {"steps": steps},
                }
                status = None if absent else "diverged" if gone else "finished"
                reason = "the loss was not finite at step 60" if gone and not absent else None
                done = None if absent else 60 if gone else steps
                fields = {"trajectory": f"t-{run}", "steps": steps, "setting": json.dumps(setting), "seconds": 9.0}
                runs.append({**key, **fields, "status": status, "reason": reason, "done": done})
                for axis, value in (("placement", placement), ("optimizer.lr", lr)):
                    number = value if isinstance(value, float) else None
                    axes.append(
                        {"run": run, "axis": axis, "value": json.dumps(value), "number": number, "label": f"{value}"}
                    )
                if absent:
                    continue
                for split, quantity, step, value in curve(placement, lr, seed, steps, gone):
                    curves.append({**key, "step": step, "split": split, "quantity": quantity, "value": value})
                for step, left, right, count in histograms(placement, seed, bins):
                    place = {"stack": "encoder", "layer": 1, "tensor": "w1", "quantity": "gradient_size"}
                    counts.append({**key, **place, "step": step, "left": left, "right": right, "count": count})
    tables = {name: pl.DataFrame(schema=row_schema(name)) for name in WRITTEN_BY_WORKERS}
    tables["curves"] = pl.DataFrame(curves, schema=row_schema("curves"), infer_schema_length=None)
    tables["histograms"] = pl.DataFrame(counts, schema=row_schema("histograms"), infer_schema_length=None)
    return Results(pl.DataFrame(runs, schema=RUNS), frame("axes", axes), tables)


@pytest.fixture(scope="session")
def trained():
    """The function that makes the runs."""
    return make_trained


@pytest.fixture(scope="session")
def course():
    """The formula of the loss."""
    return loss


@pytest.fixture(scope="session")
def whole():
    """Two placements, two rates, five seeds; Post-LN at the large rate diverges with seeds 1, 3 and 5."""
    return make_trained(bins=(1, 10, 50))


@pytest.fixture(scope="session")
def facts_of():
    """Facts of a report with these sections."""
    return partial(
        ReportFacts,
        name="training",
        title="How it trains",
        spec="spec",
        path="specs/training.yaml",
        digest="ab" * 32,
        version="0.1.0",
    )
