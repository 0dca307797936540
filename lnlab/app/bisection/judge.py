"""The verdict of one claim under a spec that nobody wrote: on rows that are at hand, or on the few runs it needs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import polars as pl

from lnlab.analyse.select.select import runs_with
from lnlab.analyse.select.settings import NothingSelected
from lnlab.app.comparison.sides import Side
from lnlab.app.compute import decide_open_choices, worker_count
from lnlab.app.python_request import request_of
from lnlab.app.request import compile_request
from lnlab.app.rounds.sources import compute_sources, with_weights
from lnlab.app.rounds.units import RunOptions, unit_seconds
from lnlab.claims.claim import Claim, Verdict, judge_all
from lnlab.claims.claim_scope import results_of_claim
from lnlab.compile.decisions import Decision
from lnlab.compile.plan import Plan
from lnlab.errors import LabError, Problem
from lnlab.execute.machine import ThisMachine
from lnlab.execute.registry_loader import RegistryLoader
from lnlab.execute.scheduler import sweep
from lnlab.keys import Json
from lnlab.registry import Roots
from lnlab.report.held_rows import are_covered, claim_selections, complete_selections
from lnlab.report.question import claims_with_choices
from lnlab.store.plans import plan_frames
from lnlab.tables import ENDED_STATUSES, Results

if TYPE_CHECKING:
    from lnlab.app.request import Registries, Request
    from lnlab.store.store import Store


@dataclass
class ClaimJudge:
    """Judges a claim under one spec after the other.

    Attributes:
        claim: its id.
        profile: of the specs, or None for the default.
        known: the registries of both wings.
        store: where runs are put that are not at hand.
        sides: whose rows are at hand.
        options: how runs are computed.
        roots: where data are looked for.
        units: how many units were computed so far.
    """

    claim: str
    profile: str | None
    known: "Registries"
    store: "Store"
    sides: Sequence[Side]
    options: RunOptions
    roots: Roots
    units: int = field(default=0)

    def plan(self, spec: Mapping[str, Json]) -> tuple[Plan, Claim]:
        """What the claim needs of a spec, every choice decided, and the claim, resolved.

        Raises:
            SpecError: the spec is wrong, as one may be that has a part of the changes only.
            LabError: the claim is about verdicts, and not about rows.
        """
        request = request_of(dict(spec), self.profile, (), ())
        decisions = tuple[Decision, ...]()
        while True:
            plan, _ = compile_request(request, self.known, decisions)
            if not plan.undecided:
                break
            self._compute(plan, request)
            decisions = (*decisions, *decide_open_choices(plan, self.store))
        claims = claims_with_choices(plan.experiment, zip(plan.experiment.claims, plan.claims, strict=True))
        claim = next((entry for entry in claims if entry["id"] == self.claim), None)
        if claim is None or not claim_selections(claim):
            what = "is not in this spec" if claim is None else "is judged from verdicts of other claims"
            raise LabError(Problem(f"claims.{self.claim}", what, "name a claim that reads rows on both sides"))
        return restricted(plan, claim), claim

    def verdict(self, spec: Mapping[str, Json]) -> Verdict:
        """The verdict of the claim under a spec.

        Raises:
            SpecError: the spec is wrong.
        """
        plan, claim = self.plan(spec)
        results = next((rows for side in self.sides if (rows := rows_at_hand(side, plan, claim))), None)
        if results is None:
            self._compute(plan, request_of(dict(spec), self.profile, (), ()))
            results = self.store.found(plan)
        return judge_all([claim], results)[0]

    def _compute(self, plan: Plan, request: "Request") -> None:
        """Compute what the store lacks of a plan."""
        units = [unit for unit, _ in self.store.pending(plan)]
        if not units:
            return
        before = compute_sources(
            self.store, plan, units, request, self.known, self.options, ThisMachine(self.options.workers)
        )
        if before is not None and before.interrupted:
            raise KeyboardInterrupt
        units = with_weights(self.store, plan, units)
        summary = sweep(
            units,
            self.store.open_unit,
            RegistryLoader(request.plugins),
            roots=self.roots,
            workers=min(worker_count(self.options.workers), len(units)),
            costs=unit_seconds(units, self.known),
            save_every=self.options.save_every,
        )
        self.units += summary.ended.total() - summary.elsewhere
        if summary.interrupted:
            raise KeyboardInterrupt


def restricted(plan: Plan, claim: Claim) -> Plan:
    """The runs that a claim selects, with all that is measured of them."""
    frames = plan_frames(plan)
    every_run = Results(frames["runs"].with_columns(status=pl.lit(None, pl.String)), frames["axes"])
    results = results_of_claim(claim, every_run)
    try:
        selected = {run for s in claim_selections(claim) for run in runs_with(results, s)["run"]}
    except NothingSelected:  # the claim's verdict says so
        selected = set(results.runs["run"])
    return plan.restricted_to(selected)


def rows_at_hand(side: Side, plan: Plan, claim: Claim) -> Results | None:
    """The rows of a side, where it certainly has all that the claim reads of this plan."""
    results = side.results
    if results is None or not are_covered(claim_selections(claim), complete_selections(side.kept_rows)):
        return None
    planned = pl.Series([run.key for run in plan.runs], dtype=pl.String)
    runs = results.runs.filter(pl.col("run").is_in(planned.implode()), pl.col("status").is_in(ENDED_STATUSES))
    if not planned.len() or runs.height < planned.len():
        return None
    frames = plan_frames(plan)
    outcomes = runs.drop([name for name in frames["runs"].columns if name != "run"])
    tables = {name: rows.filter(pl.col("run").is_in(planned.implode())) for name, rows in results.tables.items()}
    joined = frames["runs"].join(outcomes, on="run", how="left", maintain_order="left")
    return Results(joined, frames["axes"], tables, results.evidence)
