"""The facts that rules read: claims, the runs that they are about, what was tuned, and, of a report, the verdicts.

A plan and a report have the same facts. Before the runs there are no rows and no verdicts.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import polars as pl

from lnlab.analyse.quantities.training import final_losses
from lnlab.claims.claim import Claim, Verdict
from lnlab.claims.claim_scope import results_of_claim, selections_of_claim
from lnlab.claims.order_chain import parse_order
from lnlab.compile.decisions import TuningCandidate, TuningQuestion
from lnlab.errors import LabError
from lnlab.keys import Json
from lnlab.select.quantity import quantity_fact
from lnlab.select.select import runs_with
from lnlab.select.settings import settings_of
from lnlab.specfile.columns import COLUMNS, METHOD, TIMES
from lnlab.specfile.expressions import named_parts
from lnlab.specfile.values import matches
from lnlab.tables import Results

_LOSSES = ("final_nll", "best_lr_nll", "best_nll_of_run", "nll", "loss")
_NAMING = (METHOD, "placement", "norm", "optimizer.lr", TIMES)


@dataclass(frozen=True, kw_only=True)
class Tuning(TuningQuestion):
    """One choice on tuning seeds, made or still to be made.

    Attributes:
        candidates: in the order of their values. Before the runs without scores and losses.
        where: further conditions that the runs meet for which it is chosen.
        of: the runs that decide, where they are not those that it is for.
        chosen: the value, or None before the runs.
    """

    candidates: tuple[TuningCandidate, ...]
    where: Mapping[str, Json] = field(default_factory=dict)
    of: Mapping[str, Json] = field(default_factory=dict)
    chosen: Json = None

    @property
    def kind(self) -> str:
        """The kind of the rule that chooses."""
        return str(self.rule["kind"])

    @property
    def octaves(self) -> float:
        """How many doublings the candidates span. 0 where they are no positive numbers."""
        numbers = [c.value for c in self.candidates if isinstance(c.value, int | float) and c.value > 0]
        return math.log2(max(numbers) / min(numbers)) if numbers else 0.0

    @property
    def search(self) -> tuple[int, float, int]:
        """What a search is worth: candidates, octaves, tuning seeds."""
        return len(self.candidates), round(self.octaves, 2), len(self.seeds)


@dataclass(frozen=True)
class ClaimArm:
    """One side of a claim.

    Attributes:
        name: as a reader tells it from the others.
        selection: of its rows.
        runs: their keys, in the order of the plan.
        tunings: the choices that its runs take their values from.
    """

    name: str
    selection: Mapping[str, Json]
    runs: tuple[str, ...]
    tunings: tuple[Tuning, ...]


@dataclass(frozen=True)
class Neighbour:
    """A verdict on another page of the same folder of reports."""

    page: str
    verdict: Verdict


@dataclass(frozen=True)
class Study:
    """What is known of one report, or of one plan.

    Attributes:
        name: of the experiment.
        declared: its claims, resolved, in the order of the spec.
        results: the runs, and of a report their rows.
        tunings: what was, or will be, chosen on tuning seeds.
        verdicts: by claim. Empty before the runs.
        answers: each with ``says`` and ``while``.
        because: the author's explanation of a verdict, by claim and verdict.
        source_setting: what the source trained: ``parameters``, ``tokens_per_parameter`` ...
        neighbours: claims on the other pages of the folder.
    """

    name: str
    declared: Sequence[Claim]
    results: Results
    tunings: Sequence[Tuning] = ()
    verdicts: Mapping[str, Verdict] = field(default_factory=dict)
    answers: Sequence[Mapping[str, Any]] = ()
    because: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    source_setting: Mapping[str, Json] = field(default_factory=dict)
    neighbours: Sequence[Neighbour] = ()

    @cached_property
    def claims(self) -> dict[str, Claim]:
        """The claims by id."""
        return {claim["id"]: claim for claim in self.declared}

    @cached_property
    def arms(self) -> dict[str, tuple[ClaimArm, ...]]:
        """The sides of every claim that reads rows, by claim. A side that selects nothing has no runs."""
        return {name: _arms(self, claim) for name, claim in self.claims.items()}

    @cached_property
    def points(self) -> dict[str, dict[str, Json]]:
        """The values of the axes of every run."""
        points: dict[str, dict[str, Json]] = {run: {} for run in self.results.runs["run"]}
        known: dict[str, Json] = {}
        for run, axis, value in self.results.axes.select("run", "axis", "value").iter_rows():
            if value not in known:
                known[value] = json.loads(value)
            points[run][axis] = known[value]
        return points

    @cached_property
    def levels(self) -> dict[str, list[Json]]:
        """The values of every axis, in the order of the plan."""
        rows = self.results.axes.select("axis", "value").unique(maintain_order=True)
        levels: dict[str, list[Json]] = {}
        for axis, value in rows.iter_rows():
            levels.setdefault(axis, []).append(json.loads(value))
        return levels

    @cached_property
    def settings(self) -> dict[str, Mapping[str, Json]]:
        """The resolved setting of every run."""
        by_variant = settings_of(self.results).by_variant
        return {
            run: by_variant[variant].parts for run, variant in self.results.runs.select("run", "variant").iter_rows()
        }

    @cached_property
    def run_facts(self) -> dict[str, dict[str, Any]]:
        """Seed, planned updates and number of parameters of every run."""
        columns = [name for name in ("seed", "steps", "parameters") if name in self.results.runs.columns]
        return {row["run"]: row for row in self.results.runs.select("run", *columns).iter_rows(named=True)}

    @cached_property
    def losses(self) -> dict[str, float]:
        """The last validation loss of every run that trained to an end, infinite where it failed."""
        if "curves" not in self.results.tables:
            return {}
        return dict(final_losses(self.results).select("run", "value").iter_rows())

    @cached_property
    def word_entropy(self) -> dict[str, float]:
        """The loss of predicting by word frequencies alone, of every run that recorded it."""
        return self._last_of_curve("unigram_entropy")

    @cached_property
    def epochs(self) -> dict[str, float]:
        """How often a run has read its corpus at its end."""
        return self._last_of_curve("epoch")

    @cached_property
    def gains(self) -> dict[str, float]:
        """How far each run ends below the loss of word frequencies. Minus infinity where it failed."""
        return {run: entropy - self.losses[run] for run, entropy in self.word_entropy.items() if run in self.losses}

    def _last_of_curve(self, quantity: str) -> dict[str, float]:
        if "curves" not in self.results.tables:
            return {}
        rows = self.results.tables["curves"].filter(pl.col("quantity") == quantity).sort("step")
        return dict(rows.group_by("run").agg(pl.col("value").last()).select("run", "value").iter_rows())

    def quantity(self, claim: str) -> str:
        """The quantity that a claim is about, or ""."""
        named = (self.claims[claim].get("of") or {}).get("quantity")
        return named if isinstance(named, str) else ""

    def is_loss(self, claim: str) -> bool:
        """Whether a claim compares losses at the end of training."""
        return self.quantity(claim) in _LOSSES or self.quantity(claim).endswith("nll")

    def is_rate(self, claim: str) -> bool:
        """Whether a claim is about a learning rate of a grid."""
        return bool(quantity_fact({"quantity": self.quantity(claim)}, "rate"))

    def over(self, claim: str) -> str | None:
        """The path that the quantity of a claim is taken over, as a grid of learning rates."""
        path: str | None = quantity_fact({"quantity": self.quantity(claim)}, "over")
        return path

    def is_trained(self, claim: str) -> bool:
        """Whether a claim is about what training leaves."""
        return self.is_loss(claim) or bool(quantity_fact({"quantity": self.quantity(claim)}, "trained"))

    def no_effect(self, claim: str) -> float:
        """The value of a claim's statistic without an effect."""
        stated = self.claims[claim].get("no_effect")
        if stated is not None:
            return float(stated)
        verdict = self.verdicts[claim]
        return 1.0 if verdict.kind == "ratio" or verdict.measure == "ratio" else 0.0

    def judged(self, *verdicts: str, roles: Sequence[str] = ()) -> list[Verdict]:
        """The verdicts with one of these words and roles. None named means any."""
        return [
            verdict
            for claim, verdict in self.verdicts.items()
            if claim in self.claims
            and (not verdicts or verdict.verdict in verdicts)
            and (not roles or verdict.role in roles)
        ]

    def reads_share(self, claim: str) -> bool:
        """Whether a claim is about a share of a whole."""
        words = {word for part in named_parts(self.quantity(claim)) for word in part.split("_")}
        return bool(words & {"share", "fraction"})


