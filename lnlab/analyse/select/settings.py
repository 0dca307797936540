"""The resolved settings behind results, and what a word of a selection means there; paths as in ``lnlab.setting``."""

import json
from collections.abc import Iterable, Mapping
from functools import lru_cache

import polars as pl

from lnlab.keys import Json, canonical
from lnlab.setting import STACKS, key_of_stack
from lnlab.setting import Setting as Reader
from lnlab.specfile.columns import METHOD, TIMES
from lnlab.specfile.values import NONE, matches, value_label
from lnlab.tables import Results

SettingMap = Mapping[str, Json]


def variant_settings(results: Results) -> Mapping[str, SettingMap]:
    """The resolved setting of each variant, in the order of the plan; its ``method`` and ``times``, if it has any."""
    return results.once("variant_settings", _variant_settings)


def _variant_settings(results: Results) -> Mapping[str, SettingMap]:
    unique = results.runs.select("variant", "setting").unique("variant", keep="first", maintain_order=True)
    axis_values = _axis_values(results)
    return {
        variant: {**_parsed(text), **axis_values[variant]} if variant in axis_values else _parsed(text)
        for variant, text in unique.iter_rows()
    }


def _axis_values(results: Results) -> dict[str, dict[str, Json]]:
    """What the axes that are part of no setting say of each variant."""
    axes = results.axes.filter(pl.col("axis").is_in([METHOD, TIMES]))
    rows = axes.join(results.runs.select("run", "variant"), on="run")
    by_variant: dict[str, dict[str, Json]] = {}
    for variant, axis, value in rows.select("variant", "axis", "value").iter_rows():
        by_variant.setdefault(variant, {})[axis] = json.loads(value)
    return by_variant


@lru_cache(maxsize=8192)
def _parsed(text: str) -> SettingMap:
    setting: SettingMap = json.loads(text)
    return setting


def setting_values(setting: SettingMap, path: str) -> list[Json]:
    """Every value at a dotted path: none if nothing is there, one for each distinct value of a short form.

    A depth follows from the setting.
    """
    return Reader(setting).values(path)


def setting_value(setting: SettingMap, path: str) -> Json:
    """The value at a path, or None where nothing is there or the stacks disagree."""
    values = setting_values(setting, path)
    return values[0] if len(values) == 1 else None


def meets_condition(setting: SettingMap, path: str, condition: Json) -> bool:
    """Whether the value at a path is what a selection asks for; ``null`` asks for nothing there."""
    values = setting_values(setting, path)
    return len(values) < 2 and matches(values[0] if values else None, condition)


def variants_meeting(results: Results, path: str, condition: Json) -> frozenset[str]:
    """The variants whose setting meets a condition, which many selections share."""
    by_variant = variant_settings(results)
    name = canonical(["variants", path, condition])
    return results.once(
        name, lambda _: frozenset(v for v, s in by_variant.items() if meets_condition(s, path, condition))
    )


def keys_without_path(results: Results, path: str) -> dict[str, str]:
    """Each variant's setting but for what stands at a path, as text: those of one text differ there alone.

    ``times``, the multiple of a chosen value, goes too: that value is in the setting itself. With a short form, which
    is of every stack, the name of a method goes as well: it may stand for what is left out.
    """
    long = key_of_stack(path)
    removed = (TIMES, path) if long is None else (TIMES, METHOD, *(f"{stack}.{long}" for stack in STACKS))
    texts = {}
    for variant, setting in variant_settings(results).items():
        remaining = setting
        for removed_path in removed:
            remaining = _remove(remaining, removed_path)
        texts[variant] = canonical(remaining)
    return texts


def _remove(setting: SettingMap, path: str) -> SettingMap:
    head, _, tail = path.partition(".")
    if not tail:
        return {key: value for key, value in setting.items() if key != head}
    inner = setting.get(head)
    return {**setting, head: _remove(inner, tail)} if isinstance(inner, Mapping) else setting


def setting_paths(setting: SettingMap) -> list[str]:
    """Every path at which a setting has a value, short forms and depths included."""
    return Reader(setting).paths()


def all_setting_paths(results: Results) -> frozenset[str]:
    """Every path at which some variant has a value."""
    paths = frozenset[str]()
    return results.once(
        "setting_paths", lambda results: paths.union(*map(setting_paths, variant_settings(results).values()))
    )


def path_labels(results: Results, path: str) -> dict[str, str | float | None]:
    """What each variant has at a path: numbers if all are numbers, else words; None where it has nothing.

    A choice is its kind; where two of one kind differ in their parameters, its label or the whole choice.
    """
    values = {variant: setting_value(setting, path) for variant, setting in variant_settings(results).items()}
    present = [v for v in values.values() if v is not None]
    if present and all(isinstance(v, int | float) and not isinstance(v, bool) for v in present):
        return {variant: None if v is None else float(v) for variant, v in values.items()}
    kinds = {canonical(v): _kind_text(v) for v in present}
    if len(set(kinds.values())) == len(kinds):
        return {variant: None if v is None else kinds[canonical(v)] for variant, v in values.items()}
    shortened = short_axis_labels(results, path)
    short_labels = {variant: shortened[text] for variant, text in _axis_labels(results, path).items()}
    return {variant: None if v is None else short_labels.get(variant, canonical(v)) for variant, v in values.items()}


def short_axis_labels(results: Results, axis: str) -> dict[str, str]:
    """Each label of an axis, and what it is shortened to.

    One that spells out a choice keeps of its parameters those in which some variant's of its kind differs, or all where
    none does. One that is the kind alone, as all its parameters are the defaults, gets the numbers among those.
    """
    by_variant = variant_settings(results)
    axis_labels = _axis_labels(results, axis)
    choices = {variant: setting_value(by_variant[variant], axis) for variant in axis_labels}
    distinct = {canonical(v): v for v in choices.values() if isinstance(v, Mapping) and "kind" in v}
    all_labels = results.axes.filter(pl.col("axis") == axis)["label"].unique()
    shortened = {w: _short_label(choices[variant], w, distinct.values()) for variant, w in axis_labels.items()}
    return {text: text for text in all_labels} | shortened


def _axis_labels(results: Results, axis: str) -> dict[str, str]:
    """The label of each variant on an axis."""
    rows = results.axes.filter(pl.col("axis") == axis).join(results.runs.select("run", "variant"), on="run")
    return dict(rows.select("variant", "label").iter_rows())


def _short_label(choice: Json, text: str, among: Iterable[Mapping[str, Json]]) -> str:
    if not isinstance(choice, Mapping) or "kind" not in choice or text not in (value_label(choice), choice["kind"]):
        return text
    same_kind = [other for other in among if other["kind"] == choice["kind"]]
    telling = {k: v for k, v in choice.items() if any(canonical(other.get(k)) != canonical(v) for other in same_kind)}
    if text == choice["kind"]:
        telling = {k: v for k, v in telling.items() if isinstance(v, int | float) and not isinstance(v, bool)}
    return value_label({"kind": choice["kind"], **telling}) if telling else text


def _kind_text(value: Json) -> str:
    """A choice by its kind, a list of choices by their kinds."""
    if isinstance(value, list) and all(isinstance(choice, Mapping) for choice in value):
        return " and ".join(map(_kind_text, value)) or NONE
    kind = value.get("kind") if isinstance(value, Mapping) else value
    return kind if isinstance(kind, str) else canonical(value)
