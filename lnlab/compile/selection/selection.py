"""Is a selection plausible? Its keys are columns or paths of the setting, its values stand there, it takes a run."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

from lnlab.compile.source_spans import UNKNOWN
from lnlab.errors import closest, listed, nearest
from lnlab.issues import Issue
from lnlab.keys import Json, canonical
from lnlab.select.selection import value_list
from lnlab.select.variants import Members, Variants
from lnlab.specfile.columns import COLUMNS, GRID, LAST, LAYER_ENDS, METHOD, TIMES, VOCABULARY
from lnlab.specfile.references import REFERENCE
from lnlab.specfile.values import NONE, is_choices

_Selection = Mapping[str, Json]


@dataclass(frozen=True)
class SelectionContext:
    """What selections are checked against.

    Attributes:
        variants: of this plan.
        point: of a variant by its number, the values of the axes.
        unchanged: the variants of the spec without profile and overrides, where that is another plan: what is there
            is no mistake of the spec, only not among these runs. None where nothing was changed or it cannot be known.
        seeds: of the experiment.
        splits: quantity of the curve -> the splits on which it is measured here.
        quantities: every name that is measured or derived, or None where a probe does not say what it measures.
        against: derived quantity -> what it is measured against where no reference is named: ``best`` of all, or what
            is ``compared``; of those that are measured against a reference.
        taken_over: derived quantity -> the path that it is taken over, of those that are.
        told_by: derived quantity -> the columns that distinguish its several numbers of a run, of those that have some.
        counted_at: derived quantity -> the values of its column x, of those that state them.
        rules: every rule of convergence, or None where the registry is absent.
        chosen: a path whose value is chosen on tuning seeds, so that no selection can know it.
        spec: the data of the file, every profile included.
    """

    variants: Variants
    point: Callable[[int], dict[str, Json]]
    unchanged: Callable[[], Variants | None]
    seeds: Collection[int]
    quantities: Collection[str] | None
    splits: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    against: Mapping[str, str] = field(default_factory=dict)
    taken_over: Mapping[str, str] = field(default_factory=dict)
    told_by: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    counted_at: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    rules: Collection[str] | None = None
    chosen: str | None = None
    spec: Mapping[str, Json] = field(default_factory=dict)

    def either(self, predicate: Callable[[Variants], bool]) -> bool:
        """Whether it holds for this plan or for the spec unchanged."""
        if predicate(self.variants):
            return True
        other = self.unchanged()
        return other is not None and predicate(other)


NO_VALUE = Issue("wrong-type", (), "found []", "give at least one value, or leave the key out")
"""Of a condition that nothing meets; nothing would be selected, in silence."""


def flaws_of_selection(selection: _Selection, context: SelectionContext) -> list[Issue]:
    """What is wrong with a selection but for its reference; paths are its keys."""
    selection = {key: condition for key, condition in selection.items() if key != REFERENCE}
    flaws = [flaw for key, condition in selection.items() for flaw in flaws_of_key(key, condition, context)]
    if not flaws and not context.either(lambda variants: bool(variants.selected(selection))):
        settings = ", ".join(f"{key} = {kind_label(value)}" for key, value in selection.items() if key not in COLUMNS)
        flaws.append(
            Issue("empty-selection", (), f"no run has all of {settings}", "lnlab plan prints the runs there are")
        )
    return flaws or _flaws_of_quantity(selection, context)


def _flaws_of_quantity(selection: _Selection, context: SelectionContext) -> list[Issue]:
    """A quantity taken over a path which does not vary here, on a split or at an x that it has not."""
    for name in value_list(selection.get("quantity")):
        path = context.taken_over.get(name) if isinstance(name, str) else None
        if path and path in selection:
            return [Issue("no-effect", (path,), f"'{name}' is taken over it", "leave it out")]
        if path and not context.either(lambda vs, path=path: _varies(vs, vs.selected(selection), path)):  # type: ignore[misc]
            what = f"'{name}' is taken over {path}, of which these runs have not two values"
            return [Issue("conflict", ("quantity",), what, f"sweep {path}")]
        split = selection.get("split")
        if _of_the_curve(name, context) and isinstance(split, str) and split not in context.splits[name]:
            what = f"'{name}' is not measured on split = {split}"
            return [Issue("conflict", ("split",), what, f"there is {' and '.join(context.splits[name])}")]
        counted_at = context.counted_at.get(name, ()) if isinstance(name, str) else ()
        for x in value_list(selection.get("x")) if counted_at else []:
            if x is not None and x not in counted_at:
                return [
                    _no_such_row("x", x, f"'{name}' is counted at {listed((f'{n:g}' for n in counted_at), f'{x}')}")
                ]
    return []


def _varies(variants: Variants, selected: Members, path: str) -> bool:
    return sum(bool(members & selected) for _, members in variants.at(path)) > 1


def _of_the_curve(name: Json, context: SelectionContext) -> bool:
    """Whether a quantity is measured along the curve and nowhere else."""
    return name in context.splits and list(context.quantities or ()).count(name) == 1


def open_split(selection: _Selection, claim_axes: Collection[str], context: SelectionContext) -> str | None:
    """Why a selection leaves a number for each of several splits, or for each rule of convergence; or None."""
    for name in value_list(selection.get("quantity")):
        columns = context.told_by.get(name, ()) if isinstance(name, str) else ()
        if several := [column for column in columns if column not in (*selection, *claim_axes)]:
            return f"'{name}' is there for every {' and '.join(several)}; pin {', '.join(several)}"
        if _of_the_curve(name, context) and "split" not in (*selection, *claim_axes) and len(context.splits[name]) > 1:
            return f"'{name}' is measured on {' and '.join(context.splits[name])}; pin split"
    return None


def flaws_of_key(key: str, condition: Json, context: SelectionContext) -> list[Issue]:
    """What is wrong with one condition; its path begins with the key."""
    if key in COLUMNS:
        if condition == []:
            return [NO_VALUE.below(key)]
        return [flaw for value in value_list(condition) for flaw in _flaws_of_column(key, value, context)]
    if key == context.chosen:
        known = ", ".join(kind_label(value) for value, _ in context.variants.at(TIMES))
        what = "is chosen on tuning seeds, and nobody knows it before"
        return [Issue("no-effect", (key,), what, f"leave it out, or write {TIMES}: what was chosen times {known}")]
    if not context.either(lambda variants: variants.has(key)):
        return [unknown_key(key, context).below(key)]
    known_values = [value for value, _ in context.variants.at(key)]
    if condition == [] and condition not in known_values:
        return [NO_VALUE.below(key)]
    return [
        Issue("empty-selection", (key,), f"no run has {key} = {kind_label(value)}", _nearest_value(value, known_values))
        for value in value_list(condition)
        if not context.either(lambda variants, value=value: bool(variants.having(key, value)))  # type: ignore[misc]
    ]


def unknown_key(key: str, context: SelectionContext) -> Issue:
    """A key that nothing has. There are too many known ones to list them all."""
    close = closest(key, [*COLUMNS, GRID, METHOD, REFERENCE, *context.variants.paths])
    remedy = f"did you mean '{close}'?" if close else f"columns: {', '.join(COLUMNS)}; paths as in model.layers"
    return Issue("unknown-key", (), f"{UNKNOWN} '{key}': neither a column nor a path of any setting", remedy)


def _nearest_value(condition: Json, known: list[Json]) -> str:
    """The remedy for an unknown value: the known ones, the nearest first."""
    return nearest(condition if isinstance(condition, str) else "", {kind_label(value) for value in known})


def _flaws_of_column(key: str, condition: Json, context: SelectionContext) -> list[Issue]:
    """One value of a column with closed words, or whose values the plan knows."""
    if key in ("stack", "sublayer", "tensor", "layer") and context.either(lambda variants: variants.own_sites):
        return []
    known: Collection[Json] | None = VOCABULARY.get(key)
    if key == "quantity":
        known = context.quantities
    if key == "seed":
        known = context.seeds
    if key == "rule":
        known = context.rules
    if key == "stack" and condition in VOCABULARY[key] and not context.either(lambda vs: vs.has(f"{condition}.layers")):
        stacks = [stack for stack in VOCABULARY[key] if context.variants.has(f"{stack}.layers")]
        return [Issue("conflict", (key,), f"no model has a stack '{condition}'", f"there is {' and '.join(stacks)}")]
    if key == "layer" and not isinstance(condition, str):
        fits = isinstance(condition, int) and not isinstance(condition, bool) and _layer_exists(condition, context)
        if condition is None or fits:
            return []
        return [_no_such_row(key, condition, "count layers from 1, or write first or last")]
    if key == "layer":
        known = LAYER_ENDS
    if key == "step" and condition is not None:
        counted = isinstance(condition, int) and not isinstance(condition, bool) and condition >= 0
        if condition == LAST or counted:
            return []
        remedy = {"init": "write 0", "end": "write last"}.get(str(condition), "count updates from 0, or write last")
        return [_no_such_row(key, condition, remedy)]
    if known is None or condition is None or condition in known:
        return []
    return [_no_such_row(key, condition, _nearest_value(condition, list(known)))]


def _no_such_row(key: str, condition: Json, remedy: str) -> Issue:
    return Issue("empty-selection", (key,), f"no row has {key} = {kind_label(condition)}", remedy)


def _layer_exists(layer: int, context: SelectionContext) -> bool:
    """Whether any stack of any run has that many layers."""
    paths = ("encoder.layers", "decoder.layers")
    return layer >= 1 and context.either(lambda vs: any(v >= layer for path in paths for v, _ in vs.at(path)))


def ambiguity(selection: _Selection, claim_axes: Sequence[str], context: SelectionContext) -> str | None:
    """Why a selection does not leave one number per seed and value of the claim's axes, or None.

    Decided on settings alone. ``claim_axes`` are the paths and columns that the claim distinguishes or reduces; where
    there is none it needs one number.
    """
    groups: list[tuple[str, Members]] = [("", context.variants.selected(selection))]
    for path in claim_axes:
        if path not in COLUMNS:
            values = context.variants.at(path)
            pairs = product(groups, values)
            groups = [
                (f"{where} at {path} = {kind_label(x)}", members & having) for (where, members), (x, having) in pairs
            ]
    for where, members in groups:
        if len(members) > 1:
            axes = ", ".join(_varying(members, context)) or "the selection"
            return f"takes {len(members)} variants{where}; pin {axes}"
    return None


def _varying(members: Members, context: SelectionContext) -> list[str]:
    """The axes in which the members differ, each with their values."""
    values_by_axis: dict[str, dict[str, None]] = {}
    for number in sorted(members):
        for axis, value in context.point(number).items():
            values_by_axis.setdefault(axis, {})[kind_label(value)] = None
    return [f"{axis} ({' or '.join(values)})" for axis, values in values_by_axis.items() if len(values) > 1]


def kind_label(value: Json) -> str:
    """A value as a reader writes it: a choice by its kind, a list of them by their kinds."""
    if isinstance(value, dict) and "kind" in value:
        return str(value["kind"])
    if is_choices(value):
        return " and ".join(map(kind_label, value)) or NONE
    return value if isinstance(value, str) else canonical(value)
