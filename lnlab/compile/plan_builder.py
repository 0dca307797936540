"""Settings, seeds and probes -> runs and trajectories, each state and each measurement once."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import groupby
from operator import itemgetter

from lnlab.compile.checked import Checked, SourceRun
from lnlab.compile.content_keys import ContentKeys, VariantKeys
from lnlab.compile.resolve.epochs import counts_epochs, probe_steps
from lnlab.compile.selection.claim_seeds import probes_read_by
from lnlab.compile.selection.resolved_requests import ResolvedRequest
from lnlab.compile.stages import ResolvedStage
from lnlab.compile.work import Measurement, ResolvedSetting, Run, Trajectory, needs_next_update
from lnlab.keys import Json, canonical, digest, short_key
from lnlab.registry import Choice
from lnlab.specfile.columns import EVALUATION

Due = dict[int, list[tuple[str, Choice, bool]]]
"""Step -> the probes due at it: key, choice, and whether the probe needs the next update, which moves the state."""


@dataclass
class PlanBuilder:
    """Collects what is to be run.

    Attributes:
        sources: the runs that others begin with, by the canonical text of their init.
        kept: whether the last states are such beginnings.
        inits: each distinct initial state with the init it comes from.
    """

    sources: Mapping[str, SourceRun] = field(default_factory=dict)
    kept: bool = False
    settings: dict[str, ResolvedSetting] = field(default_factory=dict)
    points: dict[str, dict[str, Json]] = field(default_factory=dict)
    runs: list[Run] = field(default_factory=list)
    needs: list[tuple[str, int, Choice, str]] = field(default_factory=list)
    inits: dict[str, Choice] = field(default_factory=dict)
    _trajectories: dict[str, Trajectory] = field(default_factory=dict)
    _measurements: dict[str, list[Measurement]] = field(default_factory=dict)
    _measured: set[str] = field(default_factory=set)

    def add(
        self,
        setting: ResolvedSetting,
        point: dict[str, Json],
        variant_keys: VariantKeys,
        due: Due,
        seeds: Iterable[int],
    ) -> None:
        """One variant with all its seeds."""
        self.settings[variant_keys.variant] = setting
        self.points[variant_keys.variant] = point
        source = self.sources.get(canonical(setting["init"])) if self.sources else None
        for seed in seeds:
            state = variant_keys.state(seed)
            self.inits[short_key(state)] = setting["init"]
            # Keys are made of whole digests, and shortened where they are kept.
            moved = variant_keys.trajectory(state)
            key = short_key(moved)
            run = Run(
                key=short_key(digest(["run", moved, variant_keys.steps])),
                trajectory=key,
                steps=variant_keys.steps,
                variant=variant_keys.variant,
                seed=seed,
            )
            self.runs.append(run)
            trajectory = self._trajectories.get(key)
            if trajectory is None:
                origin = None if source is None else source.origin(seed)
                trajectory = Trajectory(key, seed, setting, run.steps, measurements=(), origin=origin, kept=self.kept)
                self._trajectories[key] = trajectory
            # A shorter run is the beginning of a longer one with the same key: the longest is trained, once.
            elif run.steps > trajectory.steps:
                self._trajectories[key] = replace(trajectory, setting=setting, steps=run.steps)
            for step, probes in due.items():
                for probe_key, probe, ahead in probes:
                    # What is measured of an initial state alone is shared by all trajectories that start in it.
                    state_key = state if step == 0 and not ahead else moved
                    measurement_key = short_key(digest(["measurement", state_key, step, probe_key]))
                    self.needs.append((run.key, step, probe, measurement_key))
                    if measurement_key not in self._measured:
                        self._measured.add(measurement_key)
                        self._measurements.setdefault(key, []).append(Measurement(measurement_key, step, probe))

    def trajectories(self) -> tuple[Trajectory, ...]:
        """The trajectories in the order of their first runs, with measurements in the order of their steps."""
        return tuple(
            replace(trajectory, measurements=tuple(sorted(self._measurements.get(key, ()), key=lambda m: m.step)))
            for key, trajectory in self._trajectories.items()
        )


def plan_stage(checked: Checked, stage: ResolvedStage) -> PlanBuilder:
    """The runs of one stage of a checked spec. Tuning runs are not measured."""
    builder = PlanBuilder(checked.sources)
    content_keys = checked.content_keys
    probes = [] if stage.undecided else checked.requests.probes
    read_by = {
        claims: probes_read_by(claims, checked.requests, checked.registries)
        for claims in {claims for seeds in stage.seeds for claims in seeds.values()}
    }
    schedules: dict[tuple[int, float | None, str, frozenset[int]], Due] = {}
    for (setting, point), seeds, grids in zip(stage.settings, stage.seeds, stage.grids, strict=True):
        variant_keys = content_keys.of(setting)
        of_grids = frozenset(place for place, probe in enumerate(probes) if probe.is_applied(grids))
        for claims, of_claims in groupby(seeds.items(), key=itemgetter(1)):
            applied = of_grids & read_by[claims]
            timed_probes = _probes_of_run((probes[place] for place in sorted(applied)), setting, content_keys)
            epoch = checked.sweep.epochs.updates(setting) if any(counts_epochs(at) for _, at in timed_probes) else None
            # Most variants differ in neither: their probes are put in order once.
            schedule_key = (variant_keys.steps, epoch, canonical(setting["train"]["evaluate"]), applied)
            if schedule_key not in schedules:
                schedules[schedule_key] = _due(timed_probes, variant_keys.steps, epoch, content_keys)
            builder.add(setting, point, variant_keys, schedules[schedule_key], [seed for seed, _ in of_claims])
    return builder


def plan_source(runs: Iterable[SourceRun], seeds: Iterable[int]) -> PlanBuilder:
    """Runs of one spec up to the step at which runs of these seeds begin with their states.

    The evaluations that their stop rule may read are those of their own spec. Nothing else is measured.
    """
    all_seeds = tuple(seeds)
    builder: PlanBuilder | None = None
    for run in runs:
        keys = run.checked.content_keys
        builder = builder or PlanBuilder(run.checked.sources, kept=True)
        timed_probes = _probes_of_run((), run.setting, keys)
        epoch = (
            run.checked.sweep.epochs.updates(run.setting) if any(counts_epochs(at) for _, at in timed_probes) else None
        )
        due = {step: what for step, what in _due(timed_probes, run.keys.steps, epoch, keys).items() if step <= run.step}
        # Several runs may begin with one state: where a seed is named, all of them do.
        own_seeds = dict.fromkeys(run.seed_for(seed) for seed in all_seeds)
        point: dict[str, Json] = {"init.spec": run.checked.document.path.stem}
        builder.add(run.setting, point, replace(run.keys, steps=run.step), due, own_seeds)
    return builder or PlanBuilder()


def _probes_of_run(
    requests: Iterable[ResolvedRequest], setting: ResolvedSetting, content_keys: ContentKeys
) -> list[tuple[Choice, Json]]:
    """The probes of a run, and when each is applied. A run that trains is evaluated too."""
    timed_probes = [(request.choice, request.at) for request in requests]
    registry = content_keys.registries["probe"]
    train = setting["train"]
    if train["steps"] and EVALUATION in registry.entries:
        timed_probes.insert(0, (registry.resolve(EVALUATION), train["evaluate"]))
    return timed_probes


def _due(timed_probes: list[tuple[Choice, Json]], steps: int, epoch: float | None, content_keys: ContentKeys) -> Due:
    """The probes of a run of ``steps`` updates, by step. One that is listed twice is applied once."""
    probes_by_step: dict[int, dict[str, tuple[str, Choice, bool]]] = {}
    for choice, at in timed_probes:
        entry = content_keys.registries["probe"][choice["kind"]]
        key = str(content_keys.choice("probe", choice))
        ahead = needs_next_update(content_keys.registries["probe"], choice)
        for step in probe_steps(entry, at, steps, epoch):
            probes_by_step.setdefault(step, {})[key] = key, choice, ahead
    return {step: list(probes.values()) for step, probes in sorted(probes_by_step.items())}
