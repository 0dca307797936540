"""Stored training runs from formulas: losses that fall to a floor, runs that diverge, and runs not done."""

import math
from functools import partial
from itertools import product

import numpy as np
import pytest

from lnlab.report.facts import ReportFacts
from tests.support.results import results_of, with_all_tables

STEPS, EPOCH, ENTROPY = 200, 40.0, 5.5
FLOOR = {"post": 2.6, "pre": 2.2}
NAMES = {"post": "Post-LN", "pre": "Pre-LN"}


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
    runs = []
    for placement, lr, seed in product(placements, rates, seeds):
        gone, absent = lost(placement, lr, seed), missing(placement, lr, seed)
        setting = {
            "task": {"kind": "translation"},
            "encoder": {"layers": 6, "placement": {"kind": placement}},
            "optimizer": {"kind": "adam", "lr": lr},
            "train": {"steps": steps},
        }
        run = {"variant": f"{placement}-{lr:g}", "seed": seed, "setting": setting, "steps": steps, "seconds": 9.0}
        run |= {"axes": {"placement": placement, "optimizer.lr": lr}, **dict.fromkeys(("device", "versions"))}
        run |= {"status": None if absent else "diverged" if gone else "finished"}
        if not absent:
            run |= {"reason": "the loss was not finite at step 60", "done": 60} if gone else {}
            names = ("split", "quantity", "step", "value")
            run["curves"] = [dict(zip(names, r, strict=True)) for r in curve(placement, lr, seed, steps, gone)]
            place = {"stack": "encoder", "layer": 1, "tensor": "w1", "quantity": "gradient_size"}
            names = ("step", "left", "right", "count")
            rows = histograms(placement, seed, bins)
            run["histograms"] = [place | dict(zip(names, r, strict=True)) for r in rows]
        runs.append(run)
    return with_all_tables(results_of(runs))


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
