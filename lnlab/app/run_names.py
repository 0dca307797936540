"""What a run is called: its axes and its seed."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl


def run_names(runs: "pl.DataFrame", axes: "pl.DataFrame") -> dict[str, str]:
    """Run -> its name in words: ``placement=post model.layers=6, seed 3``."""
    points: dict[str, list[str]] = {}
    for run, axis, label in axes.select("run", "axis", "label").iter_rows():
        points.setdefault(run, []).append(f"{axis}={label}")
    return {
        run: ", ".join([*filter(None, [" ".join(points.get(run, []))]), f"seed {seed}"])
        for run, seed in runs.select("run", "seed").iter_rows()
    }
