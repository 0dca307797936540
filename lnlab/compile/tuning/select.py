"""``select`` as a spec writes it -> what is chosen, by which rule, on which seeds, and for which runs."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from lnlab.compile.resolve.choices import Registries
from lnlab.compile.source_spans import UNKNOWN
from lnlab.compile.sweep.overlay import MergedSpec, grids_of
from lnlab.errors import nearest
from lnlab.issues import Issue
from lnlab.keys import Json
from lnlab.registry import Choice, Flawed
from lnlab.specfile.columns import COLUMNS, METHOD
from lnlab.specfile.experiment import Experiment, SelectText
from lnlab.specfile.read import Reading

SELECT = "select"


@dataclass(frozen=True)
class ResolvedSelect:
    """What ``select`` asks for.

    Attributes:
        path: the axis whose values are the candidates.
        rule: the resolved rule that chooses one.
        numbers: whether the rule can only choose among numbers.
        seeds: the tuning seeds.
        of: which runs decide. None means that each combination of the other axes decides for itself.
        by: axes. There is one decision for each combination of their values.
        times: the multiples of what was chosen at which runs are judged.
    """

    path: str
    rule: Choice
    numbers: bool
    seeds: tuple[int, ...]
    of: Mapping[str, Json] | None
    by: tuple[str, ...]
    times: tuple[float, ...]

    @property
    def alone(self) -> bool:
        """Whether each combination of the other axes decides for itself."""
        return self.of is None and not self.by


def resolve_select(
    reading: Reading, merged: MergedSpec, registries: Registries
) -> tuple[ResolvedSelect | None, list[Issue]]:
    """What is chosen, or None, and what is wrong with ``select`` whatever the settings are."""
    text = reading.experiment.select
    if text is None:
        return None, []
    axes = list(dict.fromkeys(path for grid in grids_of(merged.data) for path in grid))
    flaws = list(_flaws(text, axes, reading.experiment))
    rules = _rules(text)
    path = next((path for path in rules if path in axes and path != METHOD), "")
    rule: Choice = {}
    if path:
        for number, grid in enumerate(merged.data["sweep"]):
            if isinstance(grid, dict) and path not in grid:  # whether its runs have the chosen value is undefined
                what = f"this grid has no '{path}', which select chooses"
                flaws.append(
                    Issue("conflict", ("sweep", number), what, f"add its candidates: {{{path}: [value, ...]}}")
                )
        try:
            rule = registries["rule"].resolve(rules[path])
        except Flawed as error:
            flaws += [flaw.below(SELECT, path) for flaw in error.issues]
    if flaws:
        return None, merged.located(flaws)
    numbers = bool(registries["rule"][rule["kind"]].facts.numbers)
    # Pages read 2 times, and not 2.0 times.
    times = tuple(dict.fromkeys(int(factor) if factor.is_integer() else factor for factor in text.times))
    return ResolvedSelect(
        path=path, rule=rule, numbers=numbers, seeds=text.seeds, of=text.of, by=text.by, times=times
    ), []


def _rules(text: SelectText) -> dict[str, Json]:
    """Path -> rule, as the spec writes it."""
    return dict(text.model_extra or {})


def _flaws(text: SelectText, axes: list[str], experiment: Experiment) -> Iterator[Issue]:
    """What is wrong with the paths that are named, of which there must be one, and with the fields beside them."""
    named = list(_rules(text))
    if not named:
        yield Issue("missing", (SELECT,), "no axis is chosen", f"add one: {{{next(iter(axes), 'path')}: best}}")
    for path in named:
        if path == METHOD:
            yield Issue(
                "conflict",
                (SELECT, path),
                "a method is a name, not a value of a setting",
                "choose a path of the setting",
            )
        elif path not in axes:
            what = f"{UNKNOWN} '{path}': not an axis of the sweep, whose values are the candidates"
            yield Issue("unknown-key", (SELECT, path), what, nearest(path, [*axes, *SelectText.model_fields]))
    for path in [path for path in named if path in axes][1:]:
        yield Issue(
            "conflict", (SELECT, path), "only one axis can be chosen, and this is the second", "keep one of them"
        )
    if both := sorted(set(text.seeds) & set(experiment.all_seeds)):
        what = f"seed {both[0]} is both a tuning seed and a judged seed"
        yield Issue("conflict", (SELECT, "seeds"), what, "tune on seeds that are not judged")
    others = [axis for axis in axes if axis not in named]
    for number, axis in enumerate(text.by):
        if axis not in others:
            what = "is what is chosen" if axis in axes else "is no axis of the sweep"
            yield Issue("unknown-name", (SELECT, "by", number), f"'{axis}' {what}", nearest(axis, others))
    for key in text.of or {}:
        if key in named:
            yield Issue("conflict", (SELECT, "of", key), f"'{key}' is what is chosen", "pin the other axes")
        elif key in COLUMNS:
            yield Issue(
                "conflict", (SELECT, "of", key), f"'{key}' is a column, and runs decide", "name paths of the setting"
            )
