"""A document -> its plan: expand, resolve, look for contradictions, and give everything its key.

Every problem of the spec is found before any is reported. What is wrong in one place does not hide what is wrong in
another, but what follows from something wrong (a selection that finds nothing, because its axis is misspelt) is kept
back until that is mended.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from lnlab.compile.check import Checked, check
from lnlab.compile.data import data_passes
from lnlab.compile.digests import asked, plan_digest, remembered_name
from lnlab.compile.gather import gather
from lnlab.compile.overlay import pin_sentences
from lnlab.compile.work import Measurement, Plan, Run, Setting, Trajectory
from lnlab.errors import SpecError
from lnlab.registry import Registry, Roots
from lnlab.spec.load import Document

__all__ = ["Measurement", "Plan", "Run", "Setting", "Trajectory", "compile_plan"]


def compile_plan(
    document: Document,
    registries: Mapping[str, Registry[Any]],
    roots: Roots,
    *,
    profile: str | None = None,
    overrides: Sequence[str] = (),
    plugins: Sequence[str] = (),
    memory: int | None = None,
) -> Plan:
    """The plan of a spec.

    Args:
        document: the loaded spec.
        registries: those of both wings, by kind.
        roots: where data are looked for.
        profile: one of the spec's profiles.
        overrides: ``path=value``, applied from left to right.
        plugins: the digests of the plugin files that registered pieces.
        memory: bytes that one run may need at its peak; by default those of this machine.

    Raises:
        SpecError: every problem of the spec, profile and overrides at once, each with its place.
        CorpusError: a run is given in epochs, and the corpus that would say how long they are is absent.
    """
    checked = check(document, registries, roots, profile=profile, overrides=overrides, memory=memory)
    if checked.problems:
        raise SpecError(*checked.problems)
    if checked.settled.epochs.absent:
        raise checked.settled.epochs.absent[0]
    return _planned(checked, roots, profile, tuple(overrides), tuple(plugins))


def _planned(
    checked: Checked, roots: Roots, profile: str | None, overrides: tuple[str, ...], plugins: tuple[str, ...]
) -> Plan:
    """The plan of a spec that is sound."""
    document = checked.document
    question = asked(document.path.stem, document.text.encode(), profile, overrides, plugins)
    work = gather(checked)
    return Plan(
        name=document.path.stem,
        digest=plan_digest(question, checked.inputs),
        quick=remembered_name(question, roots),
        experiment=checked.experiment,
        profile=profile,
        overrides=overrides,
        axes=checked.axes.paths,
        settings=work.settings,
        points=work.points,
        runs=tuple(work.runs),
        trajectories=work.trajectories(),
        needs=tuple(work.needs),
        pins=pin_sentences(checked.draft),
        claims=tuple(claim.choice for claim in checked.questions.claims),
        sections=tuple(section.choice for section in checked.questions.sections),
        inputs=checked.inputs,
        data_passes=data_passes(work.inits.values(), checked.identities.registries),
    )
