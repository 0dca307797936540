"""Small experiments by hand: settings, runs with chosen ends, and rows as a function of variant and seed."""

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl
import pytest

import lnlab.analyse.quantities.profiles  # noqa: F401 - registers quantities
from lnlab.keys import canonical
from lnlab.tables import Results, frame, table_schema

FRONT = {"run": pl.String, "variant": pl.String, "seed": pl.Int64}


def make_setting(placement="post", encoder=2, decoder=2, cross=True, norm=None, d_model=32):
    stack = {"norm": norm or {"kind": "layer", "eps": 1e-05}, "placement": {"kind": placement}}
    return {
        "task": {"kind": "translation", "corpus": {"kind": "toy"}, "vocabulary": 100},
        "model": {"kind": "encoder_decoder", "d_model": d_model, "tied": "target"},
        "encoder": {"layers": encoder, **stack},
        "decoder": {"layers": decoder, **stack, "cross_attention": cross},
        "optimizer": None,
        "train": {"steps": 0},
    }


def make_experiment(
    variants, seeds, rows, *, axes=(), status=lambda variant, seed: "finished", curves=(), needs=(), steps=0
):
    """``rows(variant, seed)`` yields rows of ``sites`` without run, variant and seed; ``axes``: (path, of setting).

    ``needs``: (step, probe, measurement) of every run.
    """
    pairs = [(variant, seed) for variant in variants for seed in seeds]
    runs = pl.DataFrame(
        {
            "run": [f"{v}-{s}" for v, s in pairs],
            "trajectory": [f"t{v}-{s}" for v, s in pairs],
            "steps": [steps for _ in pairs],
            "variant": [v for v, _ in pairs],
            "seed": [s for _, s in pairs],
            "setting": [canonical(variants[v]) for v, _ in pairs],
            "status": [status(v, s) for v, s in pairs],
            "reason": ["loss is not finite" if status(v, s) == "diverged" else None for v, s in pairs],
        },
        schema=dict(table_schema("runs")) | {"status": pl.String, "reason": pl.String},
    )
    axis_rows = [
        {"run": f"{v}-{s}", "axis": path, "value": canonical(read(variants[v])), "label": str(read(variants[v]))}
        for v, s in pairs
        for path, read in axes
    ]
    site_rows = [{"run": f"{v}-{s}", "variant": v, "seed": s, "step": 0, **row} for v, s in pairs for row in rows(v, s)]
    columns = FRONT | {"step": pl.Int64} | dict(table_schema("sites"))
    sites = pl.DataFrame({c: [row.get(c) for row in site_rows] for c in columns}, schema=columns)
    lines = [{"run": f"{v}-{s}", "variant": v, "seed": s, **row} for v, s in pairs for row in curves]
    columns = FRONT | dict(table_schema("curves"))
    trained = pl.DataFrame({c: [row.get(c) for row in lines] for c in columns}, schema=columns)
    needed = [dict(zip(("step", "probe", "measurement"), need, strict=True)) for need in needs]
    need_rows = frame("needs", [{"run": run, **need} for run in runs["run"] for need in needed])
    return Results(runs, frame("axes", axis_rows), {"sites": sites, "curves": trained, "needs": need_rows})


@dataclass(frozen=True)
class TrainedRun:
    """A run by hand: its validation nll by step, how it ended, and its seed's unigram entropy."""

    nll: Mapping[int, float]
    status: str | None = "finished"
    done: int | None = None
    entropy: float | None = 6.0


def make_trained_experiment(variants, runs, *, steps=100, axes=(), epoch=10):
    """``runs``: (variant, seed) -> ``Trained``; ``epoch`` is the number of updates an epoch."""
    front = [(v, s, f"{v}-{s}") for v, s in runs]
    run_rows = [
        {"run": run, "trajectory": f"t{run}", "steps": steps, "variant": v, "seed": s}
        | {"setting": canonical(variants[v]), "status": runs[v, s].status}
        | {"reason": "loss is not finite" if runs[v, s].status == "diverged" else None}
        | {"done": runs[v, s].done if runs[v, s].done is not None else steps if runs[v, s].status else None}
        for v, s, run in front
    ]
    curves = []
    for v, s, run in front:
        front_columns = {"run": run, "variant": v, "seed": s, "trajectory": f"t{run}"}
        curves += [
            front_columns | {"step": t, "split": "validation", "quantity": "nll", "value": x}
            for t, x in runs[v, s].nll.items()
        ]
        curves += [
            front_columns | {"step": t, "split": "train", "quantity": "epoch", "value": t / epoch}
            for t in runs[v, s].nll
        ]
        if runs[v, s].entropy is not None:
            value = runs[v, s].entropy
            curves.append(front_columns | {"step": 0, "split": "train", "quantity": "unigram_entropy", "value": value})
    columns = FRONT | dict(table_schema("curves"))
    table = pl.DataFrame({c: [row.get(c) for row in curves] for c in columns}, schema=columns)
    points = [
        {"run": run, "axis": path, "value": canonical(read(variants[v])), "label": str(read(variants[v]))}
        for v, s, run in front
        for path, read in axes
    ]
    ended = dict(table_schema("runs")) | {"status": pl.String, "reason": pl.String, "done": pl.Int64}
    sites = pl.DataFrame(schema=FRONT | {"step": pl.Int64} | dict(table_schema("sites")))
    return Results(pl.DataFrame(run_rows, schema=ended), frame("axes", points), {"sites": sites, "curves": table})


@pytest.fixture(scope="session")
def trained():
    return TrainedRun


@pytest.fixture(scope="session")
def training():
    return make_trained_experiment


@pytest.fixture(scope="session")
def setting():
    return make_setting


@pytest.fixture(scope="session")
def experiment():
    return make_experiment


@pytest.fixture(scope="session")
def profiles():
    """Post and Pre with 2 and 3 layers a stack, two seeds, w1 and w2 of every layer, an embedding outside layers."""
    variants = {f"{p}{n}": make_setting(p, n, n) for p in ("post", "pre") for n in (2, 3)}
    variants["mixed"] = make_setting("post", 2, 3, cross=False)

    def rows(variant, seed):
        layers = {stack: variants[variant][stack]["layers"] for stack in ("encoder", "decoder")}
        for stack, count in layers.items():
            for layer in range(1, count + 1):
                for tensor in ("w1", "w2"):
                    value = 10 * layer + seed + (100 if stack == "decoder" else 0) + (0.5 if tensor == "w2" else 0)
                    yield {
                        "measurement": "g",
                        "quantity": "gradient_norm",
                        "stack": stack,
                        "layer": layer,
                        "sublayer": "feed_forward",
                        "tensor": tensor,
                        "value": value,
                    }
        yield {"quantity": "gradient_norm", "sublayer": "embedding", "tensor": "table", "value": 1.0}

    axes = [
        ("placement", lambda s: s["decoder"]["placement"]["kind"]),
        ("decoder.layers", lambda s: s["decoder"]["layers"]),
        ("decoder.cross_attention", lambda s: s["decoder"]["cross_attention"]),
    ]
    return make_experiment(variants, (1, 2), rows, axes=axes)
