"""The resolved settings behind results as one table, so that a selection is a join. Paths are as in ``lnlab.setting``.

``lnlab.select.variants`` decides which of them a selection takes, as for planned runs. A path is read once for all
variants, when it is first needed.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, wraps
from typing import Any, Final, TypeVar

import polars as pl

from lnlab.errors import LabError, nearest
from lnlab.issues import Issue
from lnlab.keys import Json, canonical
from lnlab.select.variants import Variants
from lnlab.setting import STACKS, Setting, key_of_stack
from lnlab.specfile.columns import METHOD, TIMES
from lnlab.specfile.values import kind_label, value_label
from lnlab.tables import Results, computed_once

_Computed = TypeVar("_Computed")
_AXES: Final = pl.Schema({"axis": pl.String, "variant": pl.String, "label": pl.String})
_NUMBERS: Final = pl.Schema({"value": pl.String, "number": pl.Float64})
_VALUES: Final = pl.Schema({"variant": pl.String, "value": pl.String})


def _once(compute: Callable[["SettingTable", str], _Computed]) -> Callable[["SettingTable", str], _Computed]:
    """Make a method keep what it returns for a path in the table's ``computed``, and return that the next time."""

    @wraps(compute)
    def kept(table: "SettingTable", path: str) -> _Computed:
        place = (compute.__name__, path)
        if place not in table.computed:
            table.computed[place] = compute(table, path)
        value: _Computed = table.computed[place]
        return value

    return kept


class NothingSelected(LabError):
    """A selection names what is not among these runs or rows. Each problem says what there is instead."""


