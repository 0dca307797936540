"""How long 3,150 runs take to be joined, judged and drawn: the shape of yu_convergence's real profile, with 25 seeds.

Two depths, three norms, three widths and seven rates, 570 updates and 11 evaluations each. How a run went is taken
from the committed report of six seeds: its status, its evaluations and its losses, which the report has thinned out and
a straight line joins; each repetition of a seed has noise of its own. The store is filled through the packs' own
writer, then ``lnlab run``, which computes nothing, joins and judges, and ``lnlab report`` draws. Each runs ``repeats``
times on a store without the copy and the verdicts that the one before left. Printed by hand, asserted nowhere.

python benchmarks/judging.py [seeds] [repeats]
"""

import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import polars as pl
from large_store import MACHINE, store_plan, write_packs
from scale import Usage, used_by

from lnlab.app.request import Request
from lnlab.compile.plan import Plan
from lnlab.compile.work import Trajectory
from lnlab.keys import canonical
from lnlab.report.folder import read_folder
from lnlab.store.store import Store

ROOT = Path(__file__).parents[1]
REPORT = ROOT / "reports" / "yu_convergence" / "real"
STEPS, EVERY = 570, 57
NOISE = 0.02
"""Of a loss, so that no two seeds have the same numbers."""


class CommittedRuns:
    """How the runs of the committed report went, by their axes and seed."""

    def __init__(self, plan: Plan) -> None:
        points = {variant: canonical_point(point) for variant, point in plan.points.items()}
        self._place = {run.trajectory: (points[run.variant], run.seed) for run in plan.runs}
        _, results, _ = read_folder(REPORT)
        labels = results.axes.sort("axis").group_by("run").agg(pl.col("value"))
        runs = results.runs.join(labels, on="run")
        self._runs = {(tuple(row["value"]), row["seed"]): row for row in runs.iter_rows(named=True)}
        curves = results.tables["curves"].select("run", "step", "split", "quantity", "value")
        self._curves = {run: rows.drop("run") for (run,), rows in curves.group_by("run", maintain_order=True)}
        self._seeds = max(seed for _, seed in self._runs)

    def __call__(self, unit: Trajectory) -> tuple[pl.DataFrame, Mapping[str, Any]]:
        """The curves and the outcome of a unit."""
        point, seed = self._place[unit.key]
        run = self._runs[point, (seed - 1) % self._seeds + 1]
        committed = self._curves[run["run"]]
        losses = committed.filter(quantity="loss", split="train").sort("step")
        steps = np.arange(run["done"])
        trained = pl.DataFrame({"step": steps, "value": np.interp(steps, losses["step"], losses["value"])})
        trained = trained.select("step", split=pl.lit("train"), quantity=pl.lit("loss"), value="value")
        rows = pl.concat([trained, committed.filter((pl.col("quantity") != "loss") | (pl.col("split") != "train"))])
        noise = 1 + NOISE * np.random.default_rng(int(unit.key[:16], 16)).normal(size=rows.height)
        value = pl.when(pl.col("quantity").is_in(["loss", "nll", "epoch_loss"])).then(pl.col("value") * noise)
        rows = rows.select(
            pl.lit(unit.key).alias("trajectory"), "step", "split", "quantity", value.otherwise(pl.col("value"))
        )
        ended = {name: run[name] for name in ("status", "reason", "last_finite_loss", "parameters", "seconds")}
        return rows, {"trajectory": unit.key, "steps": run["done"], **ended, **MACHINE}


def canonical_point(point: Mapping[str, object]) -> tuple[str, ...]:
    """The values of a variant's axes in the order of their names, as the table ``axes`` has them."""
    return tuple(canonical(point[axis]) for axis in sorted(point))


def main(seeds: int, repeats: int) -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        spec = Path(shutil.copy(ROOT / "specs" / "yu_convergence.yaml", folder))
        train = f"train={{steps: {STEPS}, evaluate: {{every: {EVERY}}}, stop: {{kind: loss_above, times: 120}}}}"
        overrides = (train, f"seeds={seeds}")
        store = Store(folder / "store")
        plan = store_plan(store, Request(spec, overrides=overrides))
        write_packs(store.root, plan.trajectories, CommittedRuns(plan))
        words = [word for override in overrides for word in ("-s", override)]
        measured: dict[str, list[Usage]] = {}
        for number in range(repeats):
            copy = shutil.copytree(store.root, folder / f"store{number}")
            for verb, more in {"run": ["-q"], "report": ["-q", "--out", str(folder / f"page{number}")]}.items():
                used = used_by(verb, str(spec), *words, "--store", str(copy), *more)
                measured.setdefault(verb, []).append(used)
                print(f"{verb} of {len(plan.runs):,} runs: {used}", flush=True)
        totals = [sum(each, Usage()) for each in zip(*measured.values(), strict=True)]
        print(f"judging and page of {len(plan.runs):,} runs: median {Usage.median(totals)} of {repeats}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 25, int(sys.argv[2]) if len(sys.argv) > 2 else 3)
