"""Where words have room: beside a level line, and at the foot or the head of a panel."""

import math
from collections.abc import Mapping
from itertools import pairwise, product

import polars as pl

_LETTER, _LINE = 5.6, 16
_SIZES = ((310, 230), (780, 340))
"""Pixels of a letter, of a line of text, and of a drawing: on a phone, where room is scarcest, and on a wide page."""


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
    lines = [
        [(a, b) for a, b in rows.sort("x").select("x", "estimate").iter_rows() if b is not None]
        for _, rows in points.group_by("panel", "series", maintain_order=True)
    ]

    def crossings(size: tuple[int, int], *, left: bool, above: bool) -> int:
        width, height = letters * _LETTER / size[0] * (x[1] - x[0]), _LINE / size[1] * (y[1] - y[0])
        start = x[0] if left else x[1] - width
        low = level if above else level - height
        return sum(_passes(line, (start, start + width), (low, low + height)) for line in lines)

    corners = [{"left": left, "above": above} for left, above in product((False, True), (True, False))]
    # the phone decides, and the wide page among corners that are alike there; then the first, right and above
    return min(corners, key=lambda corner: [crossings(size, **corner) for size in _SIZES])


def crowded_at_foot(points: pl.DataFrame, domain: tuple[float, float], share: float) -> bool:
    """Whether lines of a panel go through its foot, and none through its head.

    Args:
        points: ``series estimate`` of one panel.
        domain: ends of the vertical axis, which is logarithmic.
        share: of the panel's height, that foot and head take each.
    """
    low, high = map(math.log, domain)
    height = ((pl.col("estimate").log() - low) / (high - low)).alias("height")
    drawn = points.filter(pl.col("estimate") > 0).select("series", height)
    ends = drawn.group_by("series").agg(pl.col("height").min().alias("lowest"), pl.col("height").max().alias("highest"))
    at_foot = ends.filter((pl.col("lowest") < share) & (pl.col("highest") >= 0))
    at_head = ends.filter((pl.col("highest") > 1 - share) & (pl.col("lowest") <= 1))
    return at_foot.height > 0 and at_head.height == 0


def _passes(line: list[tuple[float, float]], x: tuple[float, float], y: tuple[float, float]) -> bool:
    """Whether a line goes through a rectangle."""
    for (x1, y1), (x2, y2) in pairwise(line):
        left, right = max(x1, x[0]), min(x2, x[1])
        # beside the rectangle, or upright, where its neighbours tell
        if left > right or x1 == x2:
            continue
        at_left, at_right = (y1 + (place - x1) / (x2 - x1) * (y2 - y1) for place in (left, right))
        if min(at_left, at_right) <= y[1] and max(at_left, at_right) >= y[0]:
            return True
    return False
