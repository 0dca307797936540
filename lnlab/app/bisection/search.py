"""``lnlab bisect``: the change that moved a verdict, by judging as few specs between two versions as tell."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from lnlab.app.bisection.changes import SpecChange, about_claim, applied, changes_between
from lnlab.app.bisection.code_history import CodeHistory, code_commits
from lnlab.app.bisection.judge import ClaimJudge
from lnlab.app.bisection.versions import changed_corpora, changed_versions, same_keys
from lnlab.app.comparison.revisions import Commit
from lnlab.app.comparison.sides import Side
from lnlab.errors import LabError, Problem, SpecError
from lnlab.keys import Json
from lnlab.specfile.load import read_data

if TYPE_CHECKING:
    pass


@dataclass(frozen=True)
class Trial:
    """A spec between the two that was judged: what it has of the changes, and its verdict, or why it has none."""

    what: str
    verdict: str


@dataclass(frozen=True)
class Bisection:
    """What moved the verdict.

    Attributes:
        claim: its id.
        good: its verdict on the first side.
        bad: its verdict on the second side.
        cause: ``spec``, ``code or corpus``, ``code``, ``rows``: nothing but the numbers themselves, or
            ``code or rows`` where the history of the code is not at hand.
        changes: what moved it, in words; several where none can be told from the others.
        trials: what was judged on the way.
        units: how many units were computed for it.
    """

    claim: str
    good: str
    bad: str
    cause: str
    changes: tuple[str, ...]
    trials: tuple[Trial, ...]
    units: int


def bisect_claim(good: Side, bad: Side, judge: ClaimJudge, on_trial: Callable[[Trial], None]) -> Bisection:
    """Find what moved the verdict of a claim between two sides.

    Raises:
        LabError: a side does not judge the claim or lacks its spec, or both have the same verdict.
    """
    words = [_verdict_word(side, judge.claim) for side in (good, bad)]
    if words[0] == words[1]:
        what = f"is {words[0]} in {good.label} and in {bad.label}"
        raise LabError(Problem(judge.claim, what, "name two sides with other verdicts: lnlab diff lists them"))
    specs = [about_claim(_spec(side), judge.claim, judge.profile) for side in (good, bad)]
    changes = changes_between(*specs)
    trials: list[Trial] = []

    def judged(trial: Trial) -> None:
        trials.append(trial)
        on_trial(trial)

    def word_of(number: int) -> str | None:
        """The verdict with so many of the changes; None where a spec with just these is wrong."""
        try:
            word: str | None = judge.verdict(applied(specs[0], changes[:number])).verdict
        except SpecError as error:
            word = None
            reason = str(error.problems[0])
        judged(Trial(f"{number} of {len(changes)} changes", word or f"is no spec: {reason}"))
        return word

    outcome = Bisection(claim=judge.claim, good=words[0], bad=words[1], cause="", changes=(), trials=(), units=0)

    def by_code(spec: Mapping[str, Json], otherwise: str) -> Bisection:
        """Nothing that has a name explains it: the commit is searched for whose code does."""
        try:
            commits = () if _same_code(good, bad) else code_commits(good.label, bad.label)
        except LabError as error:
            return _ended(outcome, "code or rows", (f"{otherwise} ({error.problems[0]})",), trials, judge)
        history = CodeHistory(
            commits=commits,
            spec=spec,
            name=bad.name,
            profile=judge.profile,
            claim=judge.claim,
            workers=judge.options.workers,
        )
        moved = _moving_commits(history, words[0], judged)
        labels = tuple(commit.label for commit in moved)
        return _ended(outcome, *(("code", labels) if moved else ("rows", (otherwise,))), trials, judge)

    plan, _ = judge.plan(specs[0])
    if not same_keys(plan, good) and word_of(0) != words[0]:
        if causes := (*changed_corpora(good, bad), *changed_versions(plan, good, judge)):
            return _ended(outcome, "code or corpus", causes, trials, judge)
        return by_code(specs[0], "code or a corpus that the sides do not name")
    if not changes:
        return by_code(specs[1], "the specs, the versions and the corpora are the same")
    low, high = _search(word_of, words[0], len(changes))
    if high > len(changes):
        if causes := tuple(changed_corpora(good, bad)):
            return _ended(outcome, "code or corpus", causes, trials, judge)
        return by_code(specs[1], "code that has changed since, or rows that differ")
    moved: Sequence[SpecChange] = changes[low:high]
    return _ended(outcome, "spec", tuple(change.label for change in moved), trials, judge)


def _same_code(good: Side, bad: Side) -> bool:
    """Whether both locks name the same code."""
    return "code" in good.provenance and good.provenance["code"] == bad.provenance.get("code")


def _moving_commits(history: CodeHistory, good: str, on_trial: Callable[[Trial], None]) -> Sequence[Commit]:
    """The commit that moved the verdict, with its neighbours whose code cannot be run; none where code did not."""
    words: dict[int, str | None] = {}

    def word_of(number: int) -> str | None:
        """The verdict after so many of the commits; None where that code cannot judge the spec."""
        if number not in words:
            commit = history.commits[number - 1]
            try:
                words[number] = shown = history.verdict(commit)
            except SpecError as error:
                words[number] = None
                shown = f"cannot be judged: {error.problems[0].what}"
            on_trial(Trial(commit.label, shown))
        return words[number]

    total = len(history.commits)
    if not total or word_of(total) in (None, good):
        return ()
    low, high = _search(word_of, good, total)
    return history.commits[low:high]


def _ended(
    outcome: Bisection, cause: str, changes: tuple[str, ...], trials: Sequence[Trial], judge: ClaimJudge
) -> Bisection:
    return replace(outcome, cause=cause, changes=changes, trials=tuple(trials), units=judge.units)


def _verdict_word(side: Side, claim: str) -> str:
    if side.verdicts is None or claim not in side.verdicts:
        raise LabError(Problem(side.label, f"has no verdict on '{claim}'", "name two locks or reports that judge it"))
    return side.verdicts[claim].verdict


def _spec(side: Side) -> dict[str, Json]:
    if side.text is None:
        raise LabError(Problem(side.label, "comes without its spec", "name a lock with its spec, or its report"))
    data, _, faults = read_data(side.text)
    if faults or not isinstance(data, dict):
        raise LabError(Problem(side.label, "has a spec that this lnlab cannot read", "name a later version"))
    return data


def _search(word_of: Callable[[int], str | None], good: str, total: int) -> tuple[int, int]:
    """The last number of changes with the good verdict, and the next that is known to have another.

    A number whose spec is wrong is passed over, and its change is told with its neighbours. ``total + 1``: with all
    changes the verdict is still the good one.
    """
    last = word_of(total)
    if last == good:
        return total, total + 1
    low, high, wrong = 0, total, set[int]()
    while numbers := [n for n in range(low + 1, high) if n not in wrong]:
        middle = min(numbers, key=lambda n: abs(n - (low + high) / 2))
        word = word_of(middle)
        if word is None:
            wrong.add(middle)
        elif word == good:
            low = middle
        else:
            high = middle
    return low, high
