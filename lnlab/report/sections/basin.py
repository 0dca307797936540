"""A number of whole runs against the learning rate: how wide the basin is, where its floor lies, and where runs end."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import polars as pl

from lnlab.keys import Json
from lnlab.report.charts import learning_rate_basin, theme
from lnlab.report.charts.axes import Axis, levels, linear
from lnlab.report.data.basin_runs import Best, Runs, judged_runs, tuning_runs
from lnlab.report.data.labels import ALONE
from lnlab.report.data.series import replicates
from lnlab.report.section import Chart, Section, sections
from lnlab.report.words.wording import definition, listing, plain, short, unit
from lnlab.report.words.wording import quantity as called
from lnlab.tables import Results

_NAMED = 3
"""Series whose best place a heading has room for."""
_CALLED = {"lr": "learning rate", "batch_sentences": "batch size"}
ROW = 0.07
"""The height of a row of crosses, as a share of the axis."""


@sections.register("basin")
def basin(
    results: Results,
    decisions: Sequence[Mapping[str, Json]] = (),
    *,
    quantity: str = "final_nll",
    where: dict[str, Json] | None = None,
    over: str = "optimizer.lr",
    best: Best = "lowest",
) -> Section:
    """``median over seeds of the quantity at each learning rate``: runs as dots, and where runs diverged, how many.

    A run that diverged ranks worst. ``over`` may be another path of the setting; ``best`` says which end of the
    quantity is good. The heading says where the optimum lies, and whether that is an edge of the grid. Where ``over``
    was chosen on tuning seeds, the tuning runs are drawn, a line per decision, with the chosen value marked.

    Raises:
        ReportError: another quantity than ``final_nll`` of tuning runs.
    """
    selection = {"quantity": quantity, **(where or {})}
    found = tuning_runs(decisions, results, selection, over) or judged_runs(results, selection, over, best)
    if found.seeds.is_empty():
        return Section(
            f"Nothing of the {called(quantity)} has been measured yet", missing=found.missing, rows=found.rows
        )
    finding = _finding(found, over, best)
    return Section(finding, (_chart(found, quantity, over, best, finding),), (), found.missing, found.rows)


def _chart(found: Runs, quantity: str, over: str, best: Best, finding: str) -> Chart:
    log = min(found.points["x"]) > 0
    across = levels(f"{_word(over)}{' (log scale)' if log else ''}", found.points["x"], log=log, room=0.08)
    rows = [name for name in found.names if name in set(found.gone["series"])]
    y = _vertical(found, quantity, len(rows), best)
    numbers = {"estimate": f"median {called(quantity)}", "low": "lowest", "high": "highest", "n": "runs"}
    return Chart(
        learning_rate_basin.basin(
            across, y, theme.look(found.names, found.families), _crosses(found, rows, y, best), found.chosen
        ),
        found.points,
        found.seeds,
        {"series": "variant", "x": _word(over), **numbers},
        f"Line chart of the {unit(quantity)}, against the {across.title}. {finding}.",
        _caption(found, quantity, over, best),
        log=False,
        statistic="median",
    )


def _word(over: str) -> str:
    """``learning rate`` for ``optimizer.lr``, ``batch size`` for ``task.batch_sentences``."""
    word = over.rpartition(".")[2]
    return _CALLED.get(word, word.replace("_", " "))


def _vertical(found: Runs, quantity: str, rows: int, best: Best) -> Axis:
    """An axis over all finite numbers, with room for rows of crosses on its bad side."""
    finite = [value for value in found.seeds["value"] if math.isfinite(value)] or [0.0, 1.0]
    axis = linear(unit(quantity), finite)
    low, high = axis.domain
    room = (rows + 0.5) * ROW * (high - low) if rows else 0.0
    return replace(axis, domain=(low, high + room) if best == "lowest" else (low - room, high))


def _crosses(found: Runs, rows: Sequence[str], y: Axis, best: Best) -> list[dict[str, Json]]:
    """A row of crosses for each series that lost runs."""
    low, high = y.domain
    step = ROW * (high - low) / (1 + (len(rows) + 0.5) * ROW)
    start, sign = (high, -1) if best == "lowest" else (low, 1)
    return [
        {"series": name, "x": x, "y": start + sign * (rows.index(name) + 0.5) * step, "label": f"{gone}/{runs}"}
        for name, x, gone, runs in found.gone.select("series", "x", "gone", "runs").iter_rows()
    ]


def _caption(found: Runs, quantity: str, over: str, best: Best) -> str:
    said = f"{definition(quantity)} against the {_word(over)}. Dots are {found.dots}, lines join their medians"
    said += f" ({replicates(found.points)})."
    if found.gone.is_empty():
        return said
    edge = "top" if best == "lowest" else "bottom"
    return (
        f"{said} Crosses at the {edge} tell how many of how many runs diverged; they rank worst, and where they are "
        "half of the runs the median is not drawn."
    )


def _finding(found: Runs, over: str, best: Best) -> str:
    """Where each series is best, and whether that is an edge of its grid."""
    places = {name: place for name in found.names if (place := _best(found, name, best))}
    none = [name for name in found.names if name not in places]
    said = [_told(name, *place, over) for name, place in places.items()]
    if len(said) > _NAMED:
        low, high = (pick(places, key=lambda name: places[name][0]) for pick in (min, max))
        edges = [name for name, (_, _, edge) in places.items() if edge]
        ends = f"the best {_word(over)} goes from {plain(places[low][0])} ({low}) to {plain(places[high][0])} ({high})"
        if places[low][0] == places[high][0]:
            ends = f"the best {_word(over)} is {plain(places[low][0])} in each of {len(said)} variants"
        lie = f"{len(edges)} of {len(said)} {'lies' if len(edges) == 1 else 'lie'} on the edge of the grid"
        said = [ends, lie] if edges else [ends]
    if none:
        who = "" if none == [ALONE] else f" of {listing(none)}" if len(none) <= _NAMED else f" of {len(none)} variants"
        said.append(f"half of the runs{who} diverged at every {_word(over)}")
    text = "; ".join(said)
    return text[:1].upper() + text[1:]


def _told(name: str, x: float, value: float, edge: str, over: str) -> str:
    who = "the best" if name == ALONE else f"{name} is best at the"
    where = f"{_word(over)} {'is' if name == ALONE else ''} {plain(x)}".replace("  ", " ")
    at = f", the {edge} of the grid: the optimum may lie beyond it" if edge else ""
    return f"{who} {where} ({short(value)}){at}"


def _best(found: Runs, name: str, best: Best) -> tuple[float, float, str] | None:
    """The x of the best median, that median, and which edge of the grid that is, if any."""
    line = found.points.filter(pl.col("series") == name)
    known = line.drop_nulls("estimate").sort("estimate", descending=best == "highest", maintain_order=True)
    if known.is_empty():
        return None
    x, value = known.select("x", "estimate").row(0)
    ends = {line["x"].min(): "smallest", line["x"].max(): "largest"}
    return x, value, ends.get(x, "") if line["x"].n_unique() > 1 else ""
