"""An experiment in stages: first the tuning runs of what is not decided yet, then the runs that are judged."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from lnlab.compile.checked import Checked
from lnlab.compile.decisions import Decision, Undecided, decisions_to_json
from lnlab.compile.interned import InternedSetting
from lnlab.compile.selection.claim_seeds import SeedsOfVariant, default_references, seeds_of_variants
from lnlab.compile.tuning.problems import TuningPlan, tuning_question, variants_of
from lnlab.compile.work import Stage
from lnlab.errors import LabError
from lnlab.issues import Issue
from lnlab.keys import Json, canonical, digest
from lnlab.select.variants import Variants
from lnlab.specfile.columns import TIMES
from lnlab.specfile.values import kind_label


@dataclass(frozen=True, kw_only=True)
class ResolvedStage(Stage):
    """A stage with the settings that it runs, which have no content keys yet.

    Attributes:
        settings: resolved, each with the values of its axes, in the order of the sweep.
        seeds: of each setting.
        grids: the numbers of the grids of each setting.
    """

    settings: tuple[tuple[InternedSetting, dict[str, Json]], ...]
    seeds: Sequence[SeedsOfVariant]
    grids: Sequence[Collection[int]]

    @property
    def identity(self) -> list[Json]:
        """What distinguishes this stage from others of the same spec."""
        if self.undecided:
            return ["tuning", [question.key for question in self.undecided]]
        return ["decisions", decisions_to_json(self.decisions)] if self.decisions else []


def next_stage(checked: Checked, decisions: Sequence[Decision]) -> ResolvedStage:
    """The stage that follows these decisions."""
    if checked.tuning is None:
        settings = tuple((setting, checked.point(number)) for number, setting in enumerate(checked.settings))
        variants = Variants(checked.settings, checked.sweep.methods)
        return _judged_stage(checked, settings, variants, checked.sweep.grids, checked.axes.paths)
    questions = []
    for problem in checked.tuning.problems:
        select = problem.select
        variant_keys = [checked.content_keys.of(checked.settings[number]).variant for _, number in problem.candidates]
        candidates = tuple(zip((value for value, _ in problem.candidates), variant_keys, strict=True))
        key = digest(["select", problem.about, select.path, select.rule, list(select.seeds), candidates])
        questions.append(
            Undecided(
                key=key,
                path=select.path,
                about=problem.about,
                rule=select.rule,
                seeds=select.seeds,
                candidates=candidates,
            )
        )
    decided = {decision.key: decision for decision in decisions}
    pairs = zip(questions, checked.tuning.problems, strict=True)
    undecided = [(question, problem) for question, problem in pairs if question.key not in decided]
    if not undecided:
        return _tuned_stage(checked, checked.tuning, tuple(decided[question.key] for question in questions))
    # The runs that choose: they are not measured, and nothing is claimed of them.
    nothing: Mapping[str, Json] = {"probes": (), "report": (), "claims": (), "grid_seeds": {}, "claim_seeds": {}}
    seeds: dict[int, SeedsOfVariant] = {
        number: dict.fromkeys(problem.select.seeds, frozenset())
        for _, problem in undecided
        for _, number in problem.candidates
    }
    all_seeds = tuple(dict.fromkeys(seed for question, _ in undecided for seed in question.seeds))
    assumed = checked.tuning.assumed()  # whatever is chosen, as many runs follow
    later = _seeds_of_variants(checked, variants_of(assumed), [variant.grids for variant in assumed])
    return ResolvedStage(
        experiment=checked.experiment.model_copy(update={"seeds": all_seeds, **nothing}),
        settings=tuple((checked.settings[number], checked.point(number)) for number in seeds),
        seeds=list(seeds.values()),
        grids=[checked.sweep.grids[number] for number in seeds],
        axes=checked.axes.paths,
        undecided=tuple(question for question, _ in undecided),
        later=sum(map(len, later)),
    )


class ChoiceNotMade(LabError):
    """A spec chooses something on tuning seeds that its runs did not decide."""


def final_stage(checked: Checked, decisions: Sequence[Decision]) -> ResolvedStage:
    """The runs that are judged, given every decision. No corpus is read: decisions are known by what they are about.

    Raises:
        ChoiceNotMade: the spec chooses something that was not decided.
    """
    if checked.tuning is None:
        return next_stage(checked, ())
    # The keys of a decision's variants depend on corpora, so it is found by what it is about and what was tried.
    by_content = {
        canonical([d.path, dict(d.about), dict(d.rule), list(d.seeds), [c.value for c in d.candidates]]): d
        for d in decisions
    }
    decided = []
    for problem in checked.tuning.problems:
        select = problem.select
        content = canonical(tuning_question(problem))
        if content not in by_content:
            where = ", ".join(f"{axis} = {kind_label(value)}" for axis, value in problem.about.items()) or "all runs"
            what = f"the choice of '{select.path}' for {where} was not made in these runs"
            place = checked.document.where(checked.merged.stated_path(select.place))
            raise ChoiceNotMade(Issue("wrong-value", place, what, "run the spec again"))
        decided.append(by_content[content])
    return _tuned_stage(checked, checked.tuning, tuple(decided))


def _tuned_stage(checked: Checked, tuning: TuningPlan, decided: tuple[Decision, ...]) -> ResolvedStage:
    """The runs that are judged, everything being decided."""
    judged = tuning.judged([decision.value for decision in decided])
    points = ({**checked.axes.point(variant.setting, variant.method), TIMES: variant.times} for variant in judged)
    settings = tuple(zip((variant.setting for variant in judged), points, strict=True))
    grids = [variant.grids for variant in judged]
    scopes = [checked.grids_of_choices[problem.select.place] for problem in tuning.problems]
    decided = tuple(
        replace(decision, grid=names, where=where) for decision, (names, where) in zip(decided, scopes, strict=True)
    )
    return _judged_stage(checked, settings, variants_of(judged), grids, (*checked.axes.paths, TIMES), decided)


def _judged_stage(
    checked: Checked,
    settings: tuple[tuple[InternedSetting, dict[str, Json]], ...],
    variants: Variants,
    grids: Sequence[Collection[int]],
    axes: tuple[str, ...],
    decisions: tuple[Decision, ...] = (),
) -> ResolvedStage:
    return ResolvedStage(
        experiment=checked.experiment,
        settings=settings,
        seeds=_seeds_of_variants(checked, variants, grids),
        grids=grids,
        axes=axes,
        grid_seeds=checked.grid_seeds,
        claims=tuple(claim.choice for claim in checked.requests.claims),
        sections=tuple(section.choice for section in checked.requests.sections),
        decisions=decisions,
    )


def _seeds_of_variants(
    checked: Checked, variants: Variants, grids: Sequence[Collection[int]]
) -> Sequence[SeedsOfVariant]:
    """On which seeds each variant is judged, by the numbers of its grids and by what claims select."""
    own = [checked.seeds_of(of_variant) for of_variant in grids]
    against = default_references(checked.registries)
    return seeds_of_variants(variants, own, checked.experiment.claim_seeds, checked.requests, against)