def _arms(study: Study, claim: Claim) -> tuple[ClaimArm, ...]:
    try:
        selections = selections_of_claim(claim)
        results = results_of_claim(claim, study.results)
        over = claim.get("over")
        levels = parse_order(claim["order"])[0] if claim.get("order") else []
    except LabError:
        return ()
    named: list[dict[str, Json]] = []
    for selection in selections:
        named += [{**selection, over: level} for level in levels] if levels and isinstance(over, str) else [selection]
    arms = []
    for selection in named:
        try:
            runs = tuple(runs_with(results, selection, None if levels else over)["run"])
        except LabError:
            runs = ()
        arms.append(ClaimArm(_arm_name(selection, named), selection, runs, _tunings_of(study, runs)))
    return tuple(arms)


def _arm_name(selection: Mapping[str, Json], all_selections: Sequence[Mapping[str, Json]]) -> str:
    """What tells a side from the others, else the method that it pins."""
    apart = [key for key in selection if any(other.get(key) != selection[key] for other in all_selections)]
    named = [key for key in apart if key not in ("quantity", "reference")] or [k for k in _NAMING if k in selection]
    values = (selection[key] for key in named[:3])
    return ", ".join(", ".join(map(str, v)) if isinstance(v, list | tuple) else str(v) for v in values)


