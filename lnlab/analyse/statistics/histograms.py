"""``count / (values · width)``: the density of values in bins that are equally wide, on the axis or in decades."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

_ALONE = 0.5
"""Half the width that the bins span where all values are the same."""


@dataclass(frozen=True)
class HistogramBins:
    """Bins of one width, in decades with ``log``.

    Attributes:
        edges: rising, one more than there are bins.
        log: whether edges are decimal logarithms.
    """

    edges: np.ndarray
    log: bool

    @property
    def width(self) -> float:
        """The width of each bin."""
        return float(self.edges[1] - self.edges[0])

    @property
    def middles(self) -> np.ndarray:
        """The middle of each bin as a value, with an empty bin before the first and one after the last."""
        inner = (self.edges[1:] + self.edges[:-1]) / 2
        positions = np.concatenate(([inner[0] - self.width], inner, [inner[-1] + self.width]))
        values: np.ndarray = 10**positions if self.log else positions
        return values

    def density(self, values: Sequence[float] | np.ndarray) -> np.ndarray:
        """The share of the values in each bin over its width, at ``middles``. In both added bins it is 0.

        Values beyond the edges, and values <= 0 on a log axis, are in no bin and count in the number of values. With
        them the density integrates to less than 1.
        """
        x = np.asarray(values, dtype=float)
        counts, _ = np.histogram(_positions(x, log=self.log), self.edges)
        return np.concatenate(([0.0], counts / (x.size * self.width), [0.0]))


def equal_bins(values: Sequence[float] | np.ndarray, bins: int, *, log: bool) -> HistogramBins:
    """Equal bins from the smallest value to the largest. With ``log``, only positive values count.

    Raises:
        ValueError: there is no such value, or one is not finite.
    """
    x = np.asarray(values, dtype=float)
    if not np.isfinite(x).all() or not (positions := _positions(x, log=log)).size:
        raise ValueError(f"found {x.size} values, expected finite ones that have a place on the axis")
    low, high = float(positions.min()), float(positions.max())
    margin = _ALONE if low == high else 0.0
    return HistogramBins(np.linspace(low - margin, high + margin, bins + 1), log)


def _positions(x: np.ndarray, *, log: bool) -> np.ndarray:
    """Positions on the axis. With ``log``, values <= 0 have none, so that fewer may be returned."""
    positions: np.ndarray = np.log10(x[x > 0]) if log else x
    return positions
