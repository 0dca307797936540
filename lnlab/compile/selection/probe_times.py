"""Probes that cannot be applied: at steps a run does not have, to endless data, to models without what they read."""

from collections.abc import Iterator, Sequence
from typing import Any

from lnlab.compile.checks.contradictions import WITHOUT_FLOAT64
from lnlab.compile.cost.data_passes import reads_all
from lnlab.compile.interned import Variant
from lnlab.compile.resolve.choices import Registries
from lnlab.compile.resolved_sweep import ResolvedSweep
from lnlab.compile.selection.requested import ResolvedRequests
from lnlab.compile.work import ResolvedSetting
from lnlab.errors import listed, nearest
from lnlab.facts import never
from lnlab.issues import Issue, Where
from lnlab.keys import Json
from lnlab.registry import Choice, Entry

MOST_MEASUREMENTS = 1_000_000
"""That a plan may have: each is a key, a row of the plan's table and an object in memory (half a gigabyte in all)."""
EVALUATE: Where = ("train", "evaluate")


def probe_time_issues(requests: ResolvedRequests, sweep: ResolvedSweep, registries: Registries) -> list[Issue]:
    """Everything that is wrong with where and when the probes are applied."""
    # Many settings lack the same step: each flaw is told once.
    issues: dict[tuple[Where, str], Issue] = {}
    for variant in sweep.variants:
        for path, at, entry in _timed_probes(requests, variant, registries):
            try:
                sweep.epochs.probe_count(entry, at, variant.setting)
            except ValueError as error:
                seen = "end, or steps from 1 on" if entry is not None and entry.facts.trained else "init, end, or steps"
                remedy = f"write {seen} that the run has"
                issues[path, str(error)] = Issue("unsupported", path, str(error), remedy)
    return [
        *issues.values(),
        *(
            flaw.below(*probe.path)
            for probe in requests.probes
            for settings in [[v.setting for v in sweep.variants if probe.is_applied(v.grids)]]
            for flaw in dict.fromkeys(_flaws_of_probe(probe.choice, settings, registries))
        ),
    ]


def _flaws_of_probe(choice: Choice, settings: Sequence[ResolvedSetting], registries: Registries) -> Iterator[Issue]:
    """The settings that a probe cannot be applied to, as flaws with paths below the probe."""
    probe = registries["probe"][choice["kind"]]
    facts = probe.facts

    def kinds(part: str) -> set[str]:
        return {setting[part]["kind"] for setting in settings}

    try:
        float(facts.passes(choice))
    except Exception as error:  # it is code of the probe's author
        what = f"its fact passes fails with {type(error).__name__}: {error}"
        yield Issue("unsupported", ("kind",), what, "let it read parameters that the probe has, as numbers")
    if facts.reads is not None:
        for kind in sorted(kinds("task")):
            if registries["task"][kind].facts.endless and reads_all(probe, choice):
                what = f"'{kind}' is endless, and '{probe.name}' reads all of it"
                yield Issue("unsupported", ("batches",), what, "give a number of batches")
    for part in ("model", "task") if facts.translates else ():
        translating = [entry.name for entry in registries[part] if entry.facts.translates]
        for kind in sorted(kinds(part) - set(translating)):
            what = f"the {part} '{kind}' does not translate"
            yield Issue("unsupported", ("kind",), what, nearest("", translating))
    if facts.causal:
        causal = [entry.name for entry in registries["model"] if entry.facts.causal]
        for kind in sorted(kinds("model") - set(causal)):
            yield Issue("unsupported", ("kind",), f"the model '{kind}' has no causal stack", nearest("", causal))
    for setting in () if facts.any_model(choice) else settings:
        model = registries["model"][setting["model"]["kind"]]
        if model.facts.own and not facts.any_stream:
            what = f"with these parameters it reads parts of lnlab's models, and '{model.name}' is a model of your own"
            usable = [e.name for e in registries["probe"] if e.facts.any_stream or e.facts.any_model is not never]
            yield Issue("unsupported", ("kind",), what, f"choose from {listed(usable, str(choice['kind']))}")
        elif model.facts.own and not model.facts.stream(setting):
            what = f"it reads the residual stream, and nothing of that of '{model.name}' is known"
            remedy = "name the modules where it passes: register_model(..., stream={'blocks.{layer}': 'decoder."
            yield Issue("unsupported", ("kind",), what, f"{remedy}feed_forward.out'}})")
    if not facts.in_float32:
        for device in sorted({setting["train"]["device"] for setting in settings} & WITHOUT_FLOAT64):
            what = f"it computes in float64, which the device {device} lacks"
            usable = [entry.name for entry in registries["probe"] if entry.facts.in_float32]
            yield Issue("missing", ("kind",), what, f"write train.device: cpu, or choose from {listed(usable)}")


def _timed_probes(
    requests: ResolvedRequests, variant: Variant, registries: Registries
) -> list[tuple[Where, Json, Entry[Any] | None]]:
    """The path and value of each ``at`` of a run of a variant with its probe. Evaluations have no probe."""
    timed_probes: list[tuple[Where, Json, Entry[Any] | None]] = [
        ((*probe.path, "at"), probe.at, registries["probe"][probe.choice["kind"]])
        for probe in requests.probes
        if probe.is_applied(variant.grids)
    ]
    train = variant.setting["train"]
    return [*timed_probes, *([(EVALUATE, train["evaluate"], None)] if train["steps"] else [])]


def measurement_issues(
    requests: ResolvedRequests, sweep: ResolvedSweep, registries: Registries, runs: int
) -> list[Issue]:
    """More measurements than can be planned, counted before one of them is written out.

    Args:
        requests: the probes.
        sweep: the settings. Each run is counted with the mean number of measurements over settings.
        registries: of probes.
        runs: how many there are.
    """
    counts: dict[Where, int] = {}
    longest: dict[Where, int] = {}
    for variant in sweep.variants:
        for path, at, entry in _timed_probes(requests, variant, registries):
            try:
                counts[path] = counts.get(path, 0) + sweep.epochs.probe_count(entry, at, variant.setting)
            except ValueError:  # reported as an absent step
                continue
            longest[path] = max(longest.get(path, 0), variant.setting["train"]["steps"])
    total = sum(counts.values()) * runs // max(len(sweep.variants), 1)
    if total <= MOST_MEASUREMENTS:
        return []
    path = max(counts, key=lambda path: counts[path])
    # How far apart the longest run would be measured for the plan to hold all of it, rounded up to one digit.
    every = -(-longest[path] * runs * len(counts) // MOST_MEASUREMENTS)
    rounded = -(-every // (scale := 10 ** (len(str(every)) - 1))) * scale
    what = f"{total:,} measurements in {format_runs(runs)}; a plan holds at most {MOST_MEASUREMENTS:,}"
    remedy = f"measure less often, as with {{every: {rounded}}} or {{log: 50}}" if longest[path] else "plan fewer runs"
    return [Issue("too-large", path, what, remedy)]


def format_runs(runs: int) -> str:
    """``1 run``, ``2,000 runs``."""
    return "1 run" if runs == 1 else f"{runs:,} runs"
