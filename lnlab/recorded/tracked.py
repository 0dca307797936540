"""A run as a tracker keeps it, as rows of a table: one a step, its settings in each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from lnlab.keys import Json

_OWN_COLUMNS = ("run_name", "step", "status")


@dataclass(frozen=True)
class TrackedFolder:
    """A run in the folder of a tracker.

    Attributes:
        name: that the tracker shows.
        settings: its parameters by name.
        points: ``name step value``, one row a point of a metric. Of two points of one metric and step the later counts.
        files: what was read, with the bytes.
        status: the tracker's word for how it ended, or None if it keeps none.
    """

    name: str
    settings: Mapping[str, Json]
    points: pl.DataFrame
    files: Sequence[tuple[Path, bytes]]
    status: str | None = None

    def rows(self, named: Mapping[str, Json]) -> pl.DataFrame:
        """One row a step: ``run_name``, ``step``, a column for each metric and each setting, and how the run ended.

        A metric with the name of one of lnlab's columns is ``metrics.NAME``. A setting with the name of a metric or of
        one of these columns is ``params.NAME``.

        Args:
            named: values that the run's name gives. They win over settings of the same name.
        """
        free = self.points.with_columns(pl.col("name").replace({name: f"metrics.{name}" for name in _OWN_COLUMNS}))
        wide = free.pivot("name", index="step", values="value", aggregate_function="last")
        cells: dict[str, Json] = {"run_name": self.name}
        if self.status is not None:
            cells["status"] = self.status
        for name, value in {**self.settings, **named}.items():
            # A parameter such as `loss: mse` stands beside the metric of that name.
            cells[f"params.{name}" if name in wide.columns or name in _OWN_COLUMNS else name] = value
        return wide.with_columns(pl.lit(value).alias(name) for name, value in cells.items()).sort("step")
