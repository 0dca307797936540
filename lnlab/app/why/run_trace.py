"""From the key of a run to what it was, what was measured, how it ended, and what its worker printed."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from lnlab.app.why.sources import runs_of_key
from lnlab.errors import LabError
from lnlab.issues import Issue
from lnlab.keys import Json
from lnlab.store.records.records import StoreReader

if TYPE_CHECKING:
    from lnlab.store.store import Store

_MOST_LISTED = 10


@dataclass(frozen=True)
class TracedProbe:
    """A probe of a run: the resolved choice as JSON, its training steps, and how many rows of each table it has."""

    probe: str
    steps: tuple[int, ...]
    rows: Mapping[str, int]


@dataclass(frozen=True)
class RunTrace:
    """Everything known of a run.

    Attributes:
        experiment: in words.
        run: its key.
        trajectory: key of its trajectory.
        variant: key of its variant.
        name: its axes in words, and its seed.
        outcome: status, reason, updates done and asked for, seconds, device, versions.
        setting: resolved.
        probes: what was measured.
        log: what its worker printed last, or an empty text.
    """

    experiment: str
    run: str
    trajectory: str
    variant: str
    name: str
    outcome: Mapping[str, Json]
    setting: Mapping[str, Json]
    probes: tuple[TracedProbe, ...]
    log: str


def trace_run(prefix: str, reports: Path, store: "Store") -> RunTrace:
    """Everything known of the run whose key, or that of its trajectory or variant, begins so.

    Raises:
        LabError: there is none, or there are several.
    """
    matches = runs_of_key(prefix, reports, store)
    if not matches:
        what = f"no run in {store.root} or below {reports.as_posix()} has a key that begins so"
        remedy = "lnlab results SPEC --quantity runs --out runs.csv lists those of a spec"
        raise LabError(Issue("out-of-range", prefix, what, remedy))
    if len(matches) > 1:
        first = [f"{match.run[:16]} ({match.name})" for match in list(matches.values())[:_MOST_LISTED]]
        more = f" and {len(matches) - _MOST_LISTED} more" if len(matches) > _MOST_LISTED else ""
        what = f"is the beginning of the keys of {len(matches)} runs"
        raise LabError(Issue("ambiguous", prefix, what, f"write one of {', '.join(first)}{more}"))
    (match,) = matches.values()
    source, run = match.source(), match.run
    results = source.results
    row = results.runs.filter(run=run).row(0, named=True)
    needs = results.tables["needs"]
    probes = []
    tables = {n: t.filter(run=run) for n, t in results.tables.items() if "measurement" in t.columns and n != "needs"}
    for (probe,), part in needs.filter(run=run).group_by("probe", maintain_order=True):
        keys = part["measurement"].implode()
        counts = {n: t.filter(pl.col("measurement").is_in(keys)).height for n, t in tables.items()}
        rows = {n: count for n, count in counts.items() if count}
        probes.append(TracedProbe(str(probe), tuple(part["step"]), rows))
    return RunTrace(
        experiment=source.name,
        run=run,
        trajectory=row["trajectory"],
        variant=row["variant"],
        name=match.name,
        outcome={
            "status": row["status"] or "not run",
            "reason": row["reason"],
            "done": row["done"],
            "steps": row["steps"],
            "seconds": row["seconds"],
            "device": row["device"],
            "versions": json.loads(row["versions"]) if row["versions"] else {},
        },
        setting=json.loads(row["setting"]),
        probes=tuple(probes),
        log=StoreReader(store.root).printed(row["trajectory"]),
    )
