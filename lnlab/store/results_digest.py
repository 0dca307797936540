"""The digest of results: what was measured, and not when, where or how long it took."""

from hashlib import sha256
from io import BytesIO

import polars as pl

from lnlab.tables import Results

_RUN_COLUMNS = ("run", "trajectory", "steps", "variant", "seed", "setting", "status", "parameters", "last_finite_loss")


def results_digest(results: Results) -> str:
    """The SHA-256 of runs, axes and every table, whatever the order of their rows: 64 hexadecimal digits."""
    hasher = sha256()
    frames = {"runs": results.runs.select(_RUN_COLUMNS), "axes": results.axes, **results.tables}
    for name, rows in sorted(frames.items()):
        hasher.update(f"{name}\n".encode())
        hasher.update(_text(rows))
    return hasher.hexdigest()


def _text(rows: pl.DataFrame) -> bytes:
    """Rows in order as text that tells null from NaN and from empty words, numbers to their last digit."""
    buffer = BytesIO()
    rows.sort(rows.columns, nulls_last=False).write_csv(buffer, quote_style="non_numeric", null_value="null")
    return buffer.getvalue()
