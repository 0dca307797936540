"""What a selection takes of planned runs, before any of them has rows: which variants, and what is wrong with it.

The same selection is later applied to results (``lnlab.select.select``), with the same reader and the same index of
settings. The plan knows these columns: those with closed words, seeds, quantities and splits.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from typing import Any

from lnlab.errors import closest, listed, nearest, sites_left_out
from lnlab.issues import Issue
from lnlab.keys import Json
from lnlab.select.selection import Conditions, parse_selection, value_list
from lnlab.select.variants import Members, Variants
from lnlab.specfile.columns import COLUMNS, EVALUATION, GRID, LAST, LAYER_ENDS, METHOD, TIMES, VOCABULARY
from lnlab.specfile.expressions import UNREADABLE, Expression, expression_of
from lnlab.specfile.references import REFERENCE
from lnlab.specfile.values import kind_label

NO_VALUE = Issue("wrong-type", (), "found []", "give at least one value, or leave the key out")
"""The issue of a condition that nothing meets, which would silently select nothing."""


@dataclass(frozen=True)
class PlannedRuns:
    """What is known of runs before they are there.

    Attributes:
        variants: of this plan.
        point: number of a variant -> the values of the axes.
        unchanged: the variants of the spec without profile and overrides, where that is another plan. A selection of
            one of them is no mistake of the spec, but finds none of these runs. None where nothing was changed or it
            cannot be known.
        seeds: of the experiment.
        splits: quantity of the curve -> the splits on which it is measured here.
        quantities: every name that is measured or derived, or None where a probe does not say what it measures.
        against: derived quantity that is measured against a reference -> the reference where none is named: the
            ``best`` of all variants, or those that are ``compared``.
        taken_over: derived quantity -> the path that it is taken over, of those that are.
        told_by: derived quantity -> the columns that distinguish its several numbers of a run, of those that have some.
        counted_at: derived quantity -> the values of its column x, of those that state them.
        steps: quantity -> the steps at which every run has it, as far as they are known.
        sources: quantity -> the kinds of probes that measure it, or what it is made of, those that the spec lacks too.
        rules: every rule of convergence, or None where the registry is absent.
        derived: every derived quantity. Only those with ``split`` in ``told_by`` have a split.
        chosen: paths whose value is chosen on tuning seeds, so that no selection can know it.
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
    steps: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    sources: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    rules: Collection[str] | None = None
    derived: Collection[str] = ()
    chosen: Collection[str] = ()
    spec: Mapping[str, Json] = field(default_factory=dict)

    def either(self, predicate: Callable[[Variants], bool]) -> bool:
        """Whether it holds for this plan or for the spec unchanged."""
        if predicate(self.variants):
            return True
        other = self.unchanged()
        return other is not None and predicate(other)

    def has(self, key: str) -> bool:
        """Whether a key is a column, or a path of some setting."""
        return key in COLUMNS or self.either(lambda variants: variants.has(key))

    def unknown_key(self, key: str) -> Issue:
        """The issue of a key that nothing has. There are too many known ones to list them all."""
        close = closest(key, [*COLUMNS, GRID, METHOD, REFERENCE, *self.variants.paths])
        remedy = f"did you mean '{close}'?" if close else f"columns: {', '.join(COLUMNS)}; paths as in model.layers"
        return Issue("unknown-key", (), f"unknown key '{key}': neither a column nor a path of any setting", remedy)

    def issues_of(self, key: str, condition: Json) -> list[Issue]:
        """What is wrong with one condition, as issues whose paths begin with the key."""
        if key in COLUMNS:
            if condition == []:
                return [NO_VALUE.below(key)]
            return [issue for value in value_list(condition) if (issue := self._issue_of_column(key, value))]
        if key in self.chosen:
            known = ", ".join(kind_label(value) for value, _ in self.variants.at(TIMES))
            what = "is chosen on tuning seeds and not known before"
            return [Issue("no-effect", (key,), what, f"leave it out, or write {TIMES}: what was chosen times {known}")]
        if not self.has(key):
            return [self.unknown_key(key).below(key)]
        known_values = [value for value, _ in self.variants.at(key)]
        if condition == [] and condition not in known_values:
            return [NO_VALUE.below(key)]
        issues = []
        for value in value_list(condition):
            if not self.either(lambda variants, value=value: bool(variants.having(key, value))):  # type: ignore[misc]
                what = f"no run has {key} = {kind_label(value)}"
                issues.append(Issue("empty-selection", (key,), what, _nearest(value, known_values)))
        return issues

    def _issue_of_column(self, key: str, value: Json) -> Issue | None:
        """What is wrong with one value of a column that has closed words, or whose values the plan knows."""
        if key in ("stack", "sublayer", "tensor", "layer") and self.either(lambda variants: variants.own_sites):
            return None  # a model of the user's own has sites that nobody knows before it is built
        known: Collection[Json] | None = VOCABULARY.get(key)
        known = {"quantity": self.quantities, "seed": self.seeds, "rule": self.rules}.get(key, known)
        whole = isinstance(value, int) and not isinstance(value, bool)
        if key == "stack" and value in VOCABULARY[key] and not self.has(f"{value}.layers"):
            stacks = [stack for stack in VOCABULARY[key] if self.variants.has(f"{stack}.layers")]
            return Issue("conflict", (key,), f"no model has a stack '{value}'", f"there is {' and '.join(stacks)}")
        if key == "layer" and isinstance(value, str):
            known = LAYER_ENDS
        elif key == "layer":
            paths = [f"{stack}.layers" for stack in VOCABULARY["stack"]]
            if value is None or (
                whole and value >= 1 and self.either(lambda vs: any(n >= value for p in paths for n, _ in vs.at(p)))
            ):
                return None
            return _no_such_row(key, value, "count layers from 1, or write first or last")
        if key == "step" and value is not None:
            if value == LAST or (whole and value >= 0):
                return None
            remedy = {"init": "write 0", "end": "write last"}.get(str(value), "count updates from 0, or write last")
            return _no_such_row(key, value, remedy)
        if known is None or value is None or value in known or value == UNREADABLE:
            return None
        if key == "quantity" and isinstance(value, str) and (expression := expression_of(value)):
            return self._issue_of_expression(expression)
        if key == "quantity" and (kinds := self.sources.get(str(value))):
            training = "give the runs updates (train.steps), in which they are evaluated"
            remedy = training if kinds == (EVALUATION,) else f"add the probe {' or '.join(kinds)}"
            return _no_such_row(key, value, remedy)
        more = sites_left_out(known) if key in ("sublayer", "tensor") else ""
        return _no_such_row(key, value, _nearest(value, known) + more)

    def _issue_of_expression(self, expression: Expression) -> Issue | None:
        """What is wrong with an expression over quantities: with one of them, a condition on it, or how they meet.

        ``lnlab.app.planning.rehearsal`` decides whether two meet at a site of the model.
        """
        known = list(self.quantities or ())
        for operand in expression.operands:
            name, place = operand.quantity, ("quantity", "expr", operand.quantity)
            if name not in known:
                return Issue("unknown-name", place, f"no quantity '{name}' is measured here", _nearest(name, known))
            for column, value in operand.pins:
                if issue := self._issue_of_column(column, value):
                    return replace(issue, place=("quantity", "expr", str(column)))
        if not expression.unit:
            what = "an expression needs a unit"
            return Issue("missing", ("quantity",), what, "write {expr: ..., unit: ...}, such as unit: ratio")
        of_grids = {name: self.taken_over.get(name) for name in expression.quantities}
        if len(set(of_grids.values())) > 1:
            grid = next(name for name, path in of_grids.items() if path)
            run = next(name for name, path in of_grids.items() if path != of_grids[grid])
            what = f"'{grid}' is one number of all runs that differ in {of_grids[grid]}, and '{run}' is not"
            return Issue("conflict", ("quantity", "expr", grid), what, "take quantities of the same runs")
        if len(kinds := {self.against[name] for name in expression.quantities if name in self.against}) > 1:
            first = next(name for name in expression.quantities if name in self.against)
            what = f"its quantities are measured against two references, {' and '.join(sorted(kinds))}"
            return Issue("conflict", ("quantity", "expr", first), what, "write two claims")
        for column in ("split", "step"):
            given = self.given(expression, column)
            if given and not set.intersection(*(set(values) for _, values in given)):
                one, other = next((a, b) for a in given for b in given if not set(a[1]) & set(b[1]))
                what = f"no {column} has both: '{one[0]}' is there at {column} {listed(map(str, one[1]))}, "
                what += f"'{other[0]}' at {listed(map(str, other[1]))}"
                remedy = f"pin it, as in {other[0]}[{column}: {other[1][0]}]"
                return Issue("conflict", ("quantity", "expr", other[0]), what, remedy)
        return None

    def given(self, expression: Expression, column: str) -> list[tuple[str, tuple[str | int, ...]]]:
        """The splits or steps of each quantity of an expression, where they are known and no brackets pin one."""
        known: Mapping[str, tuple[str | int, ...]] = self.splits if column == "split" else self.steps
        # A name that is there twice is measured at sites and along the curve, at steps and splits of their own.
        everywhere = list(self.quantities or ())
        return [
            (one.quantity, known[one.quantity])
            for one in expression.operands
            if column not in dict(one.pins) and one.quantity in known and everywhere.count(one.quantity) <= 1
        ]

    def with_expressions(self, names: Collection[str]) -> "PlannedRuns":
        """The same with the splits and steps at which expressions will have rows."""
        common: dict[str, dict[str, tuple[Any, ...]]] = {"split": {}, "step": {}}
        for name in names:
            if expression := expression_of(name):
                for column, of_names in common.items():
                    if given := [values for _, values in self.given(expression, column)]:
                        of_names[name] = tuple(v for v in given[0] if all(v in others for others in given))
        derived = [*self.derived, *(name for name in names if name not in common["split"])]
        splits, steps = {**self.splits, **common["split"]}, {**self.steps, **common["step"]}
        return replace(self, splits=splits, steps=steps, derived=derived)


