"""Where a word has room beside a level line: the corner through which the fewest lines go."""

from collections.abc import Mapping
from itertools import pairwise, product

import polars as pl

_LETTER, _LINE, _WIDTH, _HEIGHT = 5.6, 16, 780, 340
"""Pixels of a letter, of a line of text, and of a drawing."""


def roomiest_corner(
    points: pl.DataFrame, level: float, letters: int, x: tuple[float, float], y: tuple[float, float]
) -> Mapping[str, bool]:
    """Whether the name of a level stands at its left end, and whether it stands above it.

    Args:
        points: ``panel series x estimate``: corners of the lines that are drawn.
        level: on the vertical axis, which is linear.
        letters: of the name.
        x: ends of the horizontal axis.
        y: ends of the vertical axis.
    """
    width, height = letters * _LETTER / _WIDTH * (x[1] - x[0]), _LINE / _HEIGHT * (y[1] - y[0])
    lines = [
        [(a, b) for a, b in rows.sort("x").select("x", "estimate").iter_rows() if b is not None]
        for _, rows in points.group_by("panel", "series", maintain_order=True)
    ]

    def crossings(*, left: bool, above: bool) -> int:
        start = x[0] if left else x[1] - width
        low = level if above else level - height
        return sum(_passes(line, (start, start + width), (low, low + height)) for line in lines)

    corners = [{"left": left, "above": above} for left, above in product((False, True), (True, False))]
    return min(corners, key=lambda corner: crossings(**corner))


def _passes(line: list[tuple[float, float]], x: tuple[float, float], y: tuple[float, float]) -> bool:
    """Whether a line goes through a rectangle."""
    for (x1, y1), (x2, y2) in pairwise(line):
        left, right = max(x1, x[0]), min(x2, x[1])
        if left > right or x1 == x2:
            continue
        at_left, at_right = (y1 + (place - x1) / (x2 - x1) * (y2 - y1) for place in (left, right))
        if min(at_left, at_right) <= y[1] and max(at_left, at_right) >= y[0]:
            return True
    return False
