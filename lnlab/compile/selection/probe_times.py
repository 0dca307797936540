"""Probes that cannot be applied: at steps a run does not have, to endless data, to models without what they read."""

from typing import Any

from lnlab.compile.checks.contradictions import WITHOUT_FLOAT64
from lnlab.compile.cost.data_passes import reads_all
from lnlab.compile.resolve.choices import Registries
from lnlab.compile.resolve.epochs import counts_epochs, probe_count
from lnlab.compile.resolved_sweep import ResolvedSweep
from lnlab.compile.selection.resolved_requests import ResolvedRequests
from lnlab.compile.sweep.overlay import MergedSpec
from lnlab.compile.work import ResolvedSetting
from lnlab.errors import listed, nearest
from lnlab.facts import never
from lnlab.issues import Issue, Where
from lnlab.keys import Json
from lnlab.registry import Entry

MOST_MEASUREMENTS = 1_000_000
"""That a plan may have: each is a key, a row of the plan's table and an object in memory (half a gigabyte in all)."""
EVALUATE: Where = ("train", "evaluate")


def probe_time_issues(
    requests: ResolvedRequests, sweep: ResolvedSweep, merged: MergedSpec, registries: Registries
) -> list[Issue]:
    """Everything that is wrong with where and when the probes are applied."""
    checks = (
        _absent_steps,
        _unbounded_reads,
        _absent_translations,
        _absent_causal_stacks,
        _absent_parts,
        _absent_precision,
    )
    return [issue for check in checks for issue in check(requests, sweep, merged, registries)]


def _timed_probes(
    requests: ResolvedRequests, setting: ResolvedSetting, registries: Registries
) -> list[tuple[Where, Json, Entry[Any] | None]]:
    """The path and the value of each ``at`` of a run with its probe; of its evaluations without one."""
    timed_probes: list[tuple[Where, Json, Entry[Any] | None]] = [
        ((*probe.path, "at"), probe.at, registries["probe"][probe.choice["kind"]]) for probe in requests.probes
    ]
    return [*timed_probes, *([(EVALUATE, setting["train"]["evaluate"], None)] if setting["train"]["steps"] else [])]


def _absent_steps(
    requests: ResolvedRequests, sweep: ResolvedSweep, merged: MergedSpec, registries: Registries
) -> list[Issue]:
    """Probes, and evaluations, at steps that a run does not have."""
    issues: dict[tuple[Where, str], Issue] = {}
    for setting in sweep.settings:
        for path, at, entry in _timed_probes(requests, setting, registries):
            epoch = sweep.epochs.updates(setting) if counts_epochs(at) else None
            try:
                probe_count(entry, at, setting["train"]["steps"], epoch)
            except ValueError as error:
                flaw = Issue("unsupported", path, str(error), "write init, end, or steps that the run has")
                issues[path, str(error)] = flaw.at(merged.location(path))
    return list(issues.values())


