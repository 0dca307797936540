"""Seeds that diverged before a measurement that was due.

A median over the states that a run reached says nothing about those that it did not reach. A run that explodes at once
would be judged by its first state alone, against runs with all of theirs.
"""

import json

import polars as pl

from lnlab.select.quantity import quantity_fact
from lnlab.select.selection import QUANTITY_TABLES, Conditions, value_list
from lnlab.specfile.columns import EVALUATIONS, RECORDED
from lnlab.specfile.values import matches
from lnlab.tables import Results, frame


def missed_seeds(results: Results, of: Conditions, rows: pl.DataFrame, runs: pl.DataFrame) -> dict[int, str]:
    """Seeds with a run that diverged before the last step at which it was to have a number, each with the reason.

    A run is to have a number at the steps at which the parts of its quantity are measured. Probes measure at their own
    steps, and training records at every update up to the last. For a quantity that is made of both, the probes' steps
    count.

    Args:
        results: of an experiment.
        of: the selection. Its ``step`` says which steps count.
        rows: the rows that it takes.
        runs: the runs that it is about, with their ``status``.
    """
    needs = results.tables.get("needs", frame("needs", []))
    names = quantity_fact(of, "of") or value_list(of.get("quantity"))
    splits = set(rows["split"].drop_nulls()) if "split" in rows.columns else set()
    # The probes that measured these at sites or along lines, or the table that they are made of.
    tables = [results.tables[name] for name in QUANTITY_TABLES if name != "curves" and name in results.tables]
    measurements = [one.filter(pl.col("quantity").is_in(names))["measurement"] for one in tables]
    if (table := quantity_fact(of, "table")) is not None and table in results.tables:
        measurements.append(results.tables[table]["measurement"])
    measured = pl.col("measurement").is_in(pl.concat(measurements).implode())
    probes = needs.filter(measured)["probe"].unique().to_list()
    # What training records by itself needs no probe; every other curve is there where a split is evaluated.
    if not probes and not (splits == {"train"} and set(names) <= set(RECORDED)):
        choices = {probe: json.loads(probe) for probe in needs["probe"].unique()}
        probes = [probe for probe, choice in choices.items() if choice["kind"] in EVALUATIONS]
        probes = [probe for probe in probes if not splits or choices[probe]["split"] in splits]
    planned = results.runs.select("run", step="steps")
    if probes:
        planned = needs.filter(pl.col("probe").is_in(probes)).select("run", "step")

    diverged = runs.filter(pl.col("status") == "diverged").select("run", "seed", "reason")
    last_steps = rows.group_by("run").agg(_last=pl.col("step").max())
    later = diverged.join(planned, on="run").join(last_steps, on="run", how="left")
    # A run without any row missed every step, step 0 included.
    later = later.filter(pl.col("step") > pl.col("_last").fill_null(-1))
    if "step" in of:
        steps = [step for step in later["step"].unique().to_list() if matches(step, of["step"])]
        later = later.filter(pl.col("step").is_in(steps))
    return {seed: reason or "diverged" for seed, reason in later.select("seed", "reason").unique().iter_rows()}
