"""Results of classifiers of which some converge: of every seed of every cell it is said by a letter what became."""

import polars as pl

from lnlab.keys import canonical
from lnlab.tables import Results, frame, table_schema

RATES, STEPS, EPOCH, H = (1.0, 0.1), 200, 50, 0.9
CELLS = {"rates": list(RATES), "across": "norm"}
CELLS["tables"] = [{"name": "1 layer", "where": {"model.layers": 1}, "columns": {"layer": "NC", "batch": "NC"}}]
FATES = {("layer", 1.0): "DDN", ("layer", 0.1): "CCC", ("batch", 1.0): "CCN", ("batch", 0.1): "CN-"}
"""Of each seed: C learns, N does not, D diverges, - has not run."""


def loss(letter, t):
    return 1.2 if t == 0 else (0.3 if letter == "C" else 1.0) + 0.1 * ((t * 7919) % 13 - 6) / 13


def made():
    runs, curves, axes = [], [], []
    for (norm, rate), letters in FATES.items():
        for seed, letter in enumerate(letters, 1):
            stack = {"layers": 1, "norm": {"kind": norm}, "placement": {"kind": "post"}}
            own = {"task": {"corpus": {"kind": "toy"}}, "model": {"kind": "classifier", "d_model": 8}, "encoder": stack}
            own |= {"optimizer": {"kind": "sgd", "lr": rate}, "train": {"steps": STEPS}}
            run = f"{norm}{rate}-{seed}"
            status = {"D": "diverged", "-": None}.get(letter, "finished")
            runs.append(
                {"run": run, "trajectory": run, "steps": STEPS, "variant": f"{norm}{rate}", "seed": seed}
                | {"setting": canonical(own), "status": status, "reason": "loss is nan" if letter == "D" else None}
                | {"done": 30 if letter == "D" else STEPS, "device": "cpu", "versions": "{}"}
            )
            for axis, value in (("norm", norm), ("optimizer.lr", rate)):
                axes.append({"run": run, "axis": axis, "value": canonical(value), "label": str(value)})
            last = {"D": 30, "-": 0}.get(letter, STEPS)
            told = [("train", "loss", t, loss(letter, t)) for t in range(last)]
            told += [("train", "unigram_entropy", 0, H)] if last else []
            told += [("validation", "nll", t, loss(letter, t)) for t in range(0, last + 1, EPOCH) if last]
            for t in range(EPOCH, last + 1, EPOCH):
                mean = sum(loss(letter, u) for u in range(t - EPOCH, t)) / EPOCH
                told += [("train", "epoch_loss", t, mean), ("train", "epoch", t, t / EPOCH)]
            at = {"run": run, "variant": f"{norm}{rate}", "seed": seed, "trajectory": run}
            curves += [at | {"split": s, "quantity": q, "step": t, "value": v} for s, q, t, v in told]
    front = {"run": pl.String, "variant": pl.String, "seed": pl.Int64}
    columns = front | {"step": pl.Int64} | {k: v for k, v in dict(table_schema("curves")).items() if k != "step"}
    table = pl.DataFrame({c: [row.get(c) for row in curves] for c in columns}, schema=columns)
    ended = dict(table_schema("runs")) | dict.fromkeys(("status", "reason", "device", "versions"), pl.String)
    ended |= {"done": pl.Int64, "seconds": pl.Float64, "parameters": pl.Int64, "last_finite_loss": pl.Float64}
    told = {c: [row.get(c) for row in runs] for c in ended}
    sites = pl.DataFrame(schema=front | {"step": pl.Int64} | dict(table_schema("sites")))
    return Results(pl.DataFrame(told, schema=ended), frame("axes", axes), {"sites": sites, "curves": table})
