"""Which runs choose, from which candidates, for which runs; and which runs are judged once it is chosen.

An arm is one combination of the other axes. A contest is one decision: the candidates of one arm, chosen for it alone,
or (``of``, ``by``) for all arms, or all that agree in some axes. Its arms are judged at the multiples of the winner.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from lnlab.compile.checks.contradictions import contradictions
from lnlab.compile.resolve.choices import Registries
from lnlab.compile.resolve.resolve import Resolver
from lnlab.compile.resolved_sweep import Settled
from lnlab.compile.selection.axes import Axes
from lnlab.compile.selection.selection import Ground, flaws_of_selection, shown
from lnlab.compile.selection.variants import Members, Variants
from lnlab.compile.tuning.groups import Arm, arms
from lnlab.compile.tuning.select import SELECT, Choosing
from lnlab.compile.work import Setting
from lnlab.keys import Json, canonical
from lnlab.registry import Flaw, Flawed
from lnlab.setting import split


@dataclass(frozen=True)
class Contest:
    """One decision that is to be made.

    Attributes:
        about: the axes of the runs that it is for.
        candidates: each value with the number of the setting that tries it.
        arms: for which it decides.
    """

    about: dict[str, Json]
    candidates: tuple[tuple[Json, int], ...]
    arms: tuple[Arm, ...]


@dataclass(frozen=True)
class _Judged:
    """A setting that is judged: the multiple of what was chosen, and the method of its arm."""

    setting: Setting
    method: Json
    times: float


@dataclass(frozen=True)
class Tuning:
    """All decisions of an experiment."""

    choosing: Choosing
    contests: tuple[Contest, ...]
    registries: Registries

    @property
    def judged_variants(self) -> int:
        """How many variants are judged, whatever is chosen."""
        return sum(len(contest.arms) for contest in self.contests) * len(self.choosing.times)

    def judged(self, settings: Sequence[Setting], values: Sequence[Json]) -> list[_Judged]:
        """What is judged if this is chosen, a value a contest; in the order of the sweep."""
        resolver = Resolver(self.registries)
        pairs = [(arm, value) for c, value in zip(self.contests, values, strict=True) for arm in c.arms]
        found = []
        for arm, value in sorted(pairs, key=lambda pair: pair[0].first):
            for times in self.choosing.times:
                number = arm.number(multiple(value, times))
                setting = settings[number] if number is not None else arm.at(multiple(value, times), resolver)[0]
                assert setting is not None, "found a flaw, which the check would have told"
                found.append(_Judged(setting, arm.method, times))
        return found

    def assumed(self, settings: Sequence[Setting]) -> list[_Judged]:
        """What is judged if every first candidate is chosen: what claims are checked against before anything is."""
        return self.judged(settings, [contest.candidates[0][0] for contest in self.contests])


def variants_of(judged: Sequence[_Judged]) -> Variants:
    """What claims and sections select from."""
    return Variants([j.setting for j in judged], [j.method for j in judged], [j.times for j in judged])


def multiple(value: Json, times: float) -> Json:
    """A multiple of what was chosen."""
    return value if times == 1 else value * times


def tuning(chosen: Choosing, settled: Settled, axes: Axes) -> Tuning:
    """The decisions that ``select`` asks for.

    Raises:
        Flawed: what is wrong with it, now that the settings are known.
    """
    every = arms(settled.settings, settled.methods, chosen.path)
    points = _in_short({arm.first: _beside(axes.point(arm.setting, arm.method), chosen.path) for arm in every})
    contests = tuple(_alone(every, points) if chosen.alone else _shared(chosen, every, points, settled))
    flaws = [*_of_candidates(chosen, contests, settled), *_of_multiples(chosen, contests, axes.registries)]
    if flaws:
        raise Flawed(*dict.fromkeys(flaws))
    return Tuning(chosen, contests, axes.registries)


def _beside(point: Mapping[str, Json], path: str) -> dict[str, Json]:
    """The axes beside the one that is chosen; a choice that holds what is chosen, without it."""
    words = split(path)
    return {
        axis: _without(value, words[len(split(axis)) :]) if words[: len(split(axis))] == split(axis) else value
        for axis, value in point.items()
        if axis != path
    }


def _in_short(points: Mapping[int, dict[str, Json]]) -> dict[int, dict[str, Json]]:
    """The points, a choice by its kind where kinds tell the values of its axis apart."""
    values: dict[str, dict[str, Json]] = {}
    for point in points.values():
        for axis, value in point.items():
            values.setdefault(axis, {})[canonical(value)] = value
    short = {axis for axis, each in values.items() if len({shown(value) for value in each.values()}) == len(each)}
    return {
        number: {
            axis: value["kind"] if axis in short and isinstance(value, dict) and "kind" in value else value
            for axis, value in point.items()
        }
        for number, point in points.items()
    }


def _without(value: Json, words: Sequence[str]) -> Json:
    """A value without what stands at a path inside it."""
    if not isinstance(value, dict) or not words or words[0] not in value:
        return value
    rest = {key: inner for key, inner in value.items() if key != words[0]}
    return rest if len(words) == 1 else {**rest, words[0]: _without(value[words[0]], words[1:])}


def _alone(every: Sequence[Arm], points: Mapping[int, dict[str, Json]]) -> Iterator[Contest]:
    """Each arm decides for itself."""
    return (Contest(points[arm.first], tuple(arm.candidates), (arm,)) for arm in every)


def _shared(
    chosen: Choosing, every: Sequence[Arm], points: Mapping[int, dict[str, Json]], settled: Settled
) -> list[Contest]:
    """One contest for each combination of the values of ``by``: the arm that ``of`` leaves decides for all of it."""
    deciding = _deciding(chosen, settled)
    groups: dict[str, list[Arm]] = {}
    for arm in every:
        groups.setdefault(canonical([points[arm.first][axis] for axis in chosen.by]), []).append(arm)
    contests, flaws = [], []
    for group in groups.values():
        about = {axis: points[group[0].first][axis] for axis in chosen.by}
        left = [arm for arm in group if arm.first in deciding]
        if len(left) == 1:
            contests.append(Contest(about, tuple(left[0].candidates), tuple(group)))
        else:
            flaws.append(_undecided(about, [points[arm.first] for arm in left]))
    if flaws:
        raise Flawed(*flaws)
    return contests


def _deciding(chosen: Choosing, settled: Settled) -> Members:
    """The numbers of the settings that ``of`` takes."""
    variants, of = Variants(settled.settings, settled.methods), chosen.of or {}
    ground = Ground(variants, lambda _: {}, lambda: None, chosen.seeds, None)
    if flaws := flaws_of_selection(of, ground):
        raise Flawed(*(flaw.below(SELECT, "of") for flaw in flaws))
    return variants.taken(of)


def _undecided(about: Mapping[str, Json], points: Sequence[Mapping[str, Json]]) -> Flaw:
    """That no arm decides for these runs, or several do."""
    where = " for " + ", ".join(f"{axis} = {shown(value)}" for axis, value in about.items()) if about else ""
    if not points:
        return Flaw((SELECT, "of"), f"leaves no run that decides{where}", "pin what these runs have")
    differing = {axis: dict.fromkeys(shown(point[axis]) for point in points) for axis in points[0]}
    axes = ", ".join(f"{axis} ({' or '.join(values)})" for axis, values in differing.items() if len(values) > 1)
    what = f"leaves {len(points)} runs a candidate and seed{where}"
    return Flaw((SELECT, "of"), what, f"pin {axes}, or name it in by")


def _of_candidates(chosen: Choosing, contests: Sequence[Contest], settled: Settled) -> Iterator[Flaw]:
    """Candidates that have no order or no multiples, and runs that learn nothing."""
    tried = [(value, number) for contest in contests for value, number in contest.candidates]
    for value, _ in tried:
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if chosen.numbers and not number:
            flaw = f"'{chosen.rule['kind']}' asks for the smallest of some numbers, and {shown(value)} is none"
            yield Flaw((SELECT, chosen.path), flaw, "write best")
        if chosen.times != (1,) and (not number or value == 0):
            yield Flaw((SELECT, "times"), f"{shown(value)} has no multiples", "leave times out")
    if any(not settled.settings[number]["train"]["steps"] for _, number in tried):
        yield Flaw((SELECT,), "nothing is trained, so no loss could choose", "give train.steps")


def _of_multiples(chosen: Choosing, contests: Sequence[Contest], registries: Registries) -> Iterator[Flaw]:
    """Everything that may be judged must be a setting."""
    resolver = Resolver(registries)
    for contest in contests:
        numbers = [value for value, _ in contest.candidates if isinstance(value, int | float)]
        values = [multiple(v, t) for v in numbers for t in chosen.times if t != 1]
        values += [value for value, _ in contest.candidates]
        for arm in contest.arms:
            for value in (value for value in values if arm.number(value) is None):
                setting, flaws = arm.at(value, resolver)
                for flaw in flaws if setting is None else contradictions(setting, registries):
                    what = f"{chosen.path} = {shown(value)} would be judged, and {flaw.what}"
                    yield Flaw((SELECT, "times" if chosen.times != (1,) else chosen.path), what, flaw.remedy)
