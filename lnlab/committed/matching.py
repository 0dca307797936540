"""The runs of a report as a later text of its spec asks for them: matched by their settings."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import polars as pl

from lnlab.keys import Json, canonical, digest
from lnlab.select.axes import axes_frame
from lnlab.tables import Results

_Setting = Mapping[str, Json]
_Point = Mapping[str, Json]
PLANNED_COLUMNS = ("run", "trajectory", "steps", "variant", "seed", "setting")


@dataclass(frozen=True)
class MatchedRuns:
    """The runs that a spec asks for.

    Attributes:
        results: of these runs alone, in the order of the spec. An absent run has a null status.
        absent: keys of the runs that the data lack.
    """

    results: Results
    absent: frozenset[str]


def match_runs(
    results: Results,
    settings: Sequence[tuple[_Setting, _Point]],
    seeds: Sequence[Iterable[int]],
    name: Callable[[_Setting], str],
) -> MatchedRuns:
    """Find the run of every setting and seed.

    Args:
        results: the tables of the report.
        settings: resolved, each with the values of its axes.
        seeds: of each setting.
        name: gives the name of a resolved setting. Equal settings have equal names.
    """
    stored = results.runs.select("variant", "setting").unique("variant", keep="first", maintain_order=True).iter_rows()
    variants_by_name = {name(json.loads(text)): (variant, text) for variant, text in stored}
    runs_of_data = results.runs.select("variant", "seed", "run").iter_rows()
    runs_by_variant = {(variant, seed): run for variant, seed, run in runs_of_data}
    points: dict[str, _Point] = {}
    planned = []
    absent = set()
    for (setting, point), own_seeds in zip(settings, seeds, strict=True):
        setting_name = name(setting)
        variant, text = variants_by_name.get(setting_name) or (digest(["absent", setting_name]), canonical(setting))
        points[variant] = point
        for seed in own_seeds:
            run = runs_by_variant.get((variant, seed))
            if run is None:
                run = digest(["absent", setting_name, seed])
                absent.add(run)
            planned.append((run, run, setting["train"]["steps"], variant, seed, text))
    # The rows of the data, in the order of the plan. An absent run has what the plan says, and nothing else.
    schema = {word: results.runs.schema[word] for word in PLANNED_COLUMNS}
    plan = pl.DataFrame(planned, schema=schema, orient="row")
    joined = plan.join(results.runs, on="run", how="left", maintain_order="left", suffix="_stored")
    filled = [pl.coalesce(f"{word}_stored", word).alias(word) for word in PLANNED_COLUMNS if word != "run"]
    runs = joined.with_columns(filled).select(results.runs.columns)
    axes = axes_frame(points, runs.select("run", "variant").iter_rows())
    tables = results.tables
    if results.runs.height > runs.height - len(absent):
        in_plan = pl.col("run").is_in(runs["run"].implode())
        tables = {name: table.filter(in_plan) for name, table in tables.items()}
    return MatchedRuns(replace(results, runs=runs, axes=axes, tables=tables), frozenset(absent))