def measurement_issues(
    requests: ResolvedRequests, sweep: ResolvedSweep, merged: MergedSpec, registries: Registries, runs: int
) -> list[Issue]:
    """More measurements than can be planned, counted before one of them is written out.

    Args:
        requests: the probes.
        sweep: the settings; of their runs each has the mean number of measurements.
        merged: where things stand in the spec.
        registries: of probes.
        runs: how many there are.
    """
    counts: dict[Where, int] = {}
    longest: dict[Where, int] = {}
    for setting in sweep.settings:
        steps = setting["train"]["steps"]
        for path, at, entry in _timed_probes(requests, setting, registries):
            epoch = sweep.epochs.updates(setting) if counts_epochs(at) else None
            try:
                counts[path] = counts.get(path, 0) + probe_count(entry, at, steps, epoch)
            except ValueError:  # reported as an absent step
                continue
            longest[path] = max(longest.get(path, 0), steps)
    total = sum(counts.values()) * runs // max(len(sweep.settings), 1)
    if total <= MOST_MEASUREMENTS:
        return []
    path = max(counts, key=lambda path: counts[path])
    every = -(-longest[path] * runs * len(counts) // MOST_MEASUREMENTS)
    rounded = -(-every // (scale := 10 ** (len(str(every)) - 1))) * scale
    what = f"{total:,} measurements in {format_runs(runs)}; a plan holds at most {MOST_MEASUREMENTS:,}"
    remedy = f"measure less often, as with {{every: {rounded}}} or {{log: 50}}" if longest[path] else "plan fewer runs"
    return [Issue("too-large", path, what, remedy).at(merged.location(path))]


def format_runs(runs: int) -> str:
    """``1 run``, ``2,000 runs``."""
    return "1 run" if runs == 1 else f"{runs:,} runs"


def _unbounded_reads(
    requests: ResolvedRequests, sweep: ResolvedSweep, merged: MergedSpec, registries: Registries
) -> list[Issue]:
    """Probes that would read every batch of a task that has no end."""
    tasks = [registries["task"][kind] for kind in sorted({setting["task"]["kind"] for setting in sweep.settings})]
    issues: list[Issue] = []
    for probe in requests.probes:
        entry = registries["probe"][probe.choice["kind"]]
        for task in tasks:
            if task.facts.endless and reads_all(entry, probe.choice):
                path = (*probe.path, "batches")
                what = f"'{task.name}' has no end, and '{entry.name}' reads all of it"
                issues.append(Issue("unsupported", path, what, "give a number of batches").at(merged.location(path)))
    return issues


def _absent_translations(
    requests: ResolvedRequests, sweep: ResolvedSweep, merged: MergedSpec, registries: Registries
) -> list[Issue]:
    """Probes of translations where a model or a task has none."""
    issues: list[Issue] = []
    for probe in requests.probes:
        if not registries["probe"][probe.choice["kind"]].facts.translates:
            continue
        for part in ("model", "task"):
            translating = [entry.name for entry in registries[part] if entry.facts.translates]
            for kind in sorted({setting[part]["kind"] for setting in sweep.settings} - set(translating)):
                path = (*probe.path, "kind")
                what = f"the {part} '{kind}' translates nothing"
                issues.append(Issue("unsupported", path, what, nearest("", translating)).at(merged.location(path)))
    return issues


def _absent_causal_stacks(
    requests: ResolvedRequests, sweep: ResolvedSweep, merged: MergedSpec, registries: Registries
) -> list[Issue]:
    """Probes of causal stacks on models that have none."""
    issues: list[Issue] = []
    causal = [entry.name for entry in registries["model"] if entry.facts.causal]
    for probe in requests.probes:
        if registries["probe"][probe.choice["kind"]].facts.causal:
            for kind in sorted({setting["model"]["kind"] for setting in sweep.settings} - set(causal)):
                path = (*probe.path, "kind")
                what = f"the model '{kind}' has no causal stack"
                issues.append(Issue("unsupported", path, what, nearest("", causal)).at(merged.location(path)))
    return issues


def _absent_parts(
    requests: ResolvedRequests, sweep: ResolvedSweep, merged: MergedSpec, registries: Registries
) -> list[Issue]:
    """Probes of the parts of lnlab's models on models of somebody's own, and of a stream that is not known."""
    own = [s for s in sweep.settings if registries["model"][s["model"]["kind"]].facts.own]
    flaws: dict[Issue, None] = {}
    for probe in requests.probes:
        facts = registries["probe"][probe.choice["kind"]].facts
        for setting in () if facts.any_model(probe.choice) else own:
            kind = setting["model"]["kind"]
            path = (*probe.path, "kind")
            if not facts.any_stream:
                what = f"with these parameters it reads parts of lnlab's models, and '{kind}' is a model of your own"
                usable = [e.name for e in registries["probe"] if e.facts.any_stream or e.facts.any_model is not never]
                flaws[Issue("unsupported", path, what, f"choose from {listed(usable, str(probe.choice['kind']))}")] = (
                    None
                )
            elif not registries["model"][kind].facts.stream(setting):
                what = f"it reads the residual stream, and nothing of that of '{kind}' is known"
                remedy = "name the modules where it passes: register_model(..., stream={'blocks.{layer}': 'decoder."
                flaws[Issue("unsupported", path, what, f"{remedy}feed_forward.out'}})")] = None
    return [flaw.at(merged.location(flaw.path)) for flaw in flaws]


def _absent_precision(
    requests: ResolvedRequests, sweep: ResolvedSweep, merged: MergedSpec, registries: Registries
) -> list[Issue]:
    """Probes that compute in float64 on a device that has none."""
    issues: list[Issue] = []
    for device in sorted({setting["train"]["device"] for setting in sweep.settings} & WITHOUT_FLOAT64):
        for probe in requests.probes:
            if not registries["probe"][probe.choice["kind"]].facts.in_float32:
                path = (*probe.path, "kind")
                what = f"it computes in float64, which the device {device} lacks"
                usable = listed(entry.name for entry in registries["probe"] if entry.facts.in_float32)
                remedy = f"write train.device: cpu, or choose from {usable}"
                issues.append(Issue("missing", path, what, remedy).at(merged.location(path)))
    return issues
