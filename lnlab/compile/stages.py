"""An experiment in stages: first the tuning runs of what is not decided yet, then the runs that are judged."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from lnlab.compile.checked import Checked
from lnlab.compile.decisions import Decision, Undecided
from lnlab.compile.interned import InternedSetting
from lnlab.compile.selection.claim_seeds import seeds_of_variants
from lnlab.compile.selection.measured_quantities import stated_facts
from lnlab.compile.tuning.problems import TuningPlan, TuningProblem, variants_of
from lnlab.errors import LabError
from lnlab.issues import Issue
from lnlab.keys import Json, canonical, digest
from lnlab.select.variants import Variants
from lnlab.specfile.columns import TIMES
from lnlab.specfile.experiment import Experiment
from lnlab.specfile.values import kind_label


@dataclass(frozen=True)
class Stage:
    """What is run before results are evaluated again.

    Attributes:
        experiment: of this stage: tuning runs are not measured, and nothing is claimed of them.
        settings: resolved, each with the values of its axes.
        seeds: of each setting.
        axes: what those axes are.
        undecided: what the runs are to choose; none: they are judged.
        decisions: what was chosen before.
        later: how many runs follow.
    """

    experiment: Experiment
    settings: tuple[tuple[InternedSetting, dict[str, Json]], ...]
    seeds: Sequence[tuple[int, ...]]
    axes: tuple[str, ...]
    undecided: tuple[Undecided, ...] = ()
    decisions: tuple[Decision, ...] = ()
    later: int = 0

    @property
    def name(self) -> list[Json]:
        """What distinguishes this stage from others of the same spec."""
        if self.undecided:
            return ["tuning", [question.key for question in self.undecided]]
        return ["decisions", [asdict(decision) for decision in self.decisions]] if self.decisions else []


def next_stage(checked: Checked, decisions: Sequence[Decision]) -> Stage:
    """The stage that follows these decisions."""
    experiment = checked.experiment
    axes = checked.axes.paths
    if checked.tuning is None:
        settings = tuple((setting, checked.point(number)) for number, setting in enumerate(checked.settings))
        variants = Variants(checked.settings, checked.sweep.methods)
        return Stage(experiment, settings, _seeds_of_variants(checked, variants), axes)
    questions = [_undecided(problem, checked.tuning, checked) for problem in checked.tuning.problems]
    decided = {decision.key: decision for decision in decisions}
    pairs = zip(questions, checked.tuning.problems, strict=True)
    undecided = [(question, problem) for question, problem in pairs if question.key not in decided]
    if undecided:
        return _tuning_stage(checked, checked.tuning, undecided)
    return _judged_stage(checked, checked.tuning, tuple(decided[question.key] for question in questions))


def final_stage(checked: Checked, decisions: Sequence[Decision]) -> Stage:
    """The runs that are judged, given every decision. No corpus is read: decisions are known by what they are about.

    Raises:
        LabError: the spec chooses something that was not decided.
    """
    if checked.tuning is None:
        return next_stage(checked, ())
    select = checked.tuning.select
    by_content = {}
    for decision in decisions:
        values = [candidate.value for candidate in decision.candidates]
        by_content[canonical(_decision_content(decision, values))] = decision
    decided = []
    for problem in checked.tuning.problems:
        about = Undecided(
            key="", path=select.path, about=problem.about, rule=select.rule, seeds=select.seeds, candidates=()
        )
        values = [value for value, _ in problem.candidates]
        content = canonical(_decision_content(about, values))
        if content not in by_content:
            where = ", ".join(f"{axis} = {kind_label(value)}" for axis, value in problem.about.items()) or "all runs"
            what = f"what is chosen by '{select.path}' for {where} was not decided in these runs"
            raise LabError(Issue("wrong-value", checked.document.where(("select",)), what, "run the spec again"))
        decided.append(by_content[content])
    return _judged_stage(checked, checked.tuning, tuple(decided))


def _decision_content(question: Undecided | Decision, values: Sequence[Json]) -> list[Json]:
    """What a decision is about, without the keys of the variants that tried it."""
    return [question.path, dict(question.about), dict(question.rule), list(question.seeds), list(values)]


def _judged_stage(checked: Checked, tuning: TuningPlan, decided: tuple[Decision, ...]) -> Stage:
    """The runs that are judged, everything being decided."""
    judged = tuning.judged(checked.settings, [decision.value for decision in decided])
    points = ({**checked.axes.point(variant.setting, variant.method), TIMES: variant.times} for variant in judged)
    settings = tuple(zip((variant.setting for variant in judged), points, strict=True))
    seeds = _seeds_of_variants(checked, variants_of(judged))
    return Stage(checked.experiment, settings, seeds, (*checked.axes.paths, TIMES), decisions=decided)


def _seeds_of_variants(checked: Checked, variants: Variants) -> Sequence[tuple[int, ...]]:
    """On which seeds each variant is judged."""
    experiment = checked.experiment
    against = stated_facts(checked.registries, "reference")
    if not experiment.claim_seeds:
        return [experiment.seeds] * len(variants.settings)
    return seeds_of_variants(variants, experiment, checked.requests, against)


def _tuning_stage(checked: Checked, tuning: TuningPlan, undecided: Sequence[tuple[Undecided, TuningProblem]]) -> Stage:
    """The runs that choose."""
    numbers = dict.fromkeys(number for _, problem in undecided for _, number in problem.candidates)
    nothing: Mapping[str, Json] = {"probes": (), "report": (), "claims": (), "claim_seeds": {}}
    experiment = checked.experiment.model_copy(update={"seeds": tuning.select.seeds, **nothing})
    settings = tuple((checked.settings[number], checked.point(number)) for number in numbers)
    later = sum(map(len, _seeds_of_variants(checked, variants_of(tuning.assumed(checked.settings)))))
    seeds = [tuning.select.seeds] * len(settings)
    questions = tuple(question for question, _ in undecided)
    return Stage(
        experiment=experiment, settings=settings, seeds=seeds, axes=checked.axes.paths, undecided=questions, later=later
    )


def _undecided(problem: TuningProblem, tuning: TuningPlan, checked: Checked) -> Undecided:
    """A tuning problem as data, whose variants are named by their keys."""
    select = tuning.select
    variants = (checked.content_keys.of(checked.settings[number]).variant for _, number in problem.candidates)
    candidates = tuple(zip((value for value, _ in problem.candidates), variants, strict=True))
    about: list[Json] = [problem.about, select.path, select.rule, list(select.seeds), candidates]
    return Undecided(
        key=digest(["select", *about]),
        path=select.path,
        about=problem.about,
        rule=select.rule,
        seeds=select.seeds,
        candidates=candidates,
    )
