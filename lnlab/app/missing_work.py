"""The work of a plan that is left, and missing results that are settled. Imports nothing heavy."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

    from lnlab.store.missing_work import MissingWork
    from lnlab.tables import Results


def work_to_do(misses: "Mapping[str, MissingWork]", *, retry_failed: bool) -> "dict[str, MissingWork]":
    """What a run has to do. How a unit ended is a result: it is tried again when it was interrupted, or when asked."""
    return {key: miss for key, miss in misses.items() if retry_failed or not ended_by_itself(miss)}


def ended_by_itself(miss: "MissingWork") -> bool:
    """Whether a trajectory lacks something because it ended by itself: diverged, failed, out of memory."""
    return miss.attempt is not None and miss.attempt.outcome["status"] != "interrupted"


def reason_counts(reasons: Iterable[str]) -> list[tuple[str, int]]:
    """Each reason once, with how often it is given, the most frequent first."""
    return Counter(reasons).most_common()


def unfinished_runs(results: "Results", running: Collection[str] = ()) -> list[dict[str, object]]:
    """Every run that ended other than finished: what it is, its key, its status and the reason.

    A run of the trajectories ``running`` has not ended yet.
    """
    ended = ~results.runs["trajectory"].is_in(list(running))
    unfinished = results.runs.filter(ended, results.runs["status"] != "finished")
    names = run_names(unfinished, results.axes.join(unfinished, on="run", how="semi", maintain_order="left"))
    return [
        {"run": names[run], "key": run, "status": status, "reason": reason}
        for run, status, reason in unfinished.select("run", "status", "reason").iter_rows()
    ]


def status_counts_of_runs(results: "Results", running: Collection[str] = ()) -> dict[str, int]:
    """Status -> number of runs. ``missing`` counts runs without a status, and ``running`` those of these trajectories.

    A run may have all that it needs while its trajectory goes on.
    """
    rows = results.runs.select("trajectory", "status").iter_rows()
    at_work = set(running)
    counts = Counter(
        "running" if trajectory in at_work and status != "finished" else status or "missing"
        for trajectory, status in rows
    )
    return dict(sorted(counts.items(), key=lambda item: (item[0] != "finished", item[0])))


def run_names(runs: "pl.DataFrame", axes: "pl.DataFrame") -> dict[str, str]:
    """Run -> its name in words: ``placement=post model.layers=6, seed 3``."""
    points: dict[str, list[str]] = {}
    for run, axis, label in axes.select("run", "axis", "label").iter_rows():
        points.setdefault(run, []).append(f"{axis}={label}")
    return {
        run: ", ".join([*filter(None, [" ".join(points.get(run, []))]), f"seed {seed}"])
        for run, seed in runs.select("run", "seed").iter_rows()
    }
