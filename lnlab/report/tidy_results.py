"""What ``lnlab.results`` returns: the tables of a plan, and any quantity of them as one frame."""

from dataclasses import dataclass

import polars as pl

from lnlab.tables import Results


@dataclass(frozen=True)
class TidyResults(Results):
    """Results for whoever reads their numbers: any quantity as one frame."""

    @classmethod
    def of(cls, results: Results) -> "TidyResults":
        """The same rows."""
        return cls(**{name: getattr(results, name) for name in ("runs", "axes", "tables", "evidence", "scans")})

    def frame(self, name: str | None = None) -> pl.DataFrame:
        """The rows of a quantity, stored or derived, beside the settings that tell runs apart.

        Args:
            name: of a quantity, or a table: ``runs``, ``histograms``, ``spectra`` or ``texts``. None means every stored
                number.

        Returns:
            a column for each axis of the sweep (numbers where all its values are), ``seed``, ``step``, what the table
            says of the place, and ``value`` in the unit of the quantity.

        Raises:
            LabError: nothing of that name was measured, nor can be derived.
        """
        from lnlab.report.tidy import tidy_rows  # late: results are read without what names and derives quantities

        return tidy_rows(self, name).collect()
