"""Made-up studies: a few runs with their losses, and verdicts whose numbers a test chooses."""

import polars as pl
import pytest

import lnlab.analyse.quantities.rates
import lnlab.claims.kinds.bound
import lnlab.claims.kinds.order  # noqa: F401 - registers the kinds
from lnlab.claims.claim import Verdict
from lnlab.compile.decisions import TuningCandidate
from lnlab.keys import canonical
from lnlab.referee.review import review_plan, review_report
from lnlab.referee.study import Study, Tuning
from lnlab.tables import Results, frame, table_schema

WORDS = 6.0
"""The loss of word frequencies in every made-up run."""


def run(method="A", seed=1, loss=3.0, *, lr=0.1, steps=100, **point):
    """One run: its axes, its last loss, and its planned updates. Further axes as ``layers=2``."""
    return {"axes": {"method": method, "optimizer.lr": lr, **point}, "seed": seed, "loss": loss, "steps": steps}


def results(runs, *, tokens=512, parameters=10_240):
    """Results of runs of a translation model whose curves begin at 7 nats."""
    rows, axes, curves = [], [], []
    for number, one in enumerate(runs):
        lr = one["axes"]["optimizer.lr"]
        settings = {
            "task": {"kind": "translation", "batch_tokens": tokens},
            "model": {"d_model": 64},
            "decoder": {"layers": one["axes"].get("model.layers", 3), "placement": {"kind": "post"}},
            "optimizer": {"kind": "adam", "lr": lr, "weight_decay": 0.0},
            "schedule": {"kind": "linear", "warmup_steps": one["axes"].get("schedule.warmup_steps", 0)},
            "train": {"steps": one["steps"], "accumulate": 1, "clip": None},
        }
        key, variant = f"run{number}", canonical([settings, one["axes"]])
        ended = {"status": "finished", "reason": None, "done": one["steps"], "parameters": parameters}
        names = {"run": key, "trajectory": key, "steps": one["steps"], "variant": variant, "seed": one["seed"]}
        rows.append(names | {"setting": canonical(settings)} | ended)
        for axis, value in one["axes"].items():
            axes.append({"run": key, "axis": axis, "value": canonical(value), "label": str(value)})
        place = {"run": key, "variant": variant, "seed": one["seed"]}
        numbers = {"nll": ((0, 7.0), (one["steps"], one["loss"])), "unigram_entropy": ((0, WORDS),)}
        for quantity, values in numbers.items():
            split = "validation" if quantity == "nll" else "train"
            for step, value in values:
                curves.append(place | {"step": step, "split": split, "quantity": quantity, "value": float(value)})
        curves.append(place | {"step": one["steps"], "split": "train", "quantity": "epoch", "value": 1.5})
    types = dict(table_schema("runs"))
    types |= {"status": pl.String, "reason": pl.String, "done": pl.Int64, "parameters": pl.Int64}
    of_curves = {"run": pl.String, "variant": pl.String, "seed": pl.Int64, "step": pl.Int64, "split": pl.String}
    table = pl.DataFrame(curves, schema=of_curves | {"quantity": pl.String, "value": pl.Float64}, orient="row")
    return Results(pl.DataFrame(rows, schema=types, orient="row"), frame("axes", axes), {"curves": table})


def claim(name="it", **fields):
    """A claim that the last loss of A is below that of B."""
    losses = {"kind": "order", "of": {"quantity": "final_nll"}, "over": "method", "order": "A < B"}
    return {"id": name, "says": "A ends lower than B.", "role": "source", **losses, **fields}


def verdict(name="it", **fields):
    """A supported verdict of an order: A lies 0.5 below B."""
    numbers = {"estimate": -0.5, "low": -0.6, "high": -0.4, "region_high": 0.0, "measure": "difference"}
    seeds = {seed: -0.5 + 0.01 * seed for seed in range(1, 7)}
    stated = {"kind": "order", "says": "A ends lower than B.", "role": "source", "verdict": "supported"}
    whole = {"claim": name, "primary": True, "scope": "", "statistic": "A - B", "reason": "", "quantity": "final_nll"}
    return Verdict(**{**whole, **stated, **numbers, "n": 6, "seeds": seeds, "about": "mean", **fields})


def tuning(method="A", scores=(4.0, 3.0, 3.5), *, value=None, seeds=(101, 102), rule="best", path="optimizer.lr", **of):
    """A choice among 0.05, 0.1, 0.2 ... for a method, of these scores. The best is chosen if none is named."""
    values = [0.05 * 2**place for place in range(len(scores))]
    if value is None:
        value = min((score, value) for score, value in zip(scores, values, strict=True) if score is not None)[1]
    candidates = tuple(TuningCandidate(*pair, (pair[1],)) for pair in zip(values, scores, strict=True))
    question = {"key": "", "path": path, "about": {"method": method}, "rule": {"kind": rule}, "seeds": tuple(seeds)}
    return Tuning(**question, candidates=candidates, chosen=value, **of)


def lines(rule, claims, runs=(), verdicts=(), *, plan=False, **facts):
    """What one rule says of a made-up study: its lines."""
    study = Study(
        name="made_up",
        declared=claims,
        results=results(runs),
        verdicts={one.claim: one for one in verdicts},
        **facts,
    )
    return [line for line in (review_plan if plan else review_report)(study) if line.rule == rule]


@pytest.fixture(scope="session")
def made():
    """The functions of this file, by name."""
    return type("Made", (), {name: staticmethod(f) for name, f in globals().items() if callable(f)})
