"""``choose`` as a spec writes it -> what is chosen, by which rule, on which seeds, and for which runs, once or more."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from lnlab.compile.resolve.choices import Registries
from lnlab.compile.sweep.overlay import EXCEPT, MergedSpec
from lnlab.errors import nearest
from lnlab.issues import Issue, Where
from lnlab.keys import Json
from lnlab.registry import Choice, Flawed
from lnlab.specfile.columns import COLUMNS, GRID, METHOD
from lnlab.specfile.experiment import Experiment, TuningText
from lnlab.specfile.read import Reading

CHOOSE = "choose"


@dataclass(frozen=True)
class TuningChoice:
    """What one choice of ``choose`` asks for.

    Attributes:
        place: its path in the data.
        grids: the numbers of the grids whose runs it is for.
        axes: that these grids sweep.
        path: the axis whose values are the candidates.
        rule: the resolved rule that chooses one.
        numbers: whether the rule can only choose among numbers.
        seeds: the tuning seeds.
        of: which runs decide. None means that each combination of the other axes decides for itself.
        times: the multiples of what was chosen at which runs are judged.
    """

    place: Where
    grids: frozenset[int]
    axes: tuple[str, ...]
    path: str
    rule: Choice
    numbers: bool
    seeds: tuple[int, ...]
    of: Mapping[str, Json] | None
    times: tuple[float, ...]


def tuning_choices(
    reading: Reading, merged: MergedSpec, registries: Registries
) -> tuple[tuple[TuningChoice, ...], list[Issue]]:
    """The choices that are made, none if one is flawed, and what is wrong with them whatever the settings are."""
    texts = reading.experiment.choose
    sweep = merged.data.get("sweep")
    swept = dict(enumerate(sweep)) if isinstance(sweep, list) else {}
    swept = {number: grid for number, grid in swept.items() if isinstance(grid, dict)}
    flaws: list[Issue] = []
    resolved: list[TuningChoice] = []
    taken: set[int] = set()
    for count, text in enumerate(texts):
        place: Where = (CHOOSE, count)
        grids = swept
        if text.grid is not None:
            flaws += merged.unknown_grids((*place, GRID), text.grid)
            named = {merged.grid_names.index(name) for name in text.grid if name in merged.grid_names}
            grids = {number: grid for number, grid in swept.items() if number in named}
            if not grids:
                continue
        if twice := sorted(taken & grids.keys()):
            name = f" '{merged.grid_names[twice[0]]}'" if merged.grid_names else ""
            what = f"of the grid{name} two choices are made"
            flaws.append(Issue("conflict", (*place, *((GRID,) if text.grid else ())), what, "name it in one of them"))
        taken |= grids.keys()
        axes = list(dict.fromkeys(path for grid in grids.values() for path in grid if path != EXCEPT))
        flaws += (flaw.below(*place) for flaw in _flaws(text, axes, reading.experiment))
        rules = _rules(text)
        path = next((path for path in rules if path in axes and path != METHOD), "")
        if not path:
            continue
        for number, grid in grids.items():
            if path not in grid:  # whether its runs have the chosen value is undefined
                what = f"this grid has no '{path}', which is to be chosen"
                remedy = f"add its candidates: {{{path}: [value, ...]}}"
                flaws.append(Issue("conflict", ("sweep", number), what, remedy))
        try:
            rule = registries["rule"].resolve(rules[path])
        except Flawed as error:
            flaws += [flaw.below(*place, path) for flaw in error.issues]
            continue
        numbers = bool(registries["rule"][rule["kind"]].facts.numbers)
        # Pages read 2 times, and not 2.0 times.
        times = tuple(dict.fromkeys(int(factor) if factor.is_integer() else factor for factor in text.times))
        resolved.append(
            TuningChoice(
                place=place,
                grids=frozenset(grids),
                axes=tuple(axes),
                path=path,
                rule=rule,
                numbers=numbers,
                seeds=text.seeds,
                of=text.of,
                times=times,
            )
        )
    return ((), flaws) if flaws else (tuple(resolved), [])


def _rules(text: TuningText) -> dict[str, Json]:
    """Path -> rule, as the spec writes it."""
    return dict(text.model_extra or {})


def _flaws(text: TuningText, axes: list[str], experiment: Experiment) -> Iterator[Issue]:
    """What is wrong with the paths that are named, of which there must be one, and with the fields beside them."""
    named = list(_rules(text))
    if not named:
        yield Issue("missing", (), "no axis is chosen", f"add one: {{{next(iter(axes), 'path')}: best}}")
    for path in named:
        if path == METHOD:
            yield Issue(
                "conflict",
                (path,),
                "a method is a name, not a value of a setting",
                "choose a path of the setting",
            )
        elif path not in axes:
            what = f"unknown key '{path}': not an axis of the sweep, whose values are the candidates"
            yield Issue("unknown-key", (path,), what, nearest(path, [*axes, *TuningText.model_fields]))
    for path in [path for path in named if path in axes][1:]:
        yield Issue("conflict", (path,), "only one axis can be chosen, and this is the second", "keep one of them")
    if both := sorted(set(text.seeds) & set(experiment.all_seeds)):
        what = f"seed {both[0]} is both a tuning seed and a judged seed"
        yield Issue("conflict", ("seeds",), what, "tune on seeds that are not judged")
    for key in text.of or {}:
        if key in named:
            yield Issue("conflict", ("of", key), f"'{key}' is what is chosen", "pin the other axes")
        elif key in COLUMNS:
            yield Issue("conflict", ("of", key), f"'{key}' is a column, and runs decide", "name paths of the setting")