class PlannedSelection:
    """What a selection takes of planned runs. Each part is found when it is first asked for, and once.

    Attributes:
        runs: that are planned.
        selection: read.
    """

    def __init__(self, runs: PlannedRuns, conditions: Conditions) -> None:
        self.runs = runs
        self.selection = parse_selection(conditions)

    @cached_property
    def members(self) -> Members:
        """The variants of this plan that it takes."""
        return self.runs.variants.selected(self.selection.written)

    @cached_property
    def issues(self) -> list[Issue]:
        """What is wrong with it apart from its reference, with its keys as paths."""
        written = {key: condition for key, condition in self.selection.written.items() if key != REFERENCE}
        issues = [issue for key, condition in written.items() for issue in self.runs.issues_of(key, condition)]
        if not issues and not self.runs.either(lambda variants: bool(variants.selected(written))):
            settings = ", ".join(f"{key} = {kind_label(value)}" for key, value in self.selection.setting.items())
            what = f"no run has all of {settings}"
            issues.append(Issue("empty-selection", (), what, "lnlab plan prints the runs there are"))
        return issues or list(self._issues_of_quantity())[:1]

    def _issues_of_quantity(self) -> Iterator[Issue]:
        """What is wrong with the conditions that the quantity itself rules out.

        These are a path that it is taken over, which must vary and have no condition, a split that it lacks, and an
        ``x`` at which it has no row.
        """
        runs, written = self.runs, self.selection.written

        def varies(variants: Variants, path: str) -> bool:
            selected = variants.selected(written)
            return sum(bool(members & selected) for _, members in variants.at(path)) > 1

        for name in self.selection.names:
            path = runs.taken_over.get(name)
            if path and path in written:
                yield Issue("no-effect", (path,), f"'{name}' is taken over it", "leave it out")
            elif path and not runs.either(lambda variants, path=path: varies(variants, path)):  # type: ignore[misc]
                what = f"'{name}' is taken over {path}, of which these runs have not two values"
                yield Issue("conflict", ("quantity",), what, f"sweep {path}")
            split = written.get("split")
            if self._of_the_curve(name) and isinstance(split, str) and split not in runs.splits[name]:
                what = f"'{name}' is not measured on split = {split}"
                yield Issue("conflict", ("split",), what, f"there is {' and '.join(runs.splits[name])}")
            elif isinstance(split, str) and name in runs.derived and "split" not in runs.told_by.get(name, ()):
                remedy = "leave it out, or write split: null where it is inherited"
                yield Issue("conflict", ("split",), f"'{name}' has no split", remedy)
            if counted_at := runs.counted_at.get(name):
                for x in value_list(written.get("x")):
                    if x is not None and x not in counted_at:
                        there_are = listed((f"{n:g}" for n in counted_at), f"{x}")
                        yield _no_such_row("x", x, f"'{name}' is counted at {there_are}")

    def _of_the_curve(self, name: str) -> bool:
        """Whether a quantity is measured along the curve and nowhere else."""
        return name in self.runs.splits and list(self.runs.quantities or ()).count(name) <= 1

    def unpinned(self, claim_axes: Collection[str]) -> str | None:
        """Return what else has to be pinned, as the quantity has several numbers, or None.

        It may be a split, a step or a rule of convergence. ``claim_axes`` are what the claim distinguishes by itself.
        """
        pinned = {*self.selection.written, *claim_axes}
        for name in self.selection.names:
            if several := [column for column in self.runs.told_by.get(name, ()) if column not in pinned]:
                return f"'{name}' is there for every {' and '.join(several)}; pin {', '.join(several)}"
            if (
                len(steps := self.runs.steps.get(name, ())) > 1
                and "step" not in pinned
                and list(self.runs.quantities or ()).count(name) <= 1
            ):
                return f"'{name}' is measured at the steps {listed(map(str, steps))}; pin step"
            if self._of_the_curve(name) and "split" not in pinned and len(self.runs.splits[name]) > 1:
                return f"'{name}' is measured on {' and '.join(self.runs.splits[name])}; pin split"
        return None

    def several(self, claim_axes: Sequence[str]) -> str | None:
        """Why it does not leave one number per seed and value of the claim's axes, or None.

        It is decided on settings alone. ``claim_axes`` are the paths and columns that the claim distinguishes or
        reduces. Without any the claim needs one number.
        """
        groups: list[tuple[str, Members]] = [("", self.members)]
        for path in claim_axes:
            if path not in COLUMNS:
                pairs = product(groups, self.runs.variants.at(path))
                groups = [
                    (f"{where} at {path} = {kind_label(x)}", members & having)
                    for (where, members), (x, having) in pairs
                ]
        for where, members in groups:
            if len(members) > 1:
                labels: dict[str, dict[str, None]] = {}
                for number in sorted(members):
                    for axis, value in self.runs.point(number).items():
                        labels.setdefault(axis, {})[kind_label(value)] = None
                differing = [f"{axis} ({' or '.join(values)})" for axis, values in labels.items() if len(values) > 1]
                return f"takes {len(members)} variants{where}; pin {', '.join(differing) or 'the selection'}"
        return None


def _nearest(value: Json, known: Collection[Json]) -> str:
    """The remedy for an unknown value: the known ones, the nearest first."""
    return nearest(value if isinstance(value, str) else "", {kind_label(one) for one in known})


def _no_such_row(key: str, value: Json, remedy: str) -> Issue:
    return Issue("empty-selection", (key,), f"no row has {key} = {kind_label(value)}", remedy)
