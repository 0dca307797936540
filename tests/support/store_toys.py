"""Plans and rows that cost nothing: what is measured is a function of the key alone."""

import time

from lnlab.compile.plan import Plan
from lnlab.compile.work import Measurement, Run, Trajectory
from lnlab.keys import digest

PROBES = ({"kind": "norm", "batches": 2}, {"kind": "size", "batches": 1})
VERSIONS = '{"torch":"none"}'


def trajectory_of(depth, seed, probes=PROBES):
    key = digest(["trajectory", depth, seed])
    due = tuple(Measurement(digest([key, 0, probe]), 0, probe) for probe in probes)
    return Trajectory(key, seed, {"model": {"layers": depth}}, 0, due)


def plan_of(variants=2, seeds=2, probes=PROBES, name="toy", quick="quick"):
    trajectories, runs, needs, settings, points = [], [], [], {}, {}
    for depth in range(1, variants + 1):
        variant = digest(["variant", depth])
        settings[variant] = {"model": {"layers": depth}}
        points[variant] = {"model.layers": depth, "norm": {"kind": "rms", "eps": 1e-6}, "placement": "post"}
        for seed in range(1, seeds + 1):
            trajectory = trajectory_of(depth, seed, probes)
            run = Run(digest([trajectory.key, 0]), trajectory.key, 0, variant, seed)
            trajectories.append(trajectory)
            runs.append(run)
            needs += [(run.key, 0, each.probe, each.key) for each in trajectory.measurements]
    return Plan(
        name=name,
        digest=digest([name, variants, seeds, list(probes)]),
        quick=quick,
        experiment=None,
        profile=None,
        overrides=(),
        axes=("model.layers", "norm", "placement"),
        settings=settings,
        points=points,
        runs=tuple(runs),
        trajectories=tuple(trajectories),
        needs=tuple(needs),
        pins=(),
        claims=(),
        sections=(),
    )


def rows_of(measurement):
    """Three rows that the key alone decides, one of them a NaN."""
    number = int(measurement.key[:8], 16)
    values = [float("nan"), number / 7, number * 1e-300]
    return [
        {"measurement": measurement.key, "quantity": measurement.probe["kind"], "layer": n + 1, "value": value}
        for n, value in enumerate(values)
    ]


def outcome_of(trajectory, status="finished", reason=None, seconds=None):
    return {
        "trajectory": trajectory.key,
        "steps": 0,
        "status": status,
        "reason": reason,
        "last_finite_loss": None,
        "parameters": 12,
        "seconds": time.perf_counter() if seconds is None else seconds,
        "device": "cpu",
        "versions": VERSIONS,
    }


def record(store, trajectory, status="finished", reason=None, only=None):
    """Do what a worker would: open, see what is missing, write, commit. Returns the keys taken, None if held."""
    unit = store.open_unit(trajectory.key)
    if unit is None:
        return None
    missing = unit.missing([each.key for each in trajectory.measurements if only is None or each in only])
    if not missing and trajectory.measurements:
        unit.abandon()
        return []
    for measurement in trajectory.measurements:
        if measurement.key in missing and status == "finished":
            unit.write("sites", rows_of(measurement))
    unit.commit(missing if status == "finished" else [], outcome_of(trajectory, status, reason))
    return missing


def record_all(store, plan):
    for trajectory in plan.trajectories:
        record(store, trajectory)
