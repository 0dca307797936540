"""A document -> its plan: check it, take the runs that are due, and make each state and measurement once, with its key.

All problems of a spec are reported at once. A mistake in one place does not hide a mistake in another, but what follows
from a mistake (a selection that selects no run, because its axis is misspelt) is reported only once that is corrected.

A spec that chooses something is run in stages: first the tuning runs of what is not decided yet, then the runs that are
judged.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import groupby
from operator import itemgetter
from typing import Any

from lnlab.compile.check import check_spec
from lnlab.compile.checked import CheckedSpec, SourceRun
from lnlab.compile.content_keys import VariantKeys
from lnlab.compile.cost.data_passes import data_passes
from lnlab.compile.decisions import Decision, Undecided, decisions_to_json
from lnlab.compile.digests import plan_digest, plan_identity, remembered_name
from lnlab.compile.files_read import FilesRead
from lnlab.compile.interned import InternedSetting, Variant
from lnlab.compile.resolved_sweep import variants_of
from lnlab.compile.selection.claim_seeds import SeedsOfVariant, probes_read_by, seeds_of_variants
from lnlab.compile.selection.requested import ResolvedRequest
from lnlab.compile.sweep.overlay import pin_sentences
from lnlab.compile.work import (
    Measurement,
    Plan,
    Run,
    Stage,
    StateAddress,
    Trajectory,
    needs_next_update,
)
from lnlab.errors import SpecError
from lnlab.keys import Json, digest, short_key
from lnlab.registry import Choice, Registry, Roots
from lnlab.specfile.columns import EVALUATION, TIMES
from lnlab.specfile.load import SpecDocument

__all__ = ["Measurement", "Plan", "Run", "Trajectory", "compile_plan"]

Due = dict[int, list[tuple[str, Choice, bool]]]
"""Step -> the probes due at it: key, choice, and whether the probe needs the next update, which moves the state."""
_NOTHING_JUDGED: Mapping[str, Json] = {"probes": (), "report": (), "claims": (), "grid_seeds": {}, "claim_seeds": {}}
"""What an experiment has of runs that only choose, or that others begin with: they are not measured."""


@dataclass(frozen=True, kw_only=True)
class ResolvedStage(Stage):
    """A stage with the variants that it runs, which have no content keys yet.

    Attributes:
        variants: in the order of the sweep.
        points: the values of the axes of each.
        seeds: of each.
    """

    variants: Sequence[Variant]
    points: Sequence[dict[str, Json]]
    seeds: Sequence[SeedsOfVariant]

    @property
    def identity(self) -> list[Json]:
        """What distinguishes this stage from others of the same spec."""
        if self.undecided:
            return ["tuning", [question.key for question in self.undecided]]
        return ["decisions", decisions_to_json(self.decisions)] if self.decisions else []


def compile_plan(
    document: SpecDocument,
    registries: Mapping[str, Registry[Any]],
    roots: Roots,
    *,
    profile: str | None = None,
    overrides: Sequence[str] = (),
    plugins: Sequence[str] = (),
    decisions: Sequence[Decision] = (),
    memory: int | None = None,
    assume_data: bool = False,
    known_files: FilesRead | None = None,
    other_profiles: bool = True,
) -> Plan:
    """The plan of a spec: of its next round, where it is run in rounds (``Plan.undecided``).

    Args:
        document: the loaded spec.
        registries: those of both wings, by kind.
        roots: folders of data, searched in order.
        profile: one of the spec's profiles.
        overrides: ``path=value``, applied from left to right.
        plugins: the digests of the plugin files that registered pieces.
        decisions: what was chosen on tuning seeds so far.
        memory: bytes that one run may need at its peak. The default is the memory of this machine.
        assume_data: compile although a corpus is absent that determines the length of an epoch. It serves to check a
            spec. The runs of such a plan have the wrong length.
        known_files: what is known of files, which are not read again.
        other_profiles: whether the lines of the profiles that are not chosen are checked as well.

    Raises:
        SpecError: every problem of the spec, profile and overrides at once, each with its place.
        CorpusError: a run is given in epochs, and the corpus that would say how long they are is absent.
    """
    checked = check_spec(
        document,
        registries,
        roots,
        profile=profile,
        overrides=overrides,
        memory=memory,
        known_files=known_files,
        other_profiles=other_profiles,
    )
    if checked.issues:
        raise SpecError(*checked.issues)
    if checked.sweep.epochs.absent and not assume_data:
        raise checked.sweep.epochs.absent[0]
    stage = _next_stage(checked, decisions)
    builder = _build(checked, stage)
    identity = plan_identity(document.path.stem, document.text.encode(), profile, overrides, plugins)
    plan = Plan(
        name=document.path.stem,
        digest=plan_digest([*identity, *stage.identity], checked.inputs),
        # Of several stages the last one is remembered by the identity of the call alone.
        quick=remembered_name([*identity, *(stage.identity if stage.undecided else [])], roots),
        profile=profile,
        overrides=tuple(overrides),
        pins=pin_sentences(checked.merged),
        inputs=checked.inputs,
        data_passes=data_passes(builder.inits.values(), registries),
        files_read=checked.content_keys.files_read(builder.settings.values(), checked.sweep.epochs.batches),
        **builder.parts(),
        **{field.name: getattr(stage, field.name) for field in fields(Stage)},
    )
    return replace(plan, sources=_source_plans(builder, plan))


def _next_stage(checked: CheckedSpec, decisions: Sequence[Decision]) -> ResolvedStage:
    """The stage that follows these decisions."""
    if checked.tuning is None:
        return _judged_stage(checked, ())
    variants = checked.sweep.variants
    questions = []
    for problem in checked.tuning.problems:
        choice = problem.choice
        candidates = tuple(
            (value, checked.content_keys.of(variants[number].setting).variant) for value, number in problem.candidates
        )
        # the word names no key of a spec: what reports have chosen stands under this digest
        key = digest(["select", problem.about, choice.path, choice.rule, list(choice.seeds), candidates])
        questions.append(
            Undecided(
                key=key,
                path=choice.path,
                about=problem.about,
                rule=choice.rule,
                seeds=choice.seeds,
                candidates=candidates,
            )
        )
    decided = {decision.key: decision for decision in decisions}
    pairs = zip(questions, checked.tuning.problems, strict=True)
    undecided = [(question, problem) for question, problem in pairs if question.key not in decided]
    if not undecided:
        return _judged_stage(checked, [decided[question.key] for question in questions])
    seeds: dict[int, SeedsOfVariant] = {
        number: dict.fromkeys(problem.choice.seeds, frozenset())
        for _, problem in undecided
        for _, number in problem.candidates
    }
    all_seeds = tuple(dict.fromkeys(seed for question, _ in undecided for seed in question.seeds))
    trying = [variants[number] for number in seeds]
    return ResolvedStage(
        experiment=checked.experiment.model_copy(update={"seeds": all_seeds, **_NOTHING_JUDGED}),
        variants=trying,
        points=list(map(checked.axes.point, trying)),
        seeds=list(seeds.values()),
        axes=checked.axes.paths,
        undecided=tuple(question for question, _ in undecided),
        later=sum(map(len, _seeds_of(checked, checked.judged))),  # whatever is chosen, as many runs follow
    )


def _judged_stage(checked: CheckedSpec, decisions: Sequence[Decision]) -> ResolvedStage:
    """The runs that are judged, everything being decided."""
    tuning = checked.tuning
    variants = tuning.judged([decision.value for decision in decisions]) if tuning else checked.judged
    scopes = [checked.grids_of_choices[problem.choice.place] for problem in tuning.problems] if tuning else []
    return ResolvedStage(
        experiment=checked.experiment,
        variants=variants,
        points=list(map(checked.axes.point, variants)),
        seeds=_seeds_of(checked, variants),
        axes=(*checked.axes.paths, TIMES) if tuning else checked.axes.paths,
        grid_seeds=checked.grid_seeds,
        claims=tuple(claim.choice for claim in checked.requests.claims),
        sections=tuple(section.choice for section in checked.requests.sections),
        decisions=tuple(
            replace(decision, grid=names, where=where)
            for decision, (names, where) in zip(decisions, scopes, strict=True)
        ),
    )


def _seeds_of(checked: CheckedSpec, variants: Sequence[Variant]) -> Sequence[SeedsOfVariant]:
    """On which seeds each variant is judged, by its grids and by the claims that select it."""
    own = [checked.seeds_of(variant.grids) for variant in variants]
    claim_seeds = checked.experiment.claim_seeds
    return seeds_of_variants(variants_of(variants), own, claim_seeds, checked.requests, checked.registries)


@dataclass
class _Builder:
    """Collects what is to be run, each state and each measurement once.

    Attributes:
        checked: the spec that the runs are of.
        kept: whether the last states are those that other runs begin with.
        inits: each distinct initial state with the init it comes from.
    """

    checked: CheckedSpec
    kept: bool = False
    settings: dict[str, InternedSetting] = field(default_factory=dict)
    points: dict[str, dict[str, Json]] = field(default_factory=dict)
    runs: list[Run] = field(default_factory=list)
    needs: list[tuple[str, int, Choice, str]] = field(default_factory=list)
    inits: dict[str, Choice] = field(default_factory=dict)
    trajectories: dict[str, Trajectory] = field(default_factory=dict)
    _measurements: dict[str, list[Measurement]] = field(default_factory=dict)
    _measured: set[str] = field(default_factory=set)

    def add(
        self,
        setting: InternedSetting,
        point: dict[str, Json],
        variant_keys: VariantKeys,
        due: Due,
        seeds: Iterable[int],
    ) -> None:
        """One variant with all its seeds."""
        self.settings[variant_keys.variant] = setting
        self.points[variant_keys.variant] = point
        source = self.checked.sources.get(setting.texts["init"])
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
            trajectory = self.trajectories.get(key)
            if trajectory is None:
                origin = None
                if source is not None:
                    before = source.keys.trajectory(source.keys.state(source.seed_for(seed)))
                    origin = StateAddress(short_key(before), source.step)
                trajectory = Trajectory(
                    key,
                    seed,
                    setting,
                    run.steps,
                    measurements=(),
                    origin=origin,
                    kept=self.kept,
                    task=variant_keys.task,
                )
                self.trajectories[key] = trajectory
            # A shorter run is the beginning of a longer one with the same key: the longest is trained, once.
            elif run.steps > trajectory.steps:
                self.trajectories[key] = replace(trajectory, setting=setting, steps=run.steps)
            for step, probes in due.items():
                for probe_key, probe, ahead in probes:
                    # What is measured of an initial state alone is shared by all trajectories that start in it.
                    state_key = state if step == 0 and not ahead else moved
                    measurement_key = short_key(digest(["measurement", state_key, step, probe_key]))
                    self.needs.append((run.key, step, probe, measurement_key))
                    if measurement_key not in self._measured:
                        self._measured.add(measurement_key)
                        self._measurements.setdefault(key, []).append(Measurement(measurement_key, step, probe))

    def due(self, requests: Iterable[ResolvedRequest], setting: InternedSetting) -> Due:
        """The probes of a run, by step. A run that trains is evaluated too; a probe listed twice is applied once."""
        keys = self.checked.content_keys
        registry = keys.registries["probe"]
        timed_probes = [(request.choice, request.at) for request in requests]
        train = setting["train"]
        if train["steps"] and EVALUATION in registry.entries:
            timed_probes.insert(0, (registry.resolve(EVALUATION), train["evaluate"]))
        probes_by_step: dict[int, dict[str, tuple[str, Choice, bool]]] = {}
        for choice, at in timed_probes:
            key = str(keys.choice("probe", choice))
            ahead = needs_next_update(registry, choice)
            for step in self.checked.sweep.epochs.probe_steps(registry[choice["kind"]], at, setting):
                probes_by_step.setdefault(step, {})[key] = key, choice, ahead
        return {step: list(probes.values()) for step, probes in sorted(probes_by_step.items())}

    def parts(self) -> dict[str, Any]:
        """What a plan has of it: trajectories in the order of their first runs, measurements in that of their steps."""
        return {
            "settings": self.settings,
            "points": self.points,
            "runs": tuple(self.runs),
            "trajectories": tuple(
                replace(trajectory, measurements=tuple(sorted(self._measurements.get(key, ()), key=lambda m: m.step)))
                for key, trajectory in self.trajectories.items()
            ),
            "needs": tuple(self.needs),
        }


def _build(checked: CheckedSpec, stage: ResolvedStage) -> _Builder:
    """The runs of one stage of a checked spec. Tuning runs are not measured."""
    builder = _Builder(checked)
    probes = [] if stage.undecided else checked.requests.probes
    read_by = {
        claims: probes_read_by(claims, checked.requests, checked.registries)
        for claims in {claims for seeds in stage.seeds for claims in seeds.values()}
    }
    schedules: dict[tuple[str, str, frozenset[int]], Due] = {}
    for variant, point, seeds in zip(stage.variants, stage.points, stage.seeds, strict=True):
        setting = variant.setting
        variant_keys = checked.content_keys.of(setting)
        of_grids = frozenset(place for place, probe in enumerate(probes) if probe.is_applied(variant.grids))
        for claims, of_claims in groupby(seeds.items(), key=itemgetter(1)):
            applied = of_grids & read_by[claims]
            # Most variants differ in nothing that says when a probe is due: their probes are put in order once.
            schedule = (setting.texts["task"], setting.texts["train"], applied)
            if schedule not in schedules:
                schedules[schedule] = builder.due([probes[place] for place in sorted(applied)], setting)
            builder.add(setting, point, variant_keys, schedules[schedule], [seed for seed, _ in of_claims])
    return builder


def _source_plans(builder: _Builder, plan: Plan) -> tuple[Plan, ...]:
    """What is computed before a plan, as plans: one for each spec and step whose states its runs begin with.

    Its runs are those of that spec up to the step. The evaluations that their stop rule may read are those of that
    spec. Nothing else is measured.
    """
    used = {setting.texts["init"] for setting in builder.settings.values()}
    groups: dict[tuple[int, str], dict[tuple[Json, ...], SourceRun]] = {}
    for run in (run for text, run in builder.checked.sources.items() if text in used):
        group = groups.setdefault((run.step, str(run.checked.document.path)), {})
        group.setdefault(tuple(run.content), run)
    all_seeds = dict.fromkeys(run.seed for run in plan.runs)
    plans = []
    for number, place in enumerate(sorted(groups)):  # the smallest step first
        runs = list(groups[place].values())
        other = runs[0].checked
        earlier = _Builder(other, kept=True)
        for run in runs:
            due = {step: what for step, what in earlier.due((), run.setting).items() if step <= run.step}
            # Several runs may begin with one state: where a seed is named, all of them do.
            own_seeds = dict.fromkeys(map(run.seed_for, all_seeds))
            point: dict[str, Json] = {"init.spec": other.document.path.stem}
            earlier.add(run.setting, point, replace(run.keys, steps=run.step), due, own_seeds)
        seeds = tuple(sorted({run.seed for run in earlier.runs}))
        before = Plan(
            name=other.document.path.stem,
            digest=digest([plan.digest, "source", number]),
            quick=digest([plan.quick, "source", number]),
            experiment=other.experiment.model_copy(update={"seeds": seeds, **_NOTHING_JUDGED}),
            profile=plan.profile,
            overrides=plan.overrides,
            axes=("init.spec",),
            pins=(),
            inputs=plan.inputs,
            **earlier.parts(),
        )
        # The runs of the other spec may begin with those of a third one.
        plans.append(replace(before, sources=_source_plans(earlier, before)))
    return tuple(plans)
