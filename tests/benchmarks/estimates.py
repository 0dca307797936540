"""Estimate against actual, spec by spec: time, and the peak memory of a worker where it was measured.

lnlab run specs/*.yaml --profile smoke --store STORE; python tests/benchmarks/estimates.py STORE [STORE ...]

The estimate is that of `lnlab plan` on an empty store, by the speed of this machine alone; the actual time is what the
units of the store took one worker. A store that another machine filled tells of that machine.
"""

import json
import sys
from pathlib import Path

import polars as pl

from lnlab.app.planning.analysis import read_peaks
from lnlab.app.planning.machine_speed import machine_speed
from lnlab.app.request import load_registries
from lnlab.compile.cost.cost import cost
from lnlab.compile.cost.memory import LIBRARIES
from lnlab.compile.work import Measurement
from lnlab.store.plans import plans_newest_first
from lnlab.store.store import Store


def main(roots: list[str]) -> None:
    known, speed = load_registries(()), machine_speed()
    print(f"this machine: overhead {speed.overhead:.2f} of the reference, {speed.flops / 1e9:.1f} GFLOP a second")
    rows, seen = [], set()
    for store in map(Store, map(Path, roots)):
        for stored in plans_newest_first(store.root):
            if (stored.name, stored.profile, stored.undecided) in seen:
                continue
            seen.add((stored.name, stored.profile, stored.undecided))
            results, peaks = store.results(stored.digest), read_peaks(store, stored.digest)
            needs: dict[str, list[Measurement]] = {}
            columns = results.tables["needs"].select("run", "step", "probe", "measurement")
            for run, step, probe, key in columns.iter_rows():
                needs.setdefault(run, []).append(Measurement(key, step, json.loads(probe)))
            units = results.runs.filter(status="finished").unique("trajectory", maintain_order=True)
            for run, key, setting, seconds in units.select("run", "trajectory", "setting", "seconds").iter_rows():
                unit = cost(json.loads(setting), needs.get(run, []), known)
                peak = unit.peak_bytes + LIBRARIES
                name = f"{stored.name}, {stored.profile or 'default'}" + (", tuning" if stored.undecided else "")
                rows.append(
                    (name, unit.seconds(speed), seconds, unit.flops, peak / peaks[key] if key in peaks else None)
                )
    schema = {"spec": pl.String, "estimate": pl.Float64, "actual": pl.Float64, "flops": pl.Float64, "peak": pl.Float64}
    units = pl.DataFrame(rows, schema=schema, orient="row")
    table = units.group_by("spec", maintain_order=True).agg(
        pl.len().alias("units"), pl.col("estimate", "actual", "flops").sum(), pl.col("peak").min()
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
    peaks_known = [row[-1] for row in rows if row[-1] is not None]
    if peaks_known:
        print(f"peak memory, estimate to actual: at least {min(peaks_known):.2f} in {len(peaks_known)} units")


if __name__ == "__main__":
    main(sys.argv[1:])
