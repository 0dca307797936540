"""A plan in words: what is run, by axis, and how much of it is shared.

Keys and digests are left out, so that the same spec prints the same text in every version.
"""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from lnlab.compile.decisions import Decision
from lnlab.compile.selection.citations import cited_verdicts
from lnlab.compile.work import Plan
from lnlab.keys import Json, canonical
from lnlab.specfile.seeds import seed_spans
from lnlab.specfile.values import NONE, is_choices, kind_label, site_label

MOST_LINES = 40
MOST_STEPS = 8
"""The most steps of a probe that get a line each. More of them share one."""


def explain(plan: Plan) -> list[str]:
    """The plan, one fact a line: runs, axes, variants, data that inits read, citations, measurements, claims, pins."""
    lines = [f"round 2: {decision_line(decision)}" for decision in plan.decisions if not plan.undecided]
    if plan.undecided:
        path = plan.undecided[0].path
        tuning, judged = _counted(len(plan.runs), "tuning run"), _counted(plan.later, "run")
        lines = [f"round 1: {tuning}, then {judged} at the chosen {path}"]
    for question in plan.undecided:
        values = ", ".join(call_label(value) for value, _ in question.candidates)
        lines.append(f"to choose{_about(question.about)}: {path}, {call_label(question.rule)} of {values}")
    lines += _sources(plan)

    runs_of = Counter(run.variant for run in plan.runs)
    seeds = plan.experiment.seeds
    # Seeds of single claims add runs of some variants alone, which the product of variants and seeds does not count.
    further = len(plan.runs) - len(plan.settings) * len(seeds)
    claims = _counted(len(plan.experiment.claim_seeds), "claim")
    alone = f", and {_counted(further, 'run')} for {claims} alone" if further else ""
    lists = {seeds: len(plan.settings)}
    if plan.grid_seeds:  # the product is one of each list of seeds, those of claims included
        of_variants: dict[str, list[int]] = {}
        for run in plan.runs:
            of_variants.setdefault(run.variant, []).append(run.seed)
        lists, alone = dict(Counter(map(tuple, of_variants.values()))), ""
    products = [
        f"{_counted(variants, 'variant')} x {_counted(len(own), 'seed')} ({seed_spans(own)})"
        for own, variants in lists.items()
    ]
    lines.append(f"{_counted(len(plan.runs), 'run')}: {', '.join(products)}{alone}")
    for axis in plan.axes:
        by_value: Counter[str] = Counter()
        for variant, runs in runs_of.items():
            by_value[call_label(plan.points[variant][axis])] += runs
        lines.append(f"axis {axis}: " + ", ".join(f"{value} ({runs})" for value, runs in by_value.items()))

    for point in list(plan.points.values())[:MOST_LINES]:
        if point:  # a spec without a sweep has one variant, which no axis names
            lines.append("variant " + " ".join(f"{axis}={call_label(value)}" for axis, value in point.items()))
    if (more := len(plan.points) - MOST_LINES) > 0:
        lines.append(f"and {_counted(more, 'variant')} more")

    for data_pass in plan.data_passes:
        n = data_pass.batches
        read = "every training batch" if n is None else f"{n:,} training batch{'' if n == 1 else 'es'}"
        # A state that several trajectories start from is filled once.
        lines.append(
            f"init {data_pass.init}: reads {read}, once per initial state, {_counted(data_pass.times, 'time')}"
        )
    for file in cited_verdicts(plan.inputs):
        spec, profile = Path(file.path).parts[-4:-2]  # reports/SPEC/PROFILE/data/verdicts.parquet
        lines.append(f"cites {spec}, {profile}: {'its report' if file.sha256 else 'it has no report'}")

    lines.append(f"{len(plan.trajectories)} trajectories" if len(plan.trajectories) != 1 else "1 trajectory")
    measured = Counter((canonical(m.probe), m.step) for t in plan.trajectories for m in t.measurements)
    # A measurement that several runs share is planned once, and needed as often as there are runs that read it.
    needs = Counter((canonical(probe), step) for _, step, probe, _ in plan.needs)
    probes = {canonical(probe): probe for _, _, probe, _ in plan.needs}
    steps: dict[str, list[int]] = {}
    for text, step in needs:
        steps.setdefault(text, []).append(step)
    for text, at in steps.items():
        for group in [at] if len(at) > MOST_STEPS else [[step] for step in at]:
            distinct = sum(measured[text, step] for step in group)
            shared = sum(needs[text, step] for step in group) - distinct
            when = f"step {group[0]}" if len(group) == 1 else f"{len(group):,} steps from {min(group)} to {max(group)}"
            suffix = f", {shared:,} shared" if shared else ""
            lines.append(f"probe {call_label(probes[text])} at {when}: {_counted(distinct, 'measurement')}{suffix}")

    for claim, choice in zip(plan.experiment.claims, plan.claims, strict=True):
        lines.append(f"claim {claim.id}: {choice['kind']}{', primary' if claim.primary else ''}")
    lines += [f"section {choice['kind']}" for choice in plan.sections]
    return [*lines, *(f"pin: {pin}" for pin in plan.pins)]


def _sources(plan: Plan) -> list[str]:
    """The runs of other specs that come first, those that these begin with in turn before them."""
    lines = []
    for source in plan.sources:
        step = source.trajectories[0].steps
        runs = f"{_counted(len(source.runs), 'run')} of {source.name} (seeds {seed_spans(source.experiment.seeds)})"
        before = f"before: {runs} to step {step}, whose weights others begin with, unless the store has them"
        lines += [*_sources(source), before]
    return lines


def decision_line(decision: Decision) -> str:
    """``optimizer.lr = 0.001 for placement=post: the best of 4 candidates, ... (seeds 101-102)``."""
    of_grids = f" in {', '.join(decision.grid)}" if decision.grid else ""
    what = f"{decision.path} = {call_label(decision.value)}{_about(decision.about)}{of_grids}"
    return f"{what}: {decision.reason} (tuning seeds {seed_spans(decision.seeds)})"


def _about(about: Mapping[str, Json]) -> str:
    return " for " + " ".join(f"{axis}={call_label(value)}" for axis, value in about.items()) if about else ""


def call_label(value: object) -> str:
    """A value as a reader sees it: a choice that is not all defaults with its parameters."""
    if isinstance(value, dict) and "kind" in value:
        # A mapping that is no choice is a site, whose words say what they are without its name.
        params = ", ".join(
            site_label(inner) if isinstance(inner, dict) and "kind" not in inner else f"{name}={call_label(inner)}"
            for name, inner in value.items()
            if name != "kind"
        )
        return f"{value['kind']}({params})" if params else str(value["kind"])
    if is_choices(value):
        return " and ".join(map(call_label, value)) or NONE  # type: ignore[call-overload]
    if isinstance(value, dict):
        return "/".join(call_label(inner) for inner in value.values())
    return kind_label(value)


def _counted(number: int, word: str) -> str:
    """``1 run``, ``2 runs``."""
    return f"{number:,} {word}{'' if number == 1 else 's'}"
