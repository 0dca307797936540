"""``lnlab bisect``: the change that moved a verdict, by judging as few specs between two versions as tell."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from lnlab.app.bisection.changes import SpecChange, about_claim, applied, changes_between
from lnlab.app.bisection.code_history import CodeHistory, code_commits
from lnlab.app.bisection.judge import ClaimJudge
from lnlab.app.bisection.versions import changed_corpora, changed_versions, same_keys
from lnlab.app.comparison.revisions import Commit
from lnlab.app.comparison.sides import Side
from lnlab.errors import LabError, Problem, SpecError
from lnlab.keys import Json
from lnlab.specfile.document import read_data


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
    before, after = (about_claim(_spec(side), judge.claim, judge.profile) for side in (good, bad))
    search = _ClaimSearch(good=good, bad=bad, judge=judge, on_trial=on_trial, words=words, before=before, after=after)
    return search.cause()


@dataclass
class _ClaimSearch:
    """The search for what moved the verdict of a claim.

    Attributes:
        good: the first side.
        bad: the second side.
        judge: of the claim, for any spec.
        on_trial: called with every trial.
        words: the verdict on either side.
        before: the spec of the first side, as far as it is about the claim.
        after: that of the second side.
        trials: what was judged so far.
    """

    good: Side
    bad: Side
    judge: ClaimJudge
    on_trial: Callable[[Trial], None]
    words: Sequence[str]
    before: dict[str, Json]
    after: dict[str, Json]
    trials: list[Trial] = field(default_factory=list)

    @cached_property
    def changes(self) -> Sequence[SpecChange]:
        """Of the spec, from the first side to the second."""
        return changes_between(self.before, self.after)

    def cause(self) -> Bisection:
        """What moved it: what today makes of the first spec, else a change of the spec, else one of the code."""
        plan, _ = self.judge.plan(self.before)
        if not same_keys(plan, self.good) and self._word_after_changes(0) != self.words[0]:
            if causes := (*changed_corpora(self.good, self.bad), *changed_versions(plan, self.good, self.judge)):
                return self._ended("code or corpus", causes)
            return self._by_code(self.before, "code or a corpus that the sides do not name")
        if not self.changes:
            return self._by_code(self.after, "the specs, the versions and the corpora are the same")
        low, high = _search(self._word_after_changes, self.words[0], len(self.changes))
        if high > len(self.changes):
            if causes := tuple(changed_corpora(self.good, self.bad)):
                return self._ended("code or corpus", causes)
            return self._by_code(self.after, "code that has changed since, or rows that differ")
        return self._ended("spec", tuple(change.label for change in self.changes[low:high]))

    def _word_after_changes(self, number: int) -> str | None:
        """The verdict with so many of the changes; None where a spec with just these is wrong."""
        try:
            word: str | None = self.judge.verdict(applied(self.before, self.changes[:number])).verdict
        except SpecError as error:
            word = None
            reason = str(error.problems[0])
        self._judged(Trial(f"{number} of {len(self.changes)} changes", word or f"is no spec: {reason}"))
        return word

    def _by_code(self, spec: Mapping[str, Json], otherwise: str) -> Bisection:
        """Nothing that has a name explains it: the commit is searched for whose code does."""
        try:
            commits = () if _same_code(self.good, self.bad) else code_commits(self.good.label, self.bad.label)
        except LabError as error:
            return self._ended("code or rows", (f"{otherwise} ({error.problems[0]})",))
        history = CodeHistory(
            commits=commits,
            spec=spec,
            name=self.bad.name,
            profile=self.judge.profile,
            claim=self.judge.claim,
            workers=self.judge.options.workers,
        )
        if moved := _moving_commits(history, self.words[0], self._judged):
            return self._ended("code", tuple(commit.label for commit in moved))
        return self._ended("rows", (otherwise,))

    def _judged(self, trial: Trial) -> None:
        self.trials.append(trial)
        self.on_trial(trial)

    def _ended(self, cause: str, changes: tuple[str, ...]) -> Bisection:
        return Bisection(
            claim=self.judge.claim,
            good=self.words[0],
            bad=self.words[1],
            cause=cause,
            changes=changes,
            trials=tuple(self.trials),
            units=self.judge.units,
        )


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
