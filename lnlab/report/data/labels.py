"""Name the lines of a figure by the axes that vary among their runs."""

import json

import polars as pl

from lnlab.claims.criterion import FINISHING
from lnlab.report.words.path_names import join_value_names
from lnlab.report.words.wording import axis_value_name
from lnlab.select.settings import settings_of
from lnlab.setting import implied_axes
from lnlab.tables import Results

SINGLE_SERIES = "all runs"


def label_series(
    results: Results, runs: pl.DataFrame, x: str, *, beside: str | None = None
) -> tuple[tuple[str, ...], tuple[int, ...], pl.DataFrame]:
    """The series of every run.

    Args:
        results: of an experiment.
        runs: the runs that are drawn.
        x: the column or path along which they are drawn.
        beside: an axis that is named elsewhere and tells no series apart. None means that there is none.

    Returns:
        The names in order, the family of each, and a frame ``run series line``. A family is the place of a series'
        value on the first axis that varies.
    """
    axes = results.axes.filter(pl.col("run").is_in(runs["run"].implode()))
    implied = (
        *implied_axes(x),
        *((beside,) if beside else ()),
        *_implied_by(axes, x, numbers=True),
        *_implied_by(axes, "method"),
    )
    free_axes = axes.filter(~pl.col("axis").is_in(implied))
    counts = free_axes.group_by("axis", maintain_order=True).agg(pl.col("value").n_unique())
    varying = counts.filter(pl.col("value") > 1)["axis"].to_list()
    values_by_run: dict[str, list[tuple[int, str]]] = {run: [] for run in runs["run"]}
    for axis in varying:
        order = results.axes.filter(pl.col("axis") == axis)["value"].unique(maintain_order=True).to_list()
        axis_labels = settings_of(results).short_labels(axis)
        for run, value, label in free_axes.filter(pl.col("axis") == axis).select("run", "value", "label").iter_rows():
            values_by_run[run].append(
                (order.index(value), axis_value_name(axis, json.loads(value), axis_labels[label]))
            )
    table = [
        (run, join_value_names(word for _, word in words) or SINGLE_SERIES) for run, words in values_by_run.items()
    ]
    places = {name: [place for place, _ in values_by_run[run]] for run, name in table}
    # in the order of the sweep, axis by axis, and not of the alphabet
    names = sorted(places, key=lambda name: places[name])
    frame = pl.DataFrame(table, schema={"run": pl.String, "series": pl.String}, orient="row")
    line = pl.col("series").replace_strict(names, range(len(names)), return_dtype=pl.Int32).alias("line")
    return tuple(names), tuple((places[name] or [0])[0] for name in names), frame.with_columns(line)


def _implied_by(axes: pl.DataFrame, leader: str, *, numbers: bool = False) -> list[str]:
    """The axes that are a function of another one, so that its value names theirs already.

    Args:
        axes: of the runs that are drawn.
        leader: the axis that leads.
        numbers: only numbers (d_ff = d), and the choice that the leader is a parameter of.
    """
    leader_values = axes.filter(pl.col("axis") == leader).select("run", pl.col("value").alias("at"))
    others = axes.filter(pl.col("axis") != leader).join(leader_values, on="run")
    values = others.group_by("axis", "at").agg(pl.col("value").n_unique(), pl.col("number").null_count())
    implied = values.group_by("axis").agg(pl.col("value").max() == 1, pl.col("number").max() == 0)
    allowed = pl.col("number") | pl.lit(leader).str.starts_with(pl.col("axis") + ".")
    return implied.filter(pl.col("value") & (allowed if numbers else True))["axis"].to_list()


def unfinished_series(labelled_runs: pl.DataFrame) -> dict[str, str]:
    """Map series with too many diverged runs for a mean to ``no norm (3 of 10 finished)``.

    A single series keeps its name.

    Args:
        labelled_runs: with columns ``series status``. Runs that have not ended do not count.
    """
    ended = labelled_runs.filter(pl.col("status").is_in(["finished", "diverged"]))
    counts = ended.group_by("series", maintain_order=True).agg((pl.col("status") == "finished").sum(), pl.len())
    return {
        name: name if name == SINGLE_SERIES else f"{name} ({finished} of {n} finished)"
        for name, finished, n in counts.iter_rows()
        if finished < FINISHING * n - 1e-9
    }
