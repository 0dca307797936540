"""Table of C (converged) and N (not converged), with a small drawing of the losses behind each cell.

A page has hundreds of these curves. They are drawn here, in integer coordinates, and not by Vega. A cell is a link to
its drawing, so that no script is needed.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

_WIDTH, HEIGHT, _LEFT, _BELOW, _ABOVE = 320, 150, 34, 18, 8
"""Size of a drawing, and its margins left of, below and above the lines."""
_HIGHEST = 2.0
"""The axis ends at most at this multiple of the largest first loss, unless the entropy lies higher."""
_Points = Sequence[tuple[int, float]]


@dataclass(frozen=True)
class Trace:
    """The loss curve of one run on one split.

    Attributes:
        points: (updates, nats), finite.
        split: name of the split.
        converged: whether the run converged.
    """

    points: _Points
    split: str
    converged: bool


@dataclass(frozen=True)
class _Drawing:
    """Lines in the coordinates of the drawing.

    Attributes:
        paths: CSS classes and SVG path of each line.
        level: y of the entropy of the labels, or None.
        top: label of the upper end of the y-axis.
        last: label of the right end of the x-axis.
    """

    paths: tuple[tuple[str, str], ...]
    level: int | None
    top: str
    last: str


@dataclass(frozen=True)
class CellDetails:
    """Losses and judgements of a cell. ``title`` names the cell, and ``says`` holds the sentences about it."""

    stem: str
    title: str
    says: tuple[str, ...]
    drawing: _Drawing


@dataclass(frozen=True)
class MatrixCell:
    """A cell: the printed letter (may be empty), our letter, and how many seeds converged.

    ``mark`` says whether both letters agree, ``says`` is the cell in one sentence, and ``target`` the id of its
    drawing. ``shade`` is the share of seeds that converged, in quarters from 0 to 4. None means that nothing was run.
    """

    printed: str
    ours: str
    seeds: str
    mark: str
    style: str
    says: str
    target: str
    shade: int | None = None


@dataclass(frozen=True)
class MatrixTable:
    """One table whose rows are headed by their learning rates."""

    name: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, tuple[MatrixCell, ...]], ...]


@dataclass(frozen=True)
class Matrix:
    """All tables, the sentences below them, and the details of their cells.

    ``compared`` says whether a source prints letters beside ours.
    """

    blocks: tuple[MatrixTable, ...]
    notes: tuple[str, ...]
    details: tuple[CellDetails, ...]
    compared: bool = True


def draw_traces(traces: Iterable[Trace], entropy: float | None) -> _Drawing:
    """Draw the losses behind a cell on one scale from 0. Values above the scale run along its upper edge."""
    drawable = [trace for trace in traces if trace.points]
    starts = [trace.points[0][1] for trace in drawable] or [1.0]
    highest = max((y for trace in drawable for _, y in trace.points), default=1.0)
    # the level of the labels has to be inside; 1 where every loss is 0
    top = max(min(highest, _HIGHEST * max(starts)), 1.2 * (entropy or 0.0)) or 1.0
    # a run that ended at its start has one point
    last = max((trace.points[-1][0] for trace in drawable), default=0) or 1

    def x(step: int) -> int:
        return _LEFT + round(step / last * (_WIDTH - _LEFT - 4))

    def y(loss: float) -> int:
        return _ABOVE + round((1 - min(loss, top) / top) * (HEIGHT - _ABOVE - _BELOW))

    paths = tuple(
        (
            f"{t.split} {'kept' if t.converged else 'lost'}",
            "M" + "L".join(f"{x(step)},{y(loss)}" for step, loss in t.points),
        )
        for t in drawable
    )
    return _Drawing(paths, None if entropy is None else y(entropy), f"{top:.2g}", f"{last:,}")


def finite_prefix(points: _Points) -> _Points:
    """The points up to the first that is not finite."""
    for place, (_, value) in enumerate(points):
        if not math.isfinite(value):
            return points[:place]
    return points
