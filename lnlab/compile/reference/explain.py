"""A plan in words: what is run, by axis, and how much of it is shared.

Keys and digests are left out, so that the same spec prints the same text whatever the version.
"""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from lnlab.compile.decisions import Decision, Undecided
from lnlab.compile.selection.citations import cited_verdicts
from lnlab.compile.work import Plan
from lnlab.keys import Json, canonical
from lnlab.specfile.values import NONE, is_choices, kind_label, site_label

MOST_LINES = 40
MOST_STEPS = 8
"""Steps of a probe that get a line each; more of them share one."""


def explain(plan: Plan) -> list[str]:
    """The plan, one fact a line: runs, axes, variants, data that inits read, citations, measurements, claims, pins."""
    sections = (_stages, _sources, _runs, _variants, _data_passes, _citations, _measurements, _requests)
    return [*(line for section in sections for line in section(plan)), *(f"pin: {pin}" for pin in plan.pins)]


def _stages(plan: Plan) -> list[str]:
    """What the runs are to choose, or what was chosen before."""
    if not plan.undecided:
        return [f"round 2: {decision_line(decision)}" for decision in plan.decisions]
    path = plan.undecided[0].path
    first = (
        f"round 1: {_counted(len(plan.runs), 'tuning run')}, then {_counted(plan.later, 'run')} at the chosen {path}"
    )
    return [first, *(_candidate_line(question) for question in plan.undecided)]


def _sources(plan: Plan) -> list[str]:
    """The runs of other specs that come first, those that these begin with in turn before them."""
    return [line for source in plan.sources for line in (*_sources(source), _source_line(source))]


def _source_line(source: Plan) -> str:
    step = source.trajectories[0].steps
    seeds = seed_spans(source.experiment.seeds)
    runs = f"{_counted(len(source.runs), 'run')} of {source.name} (seeds {seeds})"
    return f"before: {runs} to step {step}, whose weights others begin with, unless the store has them"


def _candidate_line(question: Undecided) -> str:
    values = ", ".join(call_label(value) for value, _ in question.candidates)
    return f"to choose{_about(question.about)}: {question.path}, {call_label(question.rule)} of {values}"


def decision_line(decision: Decision) -> str:
    """``optimizer.lr = 0.001 for placement=post: the best of 4 candidates, ... (seeds 101-102)``."""
    what = f"{decision.path} = {call_label(decision.value)}{_about(decision.about)}"
    return f"{what}: {decision.reason} (tuning seeds {seed_spans(decision.seeds)})"


def _about(about: Mapping[str, Json]) -> str:
    return " for " + " ".join(f"{axis}={call_label(value)}" for axis, value in about.items()) if about else ""


def _runs(plan: Plan) -> list[str]:
    seeds = plan.experiment.seeds
    claims = len(plan.experiment.claim_seeds)
    further = len(plan.runs) - len(plan.settings) * len(seeds)
    alone = f", and {_counted(further, 'run')} for {_counted(claims, 'claim')} alone" if further else ""
    seed_count = "1 seed" if len(seeds) == 1 else f"{len(seeds)} seeds"
    lines = [
        f"{_counted(len(plan.runs), 'run')}: {_counted(len(plan.settings), 'variant')} x {seed_count} "
        f"({seed_spans(seeds)}){alone}"
    ]
    variants = Counter(run.variant for run in plan.runs)
    for axis in plan.axes:
        by_value: Counter[str] = Counter()
        for variant, runs in variants.items():
            by_value[call_label(plan.points[variant][axis])] += runs
        lines.append(f"axis {axis}: " + ", ".join(f"{value} ({runs})" for value, runs in by_value.items()))
    return lines


def _variants(plan: Plan) -> list[str]:
    lines = [
        "variant " + " ".join(f"{axis}={call_label(value)}" for axis, value in point.items())
        for point in list(plan.points.values())[:MOST_LINES]
        if point
    ]
    more = len(plan.points) - MOST_LINES
    return [*lines, f"and {_counted(more, 'variant')} more"] if more > 0 else lines


def _data_passes(plan: Plan) -> list[str]:
    """What is read before any update; a state that several trajectories start from counts once."""
    lines = []
    for data_pass in plan.data_passes:
        n = data_pass.batches
        times = _counted(data_pass.times, "time")
        read = "every training batch" if n is None else f"{n:,} training batch{'' if n == 1 else 'es'}"
        lines.append(f"init {data_pass.init}: reads {read}, once per initial state, {times}")
    return lines


def _citations(plan: Plan) -> list[str]:
    """The experiments whose verdicts claims cite, and those that have no report to read them from."""
    lines = []
    for file in cited_verdicts(plan.inputs):
        spec, profile = Path(file.path).parts[-4:-2]
        lines.append(f"cites {spec}, {profile}: {'its report' if file.sha256 else 'it has no report'}")
    return lines


def _measurements(plan: Plan) -> list[str]:
    """Distinct trajectories and measurements; ``needs`` counts a shared one as often as it is needed."""
    measured = Counter((canonical(m.probe), m.step) for t in plan.trajectories for m in t.measurements)
    needs = Counter((canonical(probe), step) for _, step, probe, _ in plan.needs)
    probes = {canonical(probe): probe for _, _, probe, _ in plan.needs}
    lines = [f"{len(plan.trajectories)} trajectories" if len(plan.trajectories) != 1 else "1 trajectory"]
    steps: dict[str, list[int]] = {}
    for text, step in needs:
        steps.setdefault(text, []).append(step)
    for text, at in steps.items():
        grouped = [at] if len(at) > MOST_STEPS else [[step] for step in at]
        for group in grouped:
            distinct = sum(measured[text, step] for step in group)
            shared = sum(needs[text, step] for step in group) - distinct
            when = f"step {group[0]}" if len(group) == 1 else f"{len(group):,} steps from {min(group)} to {max(group)}"
            suffix = f", {shared:,} shared" if shared else ""
            lines.append(f"probe {call_label(probes[text])} at {when}: {_counted(distinct, 'measurement')}{suffix}")
    return lines


def _requests(plan: Plan) -> list[str]:
    claims = zip(plan.experiment.claims, plan.claims, strict=True)
    lines = [f"claim {claim.id}: {choice['kind']}{', primary' if claim.primary else ''}" for claim, choice in claims]
    return [*lines, *(f"section {choice['kind']}" for choice in plan.sections)]


def call_label(value: object) -> str:
    """A value as a reader sees it: a choice that is not all defaults with its parameters."""
    if isinstance(value, dict) and "kind" in value:
        params = ", ".join(_param(name, inner) for name, inner in value.items() if name != "kind")
        return f"{value['kind']}({params})" if params else str(value["kind"])
    if is_choices(value):
        return " and ".join(map(call_label, value)) or NONE  # type: ignore[call-overload]
    if isinstance(value, dict):
        return "/".join(call_label(inner) for inner in value.values())
    return kind_label(value)


def _param(name: str, value: object) -> str:
    return site_label(value) if isinstance(value, dict) and "kind" not in value else f"{name}={call_label(value)}"


def _counted(number: int, word: str) -> str:
    """``1 run``, ``2 runs``."""
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def seed_spans(seeds: tuple[int, ...]) -> str:
    """Seeds with runs of neighbours in short: ``1-5, 9``."""
    parts: list[list[int]] = []
    for seed in sorted(seeds):
        if parts and seed == parts[-1][1] + 1:
            parts[-1][1] = seed
        else:
            parts.append([seed, seed])
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in parts)
