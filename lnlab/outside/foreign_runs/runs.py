"""Runs that something else has trained, together as ``tables.Results``, which claims and sections read.

A setting that differs between runs is an axis, and a variant is a setting without its seed. ``done`` is the number of
updates that a run made, and ``steps`` the number planned. By default ``steps`` is that of the longest run, so that
``step: last`` never compares a run that ended early with runs that did not.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import polars as pl

from lnlab.errors import LabError
from lnlab.issues import Issue
from lnlab.keys import Json, canonical, digest
from lnlab.outside.foreign_runs.folder import ROW_TABLES, RunFolder, tables_of_rows
from lnlab.outside.foreign_runs.settings import leaves
from lnlab.seed_words import UNIT
from lnlab.select.axes import axes_frame
from lnlab.specfile.values import value_label
from lnlab.tables import CLUSTERS, ENDED_EARLY, TRAINED_ELSEWHERE, Results, table_schema

STATISTICS = "statistics"
"""The setting that says what norms over batches used while they were measured."""
UNCLOSED = "was not closed"
"""Why a run whose folder says that it still runs is taken for interrupted."""
_TELLING_DIGITS = 12
"""Significant digits, of different numbers together, that two replicates do not share by chance."""
_OUTCOME = ("status", "reason", "seconds", "parameters", "last_finite_loss", "device", "versions")
_KEYS = {"run": pl.String, "variant": pl.String, "seed": pl.Int64, "step": pl.Int64}


@dataclass(frozen=True)
class RecordedRun:
    """One run of one setting.

    Attributes:
        name: what messages call it: its folder, or its rows.
        settings: nested.
        seed: the replicate.
        tables: by name the rows, with ``step`` in front.
        steps: updates planned, or None where nobody says.
        trained: whether its numbers are those of training though its step is 0, as nobody says how many updates.
        done: updates made.
        status: as in the table ``outcomes``.
        reason: the status in words.
        parameters: trained elements, or None.
        seconds: of wall-clock time, or None.
        last_finite_loss: of its training batches, or None.
        device: where it ran, or None.
        versions: JSON, or None.
        paths: ``stack layer sublayer tensor path`` of each parameter and module.
        probes: the choices of probes.
        cluster: of replicates that are not independent, or None.
        unit: what a replicate is called, or None for a seed.
        copies: other seeds of these settings that had the same parameters or numbers, and so are no replicates.
    """

    name: str
    settings: Mapping[str, Json]
    seed: int
    tables: Mapping[str, pl.DataFrame]
    steps: int | None = 0
    trained: bool = False
    done: int = 0
    status: str = "finished"
    reason: str | None = None
    parameters: int | None = None
    seconds: float | None = None
    last_finite_loss: float | None = None
    device: str | None = None
    versions: str | None = None
    paths: Sequence[Sequence[Any]] = ()
    probes: Sequence[Mapping[str, Json]] = field(default_factory=tuple)
    cluster: str | None = None
    unit: str | None = None
    copies: tuple[int, ...] = ()

    @property
    def key(self) -> str:
        """The key of the run among those that are opened with it."""
        return digest([self.settings, self.seed])


def read_run(path: Path, *, ended: bool = False) -> RecordedRun:
    """The run in a folder of ``lnlab.Recorder``.

    Args:
        path: of the folder.
        ended: take it as whole though it was not closed.

    Raises:
        LabError: it cannot be read.
    """
    folder = RunFolder(path)
    facts = folder.facts()
    rows = folder.rows(facts)
    done = max(int(rows["step"].max() or 0) if rows.height else 0, int(facts["done"]))  # type: ignore[arg-type]
    status, reason = facts["status"], facts["reason"]
    if status == "running":
        status, reason = ("finished", None) if ended else ("interrupted", UNCLOSED)
    return RecordedRun(
        name=str(path),
        settings=facts["settings"],
        seed=facts["seed"],
        tables=tables_of_rows(rows),
        steps=facts["steps"],
        done=done,
        status="finished" if ended and status == "interrupted" else status,
        reason=reason,
        parameters=facts["parameters"],
        seconds=facts["seconds"],
        last_finite_loss=facts["last_finite_loss"],
        device=facts["device"],
        versions=json.dumps(facts["versions"]),
        paths=facts["paths"],
        probes=facts["probes"],
    )


def varying_paths(settings: Sequence[Mapping[str, Json]]) -> list[str]:
    """The dotted paths at which settings differ, in the order in which they were given.

    Where none differs, it is all paths but ``STATISTICS``, or that one if there is no other.
    """
    flat = [dict(leaves(one)) for one in settings]
    paths = list(dict.fromkeys(path for one in flat for path in one))
    varying = [path for path in paths if len({canonical(one.get(path)) for one in flat}) > 1]
    return varying or [path for path in paths if path != STATISTICS] or paths


def refuse_one_run_twice(runs: Sequence[RecordedRun]) -> None:
    """Refuse two runs with the same settings and seed.

    Raises:
        LabError: there are two.
    """
    names: dict[str, str] = {}
    for run in runs:
        if run.key in names:
            what = f"{names[run.key]} and {run.name} are one run: {run_label(run)}"
            raise LabError(Issue("duplicate", "", what, "give different seeds, or open one of them"))
        names[run.key] = run.name


def counted_once(runs: Sequence[RecordedRun]) -> tuple[list[RecordedRun], list[RecordedRun]]:
    """Two lists: the runs without copies of other seeds, in their order, and the copies that are left out.

    A copy has the settings of a run with a smaller seed, and its value of each quantity at each step and place. It
    comes from a loop that does not use its seed, or from a row that was written under several. Few and short numbers,
    as accuracies are, may be equal by chance: they make no copy. Nor are replicates that are no seeds copies. Runs that
    are kept have the seeds of all copies with their settings in ``copies``.
    """
    kept: list[RecordedRun] = []
    left: dict[str, list[RecordedRun]] = {}
    seen: set[str] = set()
    for run in sorted(runs, key=lambda run: run.seed):  # so that arms which are compared in pairs keep the same seed
        variant = digest(run.settings)
        numbers = {name: rows for name, rows in run.tables.items() if not rows.is_empty()}
        # A sum, as two runs may have written the same rows in another order; with 64 bits none is equal by chance.
        sums = {name: str(rows.hash_rows().sum()) for name, rows in numbers.items()}
        # Documents may have equal numbers, as those of one length have; seeds have not.
        if (content := digest([variant, sums])) in seen and run.unit is None and _can_tell(numbers):
            left.setdefault(variant, []).append(run)
        else:
            seen.add(content)
            kept.append(run)
    copies = {variant: tuple(run.seed for run in of_variant) for variant, of_variant in left.items()}
    once = [replace(run, copies=tuple(sorted({*run.copies, *copies.get(digest(run.settings), ())}))) for run in kept]
    places = {run.key: i for i, run in enumerate(runs)}
    return sorted(once, key=lambda run: places[run.key]), [run for of_variant in left.values() for run in of_variant]


def _can_tell(numbers: Mapping[str, pl.DataFrame]) -> bool:
    """Whether the numbers of a run have so many digits that another seed has the same only if it is a copy.

    Learning rates do not count: they are the same for all seeds.
    """
    values: set[float] = set()
    for rows in numbers.values():
        if "value" in rows.columns:
            values |= set(rows.filter(pl.col("quantity").ne_missing("learning_rate"))["value"].drop_nulls().to_list())
        elif rows.height:
            return True  # a spectrum or a histogram
    return sum(map(_digits, filter(math.isfinite, values))) >= _TELLING_DIGITS


def _digits(x: float) -> int:
    """The significant digits of a number. Of a share of few items, 281/300, they are those of 281."""
    share = Fraction(abs(x)).limit_denominator(100_000)
    written = str(share.numerator) if float(share) == abs(x) else repr(x).partition("e")[0]
    return len(written.strip("-").replace(".", "").strip("0"))


def results_of_runs(runs: Sequence[RecordedRun], axes: Sequence[str] | None = None) -> Results:
    """Runs as results.

    Args:
        runs: each of another setting or seed.
        axes: dotted paths that tell them apart. None means the paths that differ.
    """
    longest = max((max(run.done, run.steps or 0) for run in runs), default=0)
    paths = varying_paths([run.settings for run in runs]) if axes is None else list(axes)
    whole = [replace(run, steps=longest if run.steps is None else run.steps) for run in runs]
    schemas: dict[str, dict[str, Any]] = {table: {**_KEYS, **table_schema(table)} for table in ROW_TABLES}
    tables = {table: [pl.DataFrame(schema=schema)] for table, schema in schemas.items()}
    run_rows: list[dict[str, Any]] = []
    points: dict[str, dict[str, Json]] = {}
    members: dict[str, set[int]] = {}
    for run in whole:
        if run.cluster is not None:
            members.setdefault(run.cluster, set()).add(run.seed)
    for run in whole:
        keys: dict[str, Any] = {"run": run.key, "variant": digest(run.settings), "seed": run.seed}
        early = run.status == "finished" and run.done < (run.steps or 0)
        stated: dict[str, Json] = {"copies": list(run.copies), TRAINED_ELSEWHERE: run.trained, UNIT: run.unit}
        stated[CLUSTERS] = {name: sorted(seeds) for name, seeds in members.items()}
        told = {name: value for name, value in stated.items() if value}
        setting = canonical({**run.settings, **_with_depths(run), **told})
        outcome = {name: getattr(run, name) for name in (*_OUTCOME, "done")}
        outcome |= {"reason": ENDED_EARLY.format(run.done, run.steps)} if early else {}
        run_rows.append({**keys, "trajectory": run.key, "steps": run.steps, "setting": setting, **outcome})
        flat = dict(leaves(run.settings))
        points[keys["variant"]] = {path: flat.get(path) for path in paths}
        for table, rows in run.tables.items():
            own = [pl.lit(value, _KEYS[name]).alias(name) for name, value in keys.items()]
            if table == "curves":
                own.append(pl.lit(run.key).alias("trajectory"))
            tables[table].append(rows.with_columns(own).select(pl.col(n).cast(k) for n, k in schemas[table].items()))
    outcomes = {name: table_schema("outcomes")[name] for name in _OUTCOME}
    schema_of_runs: dict[str, Any] = {**table_schema("runs"), **outcomes, "done": pl.Int64}
    columns = {name: [row[name] for row in run_rows] for name in schema_of_runs}
    joined = {
        table: pl.concat(frames).drop_nulls("value") if "value" in frames[0].columns else pl.concat(frames)
        for table, frames in tables.items()
    }
    axis_rows = axes_frame(points, ((row["run"], row["variant"]) for row in run_rows))
    return Results(pl.DataFrame(columns, schema_of_runs), axis_rows, joined)


def run_label(run: RecordedRun) -> str:
    """``placement pre, lr 0.003, seed 1``."""
    return ", ".join([*(f"{path} {value_label(value)}" for path, value in leaves(run.settings)), f"seed {run.seed}"])


def _with_depths(run: RecordedRun) -> dict[str, Json]:
    """The settings of each stack whose depth they leave out, with the depth that the recorded sites show.

    ``layer: last`` needs it.
    """
    layers: dict[str, int] = {}
    for stack, layer, *_ in run.paths:
        if stack is not None and layer is not None:
            layers[stack] = max(layer, layers.get(stack, 0))
    own: Mapping[str, Any] = run.settings
    return {
        stack: {**(own[stack] if isinstance(own.get(stack), dict) else {}), "layers": count}
        for stack, count in sorted(layers.items())
        if not (isinstance(own.get(stack), dict) and "layers" in own[stack])
    }
