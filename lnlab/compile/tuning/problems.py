"""Which runs choose, from which candidates, for which runs, and which runs are judged after the choice.

A tuning group is one combination of the other axes. A tuning problem is one decision: the candidates of one group,
chosen for it alone, or (``of``) for all groups. Its groups are judged at the multiples of the chosen value.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from lnlab.compile.checks.contradictions import contradictions
from lnlab.compile.interned import InternedSetting, Variant, interned_parts, unevaluated
from lnlab.compile.resolve.resolve import Resolver
from lnlab.compile.resolved_sweep import ResolvedSweep, variants_of
from lnlab.compile.selection.axes import Axes
from lnlab.compile.setting_paths import set_path
from lnlab.compile.tuning.choose import TuningChoice
from lnlab.compile.work import ResolvedSetting
from lnlab.issues import Issue
from lnlab.keys import Json, canonical
from lnlab.registry import Flawed
from lnlab.setting import Setting as Reader
from lnlab.setting import path_words
from lnlab.specfile.columns import GRID
from lnlab.specfile.values import kind_label


@dataclass
class TuningGroup:
    """One combination of the other axes.

    Attributes:
        path: what is chosen.
        first: the number of its first variant in the sweep.
        variant: that variant.
        grids: the numbers of the grids that its settings are of.
        candidates: each value at ``path`` with the number of the setting that has it.
    """

    path: str
    first: int
    variant: Variant
    grids: set[int] = field(default_factory=set)
    candidates: list[tuple[Json, int]] = field(default_factory=list)

    def number(self, value: Json) -> int | None:
        """The number of its setting that has this value, or None where the sweep has none."""
        return next((n for candidate, n in self.candidates if canonical(candidate) == canonical(value)), None)

    def at(self, value: Json, resolver: Resolver) -> tuple[InternedSetting | None, list[Issue]]:
        """The setting of this group with another value, or None and what is wrong with it."""
        setting: ResolvedSetting = self.variant.setting
        for path in Reader(setting).long_forms(self.path):
            key = path_words(path)[0]
            setting = {**setting, key: set_path(setting[key], path, value)}
        return resolver.setting(interned_parts(setting))


def tuning_groups(sweep: ResolvedSweep, choice: TuningChoice, names: Sequence[str]) -> list[TuningGroup]:
    """The groups of the grids that a choice is for, in the order of the sweep.

    Raises:
        Flawed: another grid has runs that differ from these in the chosen value alone, so that nothing would tell a
            run of one from a run of the other.
    """
    groups: dict[tuple[Json, ...], TuningGroup] = {}
    elsewhere: list[tuple[Variant, set[int]]] = []
    for number, variant in enumerate(sweep.variants):
        if own := choice.grids & set(variant.grids):
            group = groups.setdefault(_besides(variant, choice.path), TuningGroup(choice.path, number, variant))
            group.grids |= own
            group.candidates.append((Reader(variant.setting).at(choice.path), number))
        if others := set(variant.grids) - choice.grids:
            elsewhere.append((variant, others))

    def of_runs(variant: Variant) -> tuple[Json, ...]:
        return _besides(replace(variant, setting=unevaluated(variant.setting)), choice.path)

    runs = {of_runs(group.variant): group for group in (groups.values() if elsewhere else ())}
    for variant, others in elsewhere:
        if same := runs.get(of_runs(variant)):
            first, second = names[min(same.grids)], names[min(others)]
            what = f"runs of '{first}' and '{second}' are equal but for {choice.path}, which is chosen for one of them"
            remedy = "choose for both together, or let another axis tell them apart"
            raise Flawed(Issue("conflict", (*choice.place, GRID), what, remedy))
    return list(groups.values())


def _besides(variant: Variant, path: str) -> tuple[Json, ...]:
    """All of a variant but its value at a path, which is blanked: those that differ in nothing else are equal."""
    setting = variant.setting
    paths = {path_words(long)[0]: long for long in Reader(setting).long_forms(path)}
    without = {key: canonical(set_path(setting[key], long, None)) for key, long in paths.items() if key in setting}
    return variant.method, *{**setting.texts, **without}.values()


@dataclass(frozen=True)
class TuningProblem:
    """One decision that is to be made.

    Attributes:
        choice: the choice that asks for it.
        about: the axes of the runs that it is for.
        candidates: each value with the number of the setting that tries it.
        groups: for which it decides.
    """

    choice: TuningChoice
    about: dict[str, Json]
    candidates: tuple[tuple[Json, int], ...]
    groups: tuple[TuningGroup, ...]


@dataclass(frozen=True)
class TuningPlan:
    """All decisions of an experiment.

    Attributes:
        sweep: its settings.
        problems: what is decided.
        unchosen: the numbers of the variants whose grids choose nothing, which are judged as they are.
        resolver: of settings that no grid has.
    """

    sweep: ResolvedSweep
    problems: tuple[TuningProblem, ...]
    unchosen: tuple[int, ...]
    resolver: Resolver

    @property
    def paths(self) -> tuple[str, ...]:
        """Everything that is chosen."""
        return tuple(dict.fromkeys(problem.choice.path for problem in self.problems))

    @property
    def tuning_runs(self) -> int:
        """How many runs choose."""
        return sum(len(problem.candidates) * len(problem.choice.seeds) for problem in self.problems)

    def judged(self, values: Sequence[Json]) -> list[Variant]:
        """What is judged if these values are chosen, one a problem, in the order of the sweep."""
        variants = self.sweep.variants
        placed = [(number, replace(variants[number], times=1)) for number in self.unchosen]
        for problem, value in zip(self.problems, values, strict=True):
            for group in problem.groups:
                for times in problem.choice.times:
                    chosen = multiple(value, times)
                    number = group.number(chosen)
                    setting = group.at(chosen, self.resolver)[0] if number is None else variants[number].setting
                    assert setting is not None, "a flaw, which the check reports"
                    of_group = replace(group.variant, setting=setting, grids=group.grids, times=times)
                    placed.append((group.first, of_group))
        return [variant for _, variant in sorted(placed, key=lambda pair: pair[0])]

    def assumed(self) -> list[Variant]:
        """What is judged if every first candidate is chosen: claims are checked against it beforehand."""
        return self.judged([problem.candidates[0][0] for problem in self.problems])


def multiple(value: Json, times: float) -> Json:
    """A multiple of what was chosen."""
    return value if times == 1 else value * times


def plan_tuning(choices: Sequence[TuningChoice], sweep: ResolvedSweep, axes: Axes, names: Sequence[str]) -> TuningPlan:
    """The decisions that ``choose`` asks for. ``names`` are those of the grids.

    Raises:
        Flawed: what is wrong with it, now that the settings are known.
    """
    problems: list[TuningProblem] = []
    # What may be judged is resolved here once, to be checked, and taken from memory when it is judged.
    resolver = Resolver(axes.registries)
    for choice in choices:
        groups = tuning_groups(sweep, choice, names)
        points = _other_axes(groups, axes, choice)
        if choice.of is None:
            own = [TuningProblem(choice, points[group.first], tuple(group.candidates), (group,)) for group in groups]
        else:
            own = [_shared_problem(choice, choice.of, groups, points, sweep)]
        if flaws := list(_flaws(choice, own, sweep, resolver)):
            raise Flawed(*dict.fromkeys(flaws))
        # A decision is found again by its question, where no corpus says what was run.
        earlier = {canonical(tuning_question(problem)): problem for problem in problems}
        questions = [canonical(tuning_question(problem)) for problem in own]
        if same := next((earlier[question] for question in questions if question in earlier), None):
            what = f"it asks the same as {'.'.join(map(str, same.choice.place))}, of other runs"
            remedy = "take other tuning seeds"
            raise Flawed(Issue("conflict", choice.place, what, remedy))
        problems += own
    chosen = frozenset[int]().union(*(choice.grids for choice in choices))
    unchosen = tuple(number for number, variant in enumerate(sweep.variants) if chosen.isdisjoint(variant.grids))
    return TuningPlan(sweep, tuple(problems), unchosen, resolver)


def tuning_question(problem: TuningProblem) -> list[Json]:
    """What is asked, by which a decision is known."""
    choice = problem.choice
    values = [value for value, _ in problem.candidates]
    return [choice.path, problem.about, dict(choice.rule), list(choice.seeds), values]


def _other_axes(groups: Sequence[TuningGroup], axes: Axes, choice: TuningChoice) -> dict[int, dict[str, Json]]:
    """The axes of a choice besides the one that is chosen, of each group by the number of its first setting.

    A choice that contains the chosen parameter is without it, and stands by its kind where kinds tell the values of its
    axis apart.
    """
    words = path_words(choice.path)
    # First all points, as only all values of an axis show whether their kinds tell them apart.
    points: dict[int, dict[str, Json]] = {}
    distinct: dict[str, dict[str, Json]] = {}
    for group in groups:
        point = {axis: value for axis, value in axes.point(group.variant).items() if axis in choice.axes}
        for axis, value in point.items():
            above = path_words(axis)
            if words[: len(above)] == above:
                point[axis] = _without(value, words[len(above) :])
        point.pop(choice.path, None)
        points[group.first] = point
        for axis, value in point.items():
            distinct.setdefault(axis, {})[canonical(value)] = value
    short = {axis for axis, values in distinct.items() if len(set(map(kind_label, values.values()))) == len(values)}
    return {
        number: {
            axis: value["kind"] if axis in short and isinstance(value, dict) and "kind" in value else value
            for axis, value in point.items()
        }
        for number, point in points.items()
    }


def _without(value: Json, words: Sequence[str]) -> Json:
    """A value without what it has at a path inside it."""
    if not isinstance(value, dict) or not words or words[0] not in value:
        return value
    remaining = {key: inner for key, inner in value.items() if key != words[0]}
    return remaining if len(words) == 1 else {**remaining, words[0]: _without(value[words[0]], words[1:])}


def _shared_problem(
    choice: TuningChoice,
    of: Mapping[str, Json],
    groups: Sequence[TuningGroup],
    points: Mapping[int, dict[str, Json]],
    sweep: ResolvedSweep,
) -> TuningProblem:
    """The one problem of all groups: the group that ``of`` selects decides."""
    variants = variants_of(sweep.variants)
    if issues := variants.mistakes(of):
        raise Flawed(*(issue.below(*choice.place, "of") for issue in issues))
    selected = variants.selected(of)
    deciding = [group for group in groups if group.first in selected]
    if not deciding:
        what, remedy = "leaves no run that decides", "pin what these runs have"
        raise Flawed(Issue("empty-selection", (*choice.place, "of"), what, remedy))
    if len(deciding) > 1:
        labels = {
            axis: dict.fromkeys(kind_label(points[group.first][axis]) for group in deciding)
            for axis in points[deciding[0].first]
        }
        differing = ", ".join(f"{axis} ({' or '.join(values)})" for axis, values in labels.items() if len(values) > 1)
        what = f"leaves {len(deciding)} runs per candidate and seed"
        raise Flawed(Issue("conflict", (*choice.place, "of"), what, f"pin {differing}"))
    return TuningProblem(choice, {}, tuple(deciding[0].candidates), tuple(groups))


def _flaws(
    choice: TuningChoice, problems: Sequence[TuningProblem], sweep: ResolvedSweep, resolver: Resolver
) -> Iterator[Issue]:
    """Issues of a choice: candidates without an order or multiples, untrained runs, and invalid settings to judge."""
    candidates = [(value, number) for problem in problems for value, number in problem.candidates]
    for value, _ in candidates:
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if choice.numbers and not number:
            what = f"'{choice.rule['kind']}' compares numbers, and {kind_label(value)} is not one"
            yield Issue("conflict", (*choice.place, choice.path), what, "write best")
        if choice.times != (1,) and (not number or value == 0):
            yield Issue(
                "conflict", (*choice.place, "times"), f"{kind_label(value)} has no multiples", "leave times out"
            )
    if any(not sweep.variants[number].setting["train"]["steps"] for _, number in candidates):
        yield Issue(
            "conflict", choice.place, "nothing is trained, so there is no loss to choose by", "give train.steps"
        )

    for problem in problems:
        # A group may be judged where its own grid has no point: at a multiple, or at a candidate of the deciding group.
        numbers = [value for value, _ in problem.candidates if isinstance(value, int | float)]
        values = [multiple(number, times) for number in numbers for times in choice.times if times != 1]
        values += [value for value, _ in problem.candidates]
        for group in problem.groups:
            for value in (value for value in values if group.number(value) is None):
                setting, flaws = group.at(value, resolver)
                for flaw in flaws if setting is None else contradictions(setting, resolver.registries):
                    what = f"{choice.path} = {kind_label(value)} would be judged, and {flaw.what}"
                    yield Issue(
                        "conflict", (*choice.place, "times" if choice.times != (1,) else choice.path), what, flaw.remedy
                    )
