"""What each named method sets, as a table: the pieces in which the methods of an experiment differ."""

from collections import Counter
from collections.abc import Mapping, Sequence

from lnlab.keys import Json, canonical
from lnlab.report.page.methods import setting_leaves
from lnlab.report.table import Grid
from lnlab.report.words.wording import format_value, join_words
from lnlab.select.settings import settings_of
from lnlab.setting import MISSING, SHORT_FORMS, STACKS, Setting
from lnlab.specfile.columns import METHOD, TIMES
from lnlab.specfile.values import is_choices
from lnlab.tables import Results

_PIECES = ("placement", "norm", "attention", "model.linear", "init", "optimizer", "schedule")
"""Choices that have a column of their own. All else that differs stands in the last one."""


def method_grid(results: Results) -> Grid | None:
    """The table, a row for each method, without the pieces that all have in common, or None without named methods."""
    variants: dict[str, list[Mapping[str, Json]]] = {}
    for setting in settings_of(results).by_variant.values():
        if METHOD in setting.parts:
            variants.setdefault(str(setting.parts[METHOD]), []).append(setting.parts)
    if not variants:
        return None
    methods = [Setting(_shared(same_method)) for same_method in variants.values()]
    columns: dict[str, list[str]] = {}
    for piece in _PIECES:
        columns[piece] = []
        for setting in methods:
            # a piece of the stacks; where they have different ones, each with its stack
            long = [f"{stack}.{piece}" for stack in STACKS if setting.get(f"{stack}.{piece}") is not None]
            paths = long if piece in SHORT_FORMS else [piece]
            others = [method.get(path) for method in methods for path in paths]
            texts = {path: _choice(setting.get(path), others) for path in paths}
            if len(set(texts.values())) < 2:
                columns[piece].append(next(iter(texts.values()), "–"))
            else:
                columns[piece].append(join_words(f"{text} ({path.partition('.')[0]})" for path, text in texts.items()))

    def has_column(path: str) -> bool:
        stack, _, below_stack = path.partition(".")
        short = below_stack if stack in STACKS else path
        return path in (METHOD, TIMES) or any(short == piece or short.startswith(f"{piece}.") for piece in _PIECES)

    rest = [
        {path: value for path, value in setting_leaves(setting.parts) if not has_column(path)} for setting in methods
    ]
    counts = Counter((path, canonical(value)) for of_method in rest for path, value in of_method.items())
    columns["else"] = []
    for of_method in rest:  # what a method has that most have not
        uncommon = [p for p, v in of_method.items() if 2 * counts[p, canonical(v)] < len(methods)]
        columns["else"].append(join_words(f"{path} {format_value(of_method[path])}" for path in uncommon) or "–")
    telling_columns = {head: cells for head, cells in columns.items() if len(set(cells)) > 1}
    rows = zip(variants, *telling_columns.values(), strict=True)
    heads = ("method", *(head.rpartition(".")[2] for head in telling_columns))
    return Grid("What each method sets.", heads, tuple(tuple((text, False) for text in row) for row in rows))


def _shared(values: Sequence[Json]) -> Json:
    """What values have in common, at any depth, or ``MISSING``. What is swept beside a method is no part of it."""
    first = values[0]
    if all(isinstance(value, Mapping) for value in values):
        shared = {key: _shared([value.get(key, MISSING) for value in values]) for key in first}
        common = {key: value for key, value in shared.items() if value is not MISSING}
        return MISSING if "kind" in first and "kind" not in common else common
    if is_choices(first) and all(is_choices(value) and len(value) == len(first) for value in values):
        parts = [_shared(part) for part in zip(*values, strict=True)]
        return MISSING if MISSING in parts else parts
    return first if all(canonical(value) == canonical(first) for value in values if value is not MISSING) else MISSING


def _choice(choice: Json, others: Sequence[Json]) -> str:
    """A choice by its kind, with the parameters in which others differ from it that have them or are of that kind."""
    if not isinstance(choice, Mapping):
        return "–" if choice is None else format_value(choice)
    kinds = [other for other in others if isinstance(other, Mapping)]
    differing = {
        name: value
        for name, value in choice.items()
        if any(
            canonical(other.get(name)) != canonical(value)
            for other in kinds
            if name in other or other["kind"] == choice["kind"]
        )
    }
    differing.pop("kind", None)
    return format_value({"kind": choice["kind"], **differing})
