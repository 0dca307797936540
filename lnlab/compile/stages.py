"""An experiment in rounds: first the tuning runs of what is not decided yet, then the runs that are judged."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from lnlab.compile.check import Checked
from lnlab.compile.decisions import Decision, Undecided
from lnlab.compile.selection.selection import shown
from lnlab.compile.tuning.problems import Contest, Tuning
from lnlab.compile.work import Setting
from lnlab.errors import LabError, Problem
from lnlab.keys import Json, canonical, digest
from lnlab.specfile.columns import TIMES
from lnlab.specfile.experiment import Experiment


@dataclass(frozen=True)
class Round:
    """What is run before the results are looked at again.

    Attributes:
        experiment: as this round asks it: tuning runs are not measured, and nothing is claimed of them.
        settings: resolved, each with the values of its axes.
        axes: what those axes are.
        undecided: what the runs are to choose; none: they are judged.
        decisions: what was chosen before.
        later: how many runs follow.
    """

    experiment: Experiment
    settings: tuple[tuple[Setting, dict[str, Json]], ...]
    axes: tuple[str, ...]
    undecided: tuple[Undecided, ...] = ()
    decisions: tuple[Decision, ...] = ()
    later: int = 0

    @property
    def name(self) -> list[Json]:
        """What tells this round from others of the same spec."""
        if self.undecided:
            return ["tuning", [question.key for question in self.undecided]]
        return ["decisions", [asdict(decision) for decision in self.decisions]] if self.decisions else []


def next_round(checked: Checked, decisions: Sequence[Decision]) -> Round:
    """The round that follows these decisions."""
    experiment, axes = checked.experiment, checked.axes.paths
    if checked.tuning is None:
        every = enumerate(checked.settings)
        return Round(experiment, tuple((setting, checked.point(number)) for number, setting in every), axes)
    questions = [_question(contest, checked.tuning, checked) for contest in checked.tuning.contests]
    made = {decision.key: decision for decision in decisions}
    lacking = [(q, c) for q, c in zip(questions, checked.tuning.contests, strict=True) if q.key not in made]
    if lacking:
        return _tuning(checked, checked.tuning, lacking)
    return _judged(checked, checked.tuning, tuple(made[question.key] for question in questions))


def last_round(checked: Checked, decisions: Sequence[Decision]) -> Round:
    """The runs that are judged, given every decision. No corpus is read: decisions are known by what they are about.

    Raises:
        LabError: the spec chooses something that was not decided.
    """
    if checked.tuning is None:
        return next_round(checked, ())
    chosen = checked.tuning.choosing
    given = {canonical(_content(d, [tried.value for tried in d.candidates])): d for d in decisions}
    found = []
    for contest in checked.tuning.contests:
        about = Undecided("", chosen.path, contest.about, chosen.rule, chosen.seeds, ())
        decision = given.get(canonical(_content(about, [value for value, _ in contest.candidates])))
        if decision is None:
            where = ", ".join(f"{axis} = {shown(value)}" for axis, value in contest.about.items()) or "all runs"
            what = f"what is chosen by '{chosen.path}' for {where} was not decided in these runs"
            raise LabError(Problem(checked.document.where(("select",)), what, "run the spec again"))
        found.append(decision)
    return _judged(checked, checked.tuning, tuple(found))


def _content(question: Undecided | Decision, values: Sequence[Json]) -> list[Json]:
    """What a decision is about, without the keys of the variants that tried it."""
    return [question.path, dict(question.about), dict(question.rule), list(question.seeds), list(values)]


def _judged(checked: Checked, tuning: Tuning, decided: tuple[Decision, ...]) -> Round:
    """The runs that are judged, everything being decided."""
    found = tuning.judged(checked.settings, [decision.value for decision in decided])
    points = ({**checked.axes.point(each.setting, each.method), TIMES: each.times} for each in found)
    settings = tuple(zip((each.setting for each in found), points, strict=True))
    return Round(checked.experiment, settings, (*checked.axes.paths, TIMES), decisions=decided)


def _tuning(checked: Checked, tuning: Tuning, lacking: Sequence[tuple[Undecided, Contest]]) -> Round:
    """The runs that choose."""
    numbers = dict.fromkeys(number for _, contest in lacking for _, number in contest.candidates)
    nothing = {"probes": (), "report": (), "claims": ()}
    experiment = checked.experiment.model_copy(update={"seeds": tuning.choosing.seeds, **nothing})
    settings = tuple((checked.settings[number], checked.point(number)) for number in numbers)
    later = tuning.judged_variants * len(checked.experiment.seeds)
    return Round(experiment, settings, checked.axes.paths, tuple(question for question, _ in lacking), later=later)


def _question(contest: Contest, tuning: Tuning, checked: Checked) -> Undecided:
    """A contest as data, whose variants are named by their keys."""
    chosen = tuning.choosing
    candidates = tuple((v, checked.identities.of(checked.settings[n]).variant) for v, n in contest.candidates)
    about: list[Json] = [contest.about, chosen.path, chosen.rule, list(chosen.seeds), candidates]
    return Undecided(digest(["select", *about]), chosen.path, contest.about, chosen.rule, chosen.seeds, candidates)
