"""The digest of results: what was measured, and not when, where or how long it took."""

from hashlib import sha256

from lnlab.row_digests import digest_of_rows
from lnlab.tables import Results

_RUN_COLUMNS = ("run", "trajectory", "steps", "variant", "seed", "setting", "status", "parameters", "last_finite_loss")


def results_digest(results: Results) -> str:
    """The SHA-256 of runs, axes and every table, whatever the order of their rows: 64 hexadecimal digits."""
    frames = {"runs": results.runs.select(_RUN_COLUMNS), "axes": results.axes, **results.tables}
    lines = [f"{name} {digest_of_rows(rows)}\n" for name, rows in sorted(frames.items())]
    return sha256("".join(lines).encode()).hexdigest()