def _tunings_of(study: Study, runs: Sequence[str]) -> tuple[Tuning, ...]:
    """The choices that all of these runs take a value from."""
    return tuple(tuning for tuning in study.tunings if runs and all(_takes(study.points[run], tuning) for run in runs))


def _takes(point: Mapping[str, Json], tuning: Tuning) -> bool:
    """Whether a run has the value that was chosen, or a declared multiple of it, and is one that it was chosen for."""
    if not (_meets(point, tuning.about) and _meets(point, tuning.where)):
        return False
    chosen, own = tuning.chosen, point.get(tuning.path)
    if not isinstance(chosen, int | float) or not isinstance(own, int | float):
        return chosen is None or own == chosen
    return math.isclose(own, chosen * (point.get(TIMES) or 1), rel_tol=1e-6)


def _meets(point: Mapping[str, Json], conditions: Mapping[str, Json]) -> bool:
    """Whether the axes of a run meet conditions. A condition on what is no axis says nothing of it."""
    return all(matches(point[path], condition) for path, condition in conditions.items() if path in point)


def settings_at(study: Study, runs: Sequence[str], path: str) -> list[Json]:
    """The distinct values of an axis among some runs, in their order."""
    values: list[Json] = []
    for run in runs:
        value = study.points[run].get(path)
        if value is not None and value not in values:
            values.append(value)
    return values


def setting_part(setting: Mapping[str, Json], key: str) -> Mapping[str, Json]:
    """A part of a setting, empty where there is none. Runs from elsewhere may have a word in its place."""
    part = setting.get(key)
    return part if isinstance(part, Mapping) else {}


def pinned_paths(claim: Claim) -> dict[str, Json]:
    """The paths that a claim pins alike on all its sides, with their values: its setting."""
    of = claim.get("of") or {}
    sides = [claim.get(word) or {} for word in ("to", "less", "less_to")]
    return {
        path: value
        for path, value in of.items()
        if path not in COLUMNS
        and isinstance(value, str | int | float)
        and path != claim.get("over")
        and all(path not in side or side[path] == value for side in sides)
    }