@dataclass(frozen=True)
class SettingTable:
    """The resolved settings of all variants of an experiment.

    Attributes:
        by_variant: the setting of each variant, in the order of the plan, with its ``method`` and ``times`` if it has
            any.
        axes: ``axis variant label``, the values of the axes as a reader sees them. Null where a run has no variant.
        computed: cache of what was read of paths, by method and path. Never change a value.
    """

    by_variant: Mapping[str, Setting]
    axes: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=_AXES), compare=False)
    computed: dict[tuple[str, str], Any] = field(default_factory=dict, init=False, compare=False, repr=False)

    @cached_property
    def variants(self) -> pl.DataFrame:
        """The column ``variant``, in the order of the plan."""
        return pl.Series("variant", list(self.by_variant), pl.String).to_frame()

    @cached_property
    def index(self) -> Variants:
        """The variants by number, in the order of the plan."""
        return Variants([setting.parts for setting in self.by_variant.values()])

    def where(self, conditions: Mapping[str, Json]) -> pl.DataFrame:
        """The variants whose setting meets every condition: the column ``variant``, in the order of the plan.

        ``null`` asks for nothing there. A variant whose stacks disagree at a path meets no condition on it.
        """
        names = list(self.by_variant)
        meeting = [names[number] for number in sorted(self.index.selected(conditions))]
        return pl.Series("variant", meeting, pl.String).to_frame()

    def select(self, conditions: Mapping[str, Json]) -> pl.DataFrame:
        """The variants that meet every condition, as ``where``.

        Raises:
            NothingSelected: no setting has one of the paths.
        """
        self._refuse_unknown(conditions)
        return self.where(conditions)

    def unknown_paths(self, paths: Iterable[str]) -> list[str]:
        """Those of these paths at which no variant has a value."""
        return [path for path in paths if self.by_variant and not self.index.has(path)]

    def stacks_where(self, key: str, condition: Json) -> pl.DataFrame:
        """``variant stack`` of every stack whose value at a key, such as ``placement.kind``, meets a condition."""
        meeting = {stack: self.where({f"{stack}.{key}": condition}) for stack in STACKS}
        return pl.concat(variants.with_columns(stack=pl.lit(stack)) for stack, variants in meeting.items())

    @_once
    def numbers(self, path: str) -> pl.DataFrame:
        """``variant number`` of the variants that have a number at a path."""
        values = self.values(path)
        numbers = {text: float(value) for text, value in _distinct(values).items() if _is_number(value)}
        texts = pl.DataFrame({"value": list(numbers), "number": list(numbers.values())}, _NUMBERS)
        return values.join(texts, on="value", maintain_order="left").select("variant", "number")

    @_once
    def values(self, path: str) -> pl.DataFrame:
        """``variant value``, as canonical JSON, of the variants that have one value at a path, and no null."""
        names = list(self.by_variant)
        groups = [(canonical(value), members) for value, members in self.index.at(path) if value is not None]
        texts = dict(sorted((number, text) for text, members in groups for number in members))
        return pl.DataFrame({"variant": [names[number] for number in texts], "value": list(texts.values())}, _VALUES)

    @_once
    def labels(self, path: str) -> pl.DataFrame:
        """``variant label`` of every variant: numbers if all its values are numbers, else words, null where absent.

        A choice is shown as its kind. Where two of one kind differ in their parameters, it is its label or the whole
        choice.
        """
        values = self.values(path)
        distinct = _distinct(values)
        kinds = {text: kind_label(value) for text, value in distinct.items()}
        if distinct and all(map(_is_number, distinct.values())):
            labels = self.numbers(path).rename({"number": "label"})
        elif len(set(kinds.values())) == len(kinds):
            labels = values.select("variant", label=pl.col("value").replace(kinds))
        else:
            words = self.axes.filter(pl.col("axis") == path).unique("variant", keep="last", maintain_order=True)
            words = words.select("variant", label=pl.col("label").replace(self.short_labels(path)))
            worded = values.join(words, on="variant", how="left")
            labels = worded.select("variant", label=pl.coalesce("label", "value"))
        return self.variants.join(labels, on="variant", how="left", maintain_order="left")

    def with_columns(self, rows: pl.DataFrame, paths: Iterable[str]) -> pl.DataFrame:
        """The rows with a column for each path that is not a column yet.

        Raises:
            NothingSelected: no setting has one of the paths.
        """
        for path in paths:
            if path not in rows.columns:
                self._refuse_unknown([path])
                labels = self.labels(path).rename({"label": path})
                rows = rows.join(labels, on="variant", how="left", maintain_order="left")
        return rows

    @_once
    def groups(self, path: str) -> pl.DataFrame:
        """``variant group``: two variants are in one group if their settings are equal, except at ``path``.

        ``times`` is ignored as well. It is the multiple of a chosen value, and that value is part of the setting. For a
        short form such as ``placement`` the name of the method is ignored too, which may name nothing else.
        """
        key = key_of_stack(path)
        removed = (TIMES, path) if key is None else (TIMES, METHOD, *(f"{stack}.{key}" for stack in STACKS))
        texts = [canonical(setting.without(removed)) for setting in self.by_variant.values()]
        return self.variants.with_columns(group=pl.Series(texts, dtype=pl.String))

    @_once
    def short_labels(self, axis: str) -> Mapping[str, str]:
        """Label of an axis -> the label that readers see.

        A label that spells out a choice keeps only the parameters that differ between choices of its kind. Where none
        differs, it is unchanged. A label that is the kind alone gets those of these parameters that are numbers. The
        user's own labels are unchanged.
        """
        rows = self.axes.filter(pl.col("axis") == axis)
        by_variant = dict(rows.drop_nulls("variant").select("variant", "label").iter_rows())
        choices = {variant: self.by_variant[variant].get(axis) for variant in by_variant}
        distinct = {canonical(v): v for v in choices.values() if isinstance(v, Mapping) and "kind" in v}
        shortened = {text: text for text in rows["label"].unique()}
        for variant, text in by_variant.items():
            choice = choices[variant]
            shortened[text] = text
            if not isinstance(choice, Mapping) or "kind" not in choice:
                continue
            if text not in (value_label(choice), choice["kind"]):  # a label of somebody's own is left as it is
                continue
            others = [other for other in distinct.values() if other["kind"] == choice["kind"]]
            telling = {k: v for k, v in choice.items() if any(canonical(o.get(k)) != canonical(v) for o in others)}
            if text == choice["kind"]:
                telling = {k: v for k, v in telling.items() if _is_number(v)}
            if telling:
                shortened[text] = value_label({"kind": choice["kind"], **telling})
        return shortened

    def _refuse_unknown(self, paths: Iterable[str]) -> None:
        what = "neither a column of the table nor a path of any setting"
        if unknown := self.unknown_paths(paths):
            raise NothingSelected(
                *(Issue("unknown-name", path, what, nearest(path, self.index.paths)) for path in unknown)
            )


@computed_once
def settings_of(results: Results) -> SettingTable:
    """The settings behind results, read when they are needed first."""
    axes = results.axes.join(results.runs.select("run", "variant"), on="run", how="left", maintain_order="left")
    added: dict[str, dict[str, Json]] = {}  # of axes that are part of no setting
    of_variants = axes.filter(pl.col("axis").is_in([METHOD, TIMES]), pl.col("variant").is_not_null())
    for variant, axis, value in of_variants.select("variant", "axis", "value").iter_rows():
        added.setdefault(variant, {})[axis] = json.loads(value)
    texts = results.runs.select("variant", "setting").unique("variant", keep="first", maintain_order=True)
    settings = {variant: Setting({**_parsed(text), **added.get(variant, {})}) for variant, text in texts.iter_rows()}
    return SettingTable(settings, axes.select(_AXES.names()))


@lru_cache(maxsize=8192)
def _parsed(text: str) -> Mapping[str, Json]:
    setting: Mapping[str, Json] = json.loads(text)
    return setting


def _distinct(values: pl.DataFrame) -> dict[str, Json]:
    return {text: json.loads(text) for text in values["value"].unique(maintain_order=True)}


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
