"""The digest of results: what was measured, and not when, where or how long it took."""

from hashlib import sha256
from io import BytesIO

from lnlab.tables import Results

_RUN_COLUMNS = ("run", "trajectory", "steps", "variant", "seed", "setting", "status", "parameters", "last_finite_loss")


def results_digest(results: Results) -> str:
    """The SHA-256 of runs, axes and every table, whatever the order of their rows: 64 hexadecimal digits."""
    hasher = sha256()
    frames = {"runs": results.runs.select(_RUN_COLUMNS), "axes": results.axes, **results.tables}
    for name, rows in sorted(frames.items()):
        hasher.update(f"{name}\n".encode())
        # as text that tells null from NaN and from empty words, numbers to their last digit
        text = BytesIO()
        rows.sort(rows.columns, nulls_last=False).write_csv(text, quote_style="non_numeric", null_value="null")
        hasher.update(text.getbuffer())
    return hasher.hexdigest()
