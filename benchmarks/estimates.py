"""Estimate against actual, spec by spec: time, and the peak memory of a worker where it was measured.

lnlab run specs/*.yaml --profile smoke --store STORE; python benchmarks/estimates.py STORE [STORE ...]

The estimate is that of `lnlab plan` on an empty store, by the speed of this machine alone; the actual time is what the
units of the store took one worker. A trajectory that several specs share counts once, with what all of them measured,
under the spec run last. A store that another machine filled tells of that machine.
"""

import json
import sys
from pathlib import Path
from typing import Any

import polars as pl
from lnlab.store.records.peaks import read_peaks

from lnlab.app.planning.machine_speed import machine_speed
from lnlab.compile.cost.cost import cost
from lnlab.compile.cost.memory import LIBRARIES
from lnlab.compile.work import Measurement
from lnlab.record.registries import load_registries
from lnlab.store.plans import StoredPlan, plans_newest_first
from lnlab.store.store import Store


def finished_units(store: Store, stored: StoredPlan) -> dict[str, dict[str, Any]]:
    """Trajectory -> its setting, what was measured of it by key, and what it took."""
    results, peaks = store.results(stored.digest), read_peaks(store.root, stored.digest)
    needs: dict[str, dict[str, Measurement]] = {}
    for run, step, probe, key in results.tables["needs"].select("run", "step", "probe", "measurement").iter_rows():
        needs.setdefault(run, {})[key] = Measurement(key, step, json.loads(probe))
    name = f"{stored.name}, {stored.profile or 'default'}" + (", tuning" if stored.undecided else "")
    runs = results.runs.filter(status="finished").select("run", "trajectory", "setting", "seconds")
    return {
        key: {"name": name, "setting": setting, "seconds": seconds, "needs": needs.get(run, {}), "peak": peaks.get(key)}
        for run, key, setting, seconds in runs.iter_rows()
    }


def main(roots: list[str]) -> None:
    known, speed = load_registries(()), machine_speed()
    print(f"this machine: overhead {speed.overhead:.2f} of the reference, {speed.flops / 1e9:.1f} GFLOP a second")
    plans = [(store, stored) for store in map(Store, map(Path, roots)) for stored in plans_newest_first(store.root)]
    units: dict[tuple[Path, str], dict[str, Any]] = {}
    for store, stored in plans:
        for key, unit in finished_units(store, stored).items():
            shared = units.setdefault((store.root, key), unit)
            shared["needs"] |= unit["needs"]
    rows = []
    for unit in units.values():
        estimate = cost(json.loads(unit["setting"]), list(unit["needs"].values()), known)
        most = estimate.peak_bytes + LIBRARIES
        rows.append((unit["name"], estimate.seconds(speed), unit["seconds"], estimate.flops, most, unit["peak"]))
    sums = ("estimate", "actual", "flops")
    schema = {"spec": pl.String, **dict.fromkeys((*sums, "most", "peak"), pl.Float64)}
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    # the peak of a unit is its worker's since it was started, so that only the largest of a spec can be compared
    table = frame.group_by("spec", maintain_order=True).agg(
        pl.len().alias("units"), pl.col(sums).sum(), peak=pl.col("most").max() / pl.col("peak").max()
    )
    table = table.with_columns(ratio=pl.col("estimate") / pl.col("actual")).sort("ratio")
    print(f"{'spec':36s} {'units':>6s} {'estimate':>10s} {'actual':>10s} {'ratio':>6s} {'GFLOP':>8s} {'peak':>6s}")
    for row in table.iter_rows(named=True):
        peak = f"{row['peak']:6.2f}" if row["peak"] is not None else ""
        print(
            f"{row['spec']:36s} {row['units']:6d} {row['estimate']:8.1f} s {row['actual']:8.1f} s {row['ratio']:6.2f} "
            f"{row['flops'] / 1e9:8.3g} {peak}"
        )
    within = table.select(pl.col("ratio").is_between(0.5, 2).mean()).item()
    print(f"time within a factor of 2: {within:.0%} of {table.height} specs and profiles")
    peaks = table["peak"].drop_nulls()
    if not peaks.is_empty():
        print(f"peak memory, estimate to actual: at least {peaks.min():.2f} in {len(peaks)} specs and profiles")


if __name__ == "__main__":
    main(sys.argv[1:])
