"""How often ``lnlab verify --level 2`` catches a fault, by kind of quantity, and how often it alarms without one.

A small experiment is run twice, on two instruction sets of the processor: the second stands for another class of
machine. In each repeat one run of every variant is drawn, a fault is put into one quantity of it, and its rows are held
against those of the first.

python benchmarks/verification_power.py FOLDER [repeats]
"""

import json
import os
import random
import subprocess
import sys
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import lnlab
from lnlab.committed.comparison.numbers import compare_numbers
from lnlab.tables import Results

QUANTITIES = (
    *(
        ("sites", name, False)
        for name in ("gradient_norm", "hidden_norm", "stream_gradient", "token_cosine", "sharpness")
    ),
    ("spectra", "hessian", False),
    ("curves", "loss", False),
    *(("sites", name, True) for name in ("gradient_norm", "hidden_norm", "sharpness")),
    *(("curves", name, True) for name in ("loss", "nll")),
)
"""One of every kind, of untrained and of trained models: its table, its name, and whether it is of trained ones."""
NAMES = {"sites": "quantity", "curves": "quantity", "spectra": "operator"}
SPEC = {
    "lnlab": 2,
    "title": "Faults",
    "question": "Which faults are caught?",
    "task": {"kind": "translation", "corpus": "toy_german_english", "vocabulary": 300, "batch_tokens": 256},
    "model": {"kind": "encoder_decoder", "layers": 4, "d_model": 32, "heads": 4, "d_ff": 64},
    "placement": "post",
    "seeds": 5,
    "methods": {
        "Post-LN": {"placement": "post"},
        "Pre-LN": {"placement": "pre"},
        **{
            f"{name}, trained": {"placement": kind, "optimizer": {"kind": "adam", "lr": 1e-3}, "train.steps": 30}
            for name, kind in (("Post-LN", "post"), ("Pre-LN", "pre"))
        },
    },
    "sweep": [
        {"method": ["Post-LN", "Pre-LN"], "model.layers": [2, 4]},
        {"method": ["Post-LN, trained", "Pre-LN, trained"]},
    ],
    "probes": [
        {"kind": "gradient_norm", "at": "end", "batches": 2},
        {"kind": "hidden_norm", "at": "end", "batches": 1},
        {"kind": "stream_gradient", "at": "init", "batches": 1},
        {"kind": "token_cosine", "at": "init", "batches": 1},
        {"kind": "hessian_spectrum", "at": "init", "batches": 1, "draws": 1, "steps": 12},
        {"kind": "sharpness", "at": "end", "batches": 1},
    ],
}
CLASSES = {"first": "avx2", "second": "default"}
CORRECTION = (16 / 15) ** 0.5
"""What a norm gains that divides by 15 where its formula divides by 16."""
Values = dict[tuple[str, int], np.ndarray]
"""The numbers of one quantity by variant and seed."""


def compute(folder: Path) -> list[Results]:
    """The experiment on both instruction sets, each in a process of its own."""
    program = (
        "import json, sys, lnlab; lnlab.run(json.loads(sys.argv[1]), store=sys.argv[2], workers=2, progress=False)"
    )
    results = []
    for name, capability in CLASSES.items():
        command = [sys.executable, "-c", program, json.dumps(SPEC), str(folder / name)]
        subprocess.run(command, env=os.environ | {"ATEN_CPU_CAPABILITY": capability}, check=True)
        results.append(lnlab.run(SPEC, store=folder / name, progress=False).results)
    return results


def no_fault(values: Values, dice: random.Random) -> Values:
    """What the other class of machine computes."""
    return values


def ten_percent(values: Values, dice: random.Random) -> Values:
    """Ten percent more in one variant."""
    variant = dice.choice(sorted({variant for variant, _ in values}))
    return {key: 1.1 * numbers if key[0] == variant else numbers for key, numbers in values.items()}


def swapped_labels(values: Values, dice: random.Random) -> Values:
    """Two variants that have the same sites and other numbers, exchanged."""
    variants = sorted({variant for variant, _ in values})
    first = {variant: next(numbers for key, numbers in values.items() if key[0] == variant) for variant in variants}
    pairs = [
        (a, b)
        for a, b in combinations(variants, 2)
        if first[a].size == first[b].size and not np.allclose(first[a], first[b], rtol=1e-3)
    ]
    if not pairs:
        return {}
    a, b = dice.choice(pairs)
    other = {a: b, b: a}
    return {(variant, seed): values[other.get(variant, variant), seed] for variant, seed in values}


def other_seeds(values: Values, dice: random.Random) -> Values:
    """Every run with the seed after its own."""
    seeds = sorted({seed for _, seed in values})
    after = dict(zip(seeds, [*seeds[1:], seeds[0]], strict=True))
    return {(variant, seed): values[variant, after[seed]] for variant, seed in values}


def other_formula(values: Values, dice: random.Random) -> Values:
    """The numbers of another formula: larger by ``CORRECTION`` in every variant."""
    return {key: CORRECTION * numbers for key, numbers in values.items()}


FAULTS = (no_fault, ten_percent, swapped_labels, other_seeds, other_formula)


def rows_of(results: Results, table: str, name: str, *, trained: bool) -> pl.DataFrame:
    """The rows of one quantity."""
    return results.tables[table].filter(pl.col(NAMES[table]) == name, (pl.col("step") > 0) == trained)


def share_of_alarms(
    old: Results, new: Results, quantity: tuple[str, str, bool], fault: Any, repeats: int
) -> float | None:
    """In which share of the repeats the numbers of a quantity are beyond its margins; None where there is no fault."""
    table, name, trained = quantity
    column = "node" if table == "spectra" else "value"
    committed = replace(old, tables={table: rows_of(old, table, name, trained=trained)})
    rows = rows_of(new, table, name, trained=trained)
    keys = rows.select("variant", "seed").unique(maintain_order=True).rows()
    places = {key: np.flatnonzero(((rows["variant"] == key[0]) & (rows["seed"] == key[1])).to_numpy()) for key in keys}
    values = {key: rows[column].to_numpy()[at] for key, at in places.items()}
    alarms = 0
    for repeat in range(repeats):
        dice = random.Random(repeat)
        if not (changed := fault(values, dice)):
            return None
        numbers = rows[column].to_numpy().copy()
        for key, at in places.items():
            numbers[at] = changed[key]
        by_variant = new.runs.group_by("variant", maintain_order=True).agg("run")["run"].to_list()
        drawn = pl.col("run").is_in([dice.choice(list(runs)) for runs in by_variant])
        sample = rows.with_columns(pl.Series(column, numbers)).filter(drawn)
        computed = replace(new, runs=new.runs.filter(drawn), tables={table: sample})
        compared = [q for q in compare_numbers(committed, computed) if q.table == table]
        alarms += any(q.beyond for q in compared)
    return alarms / repeats


def main(folder: Path, repeats: int) -> None:
    old, new = compute(folder)
    print("| quantity | of models | " + " | ".join(fault.__name__.replace("_", " ") for fault in FAULTS) + " |")
    print("|---|---|" + "--:|" * len(FAULTS))
    for quantity in QUANTITIES:
        shares = [share_of_alarms(old, new, quantity, fault, repeats) for fault in FAULTS]
        cells = ["–" if share is None else f"{100 * share:.3g}" for share in shares]
        print(f"| {quantity[1]} | {'trained' if quantity[2] else 'untrained'} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 200)
