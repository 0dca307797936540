"""A table of C and N, and small drawings of the losses behind each cell: for one page only.

A page has hundreds of these curves, so that they are drawn here, on whole points, and not by Vega. Which drawing is
seen follows from the address of the page alone: a cell is a link, and no script is needed.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

_WIDTH, HEIGHT, _LEFT, _BELOW, _ABOVE = 320, 150, 34, 18, 8
"""Of a drawing, and of what is left of, below and above its lines."""
_HIGHEST = 2.0
"""Times the largest first loss: no line goes higher than that."""
_Points = Sequence[tuple[int, float]]


@dataclass(frozen=True)
class Trace:
    """A loss of one run.

    Attributes:
        points: (updates, nats), finite.
        split: that it is of.
        converged: whether the run has.
    """

    points: _Points
    split: str
    converged: bool


@dataclass(frozen=True)
class _Drawing:
    """Lines in points of the drawing, ready for a page.

    Attributes:
        paths: what a line is called by a style sheet, and where it goes.
        level: how high the entropy of the labels lies, or None.
        top: what the highest point means, as text.
        last: what the rightmost means, as text.
    """

    paths: tuple[tuple[str, str], ...]
    level: int | None
    top: str
    last: str


@dataclass(frozen=True)
class CellDetails:
    """The losses and judgements of a cell: ``says`` in sentences, ``title`` which cell it is."""

    stem: str
    title: str
    says: tuple[str, ...]
    drawing: _Drawing


@dataclass(frozen=True)
class MatrixCell:
    """A cell: the printed letter or nothing, ours, of how many seeds, whether they agree, a sentence, and a link.

    ``shade`` is the share of seeds that converged, from 0 to 4 in quarters; None where nothing was run.
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
    """One table; each row is headed by its rate."""

    name: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, tuple[MatrixCell, ...]], ...]


@dataclass(frozen=True)
class Matrix:
    """All tables, what is below them in sentences, and the details of their cells.

    ``compared`` is whether a source prints letters beside ours.
    """

    blocks: tuple[MatrixTable, ...]
    notes: tuple[str, ...]
    details: tuple[CellDetails, ...]
    compared: bool = True


def draw_traces(traces: Iterable[Trace], entropy: float | None) -> _Drawing:
    """The losses behind a cell, on one scale from 0; what lies above it goes along its upper edge."""
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
