"""``Σ_j w_j f(θ_j)``: what a spectrum says in single numbers, from its stored nodes and weights alone.

The K draws of a measurement together are one quadrature, each with the K-th part of the weight (Ubaru, Chen and Saad,
2017). Weights are right whether or not Lanczos was re-orthogonalized, as ghosts share one weight: moments, shares and
the number of eigenvalues beyond a bound count no eigenvalue twice, which a count of nodes would.

A spectrum is of all batches together, or of one ``part`` of them. Draws, parts and seeds are three things: draws bound
the error of an estimate for one matrix, parts show what the data do, and only seeds are replicates.
"""

from typing import Any

import polars as pl

from lnlab.select.quantity import SITE, STATE
from lnlab.tables import Results, table_schema

SPECTRUM_KEYS = (*STATE, "measurement", "operator", "scope")
"""One spectrum. Two probes of one matrix are kept apart, so that nobody averages over the two unawares."""
LOSS_UNIT = "{nats} per {item} and squared parameter"
"""The unit of an eigenvalue of the loss."""


def full_batch_spectra(results: Results) -> pl.DataFrame:
    """The rows of the table ``spectra`` that are of all batches together."""
    return spectra_table(results).filter(pl.col("part").is_null())


def of_density(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows of the table ``spectra`` that are a density: of a budget draw 0, else every draw."""
    keys = [name for name in rows.columns if name in (*SPECTRUM_KEYS, "setting", "model", "part")]
    return rows.filter((pl.col("draw") == 0) | ~(pl.col("draw") == 0).any().over(keys))


def of_moments(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows of the table ``spectra`` whose moments are unbiased: every draw except a budget's density."""
    return rows.filter(pl.col("draw") != 0)


def spectra_table(results: Results) -> pl.DataFrame:
    """The table ``spectra``, empty where nothing wrote it."""
    columns = {name: kind for name, kind in table_schema("spectra").items() if name not in SPECTRUM_KEYS}
    key_types: dict[str, Any] = {name: pl.Int64 if name in ("seed", "step") else pl.String for name in SPECTRUM_KEYS}
    return results.tables.get("spectra", pl.DataFrame(schema=key_types | columns))


def as_spectral_quantity(rows: pl.DataFrame, name: str) -> pl.DataFrame:
    """Rows of a derived quantity without a site, with ``operator`` and ``scope`` as further columns."""
    columns = table_schema("sites")
    null_sites = (pl.lit(None, columns[column]).alias(column) for column in SITE)
    value_columns = [column for column in ("x", "value") if column in rows.columns]
    return rows.select(*STATE, pl.lit(name).alias("quantity"), *null_sites, "operator", "scope", *value_columns)
