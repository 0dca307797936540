"""A document -> its plan: expand, resolve, check for contradictions, and compute all keys.

All problems of a spec are reported at once. A mistake in one place does not hide a mistake in another, but what follows
from a mistake (a selection that selects no run, because its axis is misspelt) is reported only once that is corrected.
"""

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from lnlab.compile.check import check_spec
from lnlab.compile.checked import SourceRun
from lnlab.compile.cost.data_passes import data_passes
from lnlab.compile.decisions import Decision
from lnlab.compile.digests import plan_digest, plan_identity, remembered_name
from lnlab.compile.plan_builder import plan_source, plan_stage
from lnlab.compile.source_runs import by_step
from lnlab.compile.stages import next_stage
from lnlab.compile.sweep.overlay import pin_sentences
from lnlab.compile.work import Measurement, Plan, Run, Stage, Trajectory
from lnlab.errors import SpecError
from lnlab.keys import Json, canonical, digest
from lnlab.registry import Registry, Roots
from lnlab.specfile.load import SpecDocument

__all__ = ["Measurement", "Plan", "Run", "Trajectory", "compile_plan"]


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
        other_profiles=other_profiles,
    )
    if checked.issues:
        raise SpecError(*checked.issues)
    if checked.sweep.epochs.absent and not assume_data:
        raise checked.sweep.epochs.absent[0]
    document = checked.document
    stage = next_stage(checked, decisions)
    builder = plan_stage(checked, stage)
    identity = plan_identity(document.path.stem, document.text.encode(), profile, overrides, plugins)
    plan = Plan(
        name=document.path.stem,
        digest=plan_digest([*identity, *stage.identity], checked.inputs),
        # Of several stages the last one is remembered by the identity of the call alone.
        quick=remembered_name([*identity, *(stage.identity if stage.undecided else [])], roots),
        profile=profile,
        overrides=tuple(overrides),
        settings=builder.settings,
        points=builder.points,
        runs=tuple(builder.runs),
        trajectories=builder.trajectories(),
        needs=tuple(builder.needs),
        pins=pin_sentences(checked.merged),
        inputs=checked.inputs,
        data_passes=data_passes(builder.inits.values(), registries),
        **{field.name: getattr(stage, field.name) for field in fields(Stage)},
    )
    return replace(plan, sources=_source_plans(checked.sources, plan))


def _source_plans(sources: Mapping[str, SourceRun], plan: Plan) -> tuple[Plan, ...]:
    """What is computed before a plan, as plans: one for each spec and step whose states its runs begin with."""
    used = {canonical(trajectory.setting["init"]) for trajectory in plan.trajectories} if sources else set()
    nothing: Mapping[str, Json] = {"probes": (), "report": (), "claims": (), "grid_seeds": {}, "claim_seeds": {}}
    plans = []
    for number, runs in enumerate(by_step({text: run for text, run in sources.items() if text in used})):
        other = runs[0].checked
        builder = plan_source(runs, dict.fromkeys(run.seed for run in plan.runs))
        seeds = tuple(sorted({run.seed for run in builder.runs}))
        before = Plan(
            name=other.document.path.stem,
            digest=digest([plan.digest, "source", number]),
            quick=digest([plan.quick, "source", number]),
            experiment=other.experiment.model_copy(update={"seeds": seeds, **nothing}),
            profile=plan.profile,
            overrides=plan.overrides,
            axes=("init.spec",),
            settings=builder.settings,
            points=builder.points,
            runs=tuple(builder.runs),
            trajectories=builder.trajectories(),
            needs=tuple(builder.needs),
            pins=(),
            inputs=plan.inputs,
        )
        # The runs of the other spec may begin with those of a third one.
        plans.append(replace(before, sources=_source_plans(other.sources, before)))
    return tuple(plans)
