"""A reference in words: which variants a number is measured against."""

from collections.abc import Mapping

from lnlab.keys import Json
from lnlab.report.words.wording import axis_value_name, format_value, join_words
from lnlab.select.quantity import quantity_fact
from lnlab.select.references import has_one_kind
from lnlab.select.rows import reference_of
from lnlab.specfile.references import BEST, parse_reference
from lnlab.specfile.values import value_label
from lnlab.tables import Results

_ALL_VARIANTS = "all variants"


def reference_text(selection: Mapping[str, Json]) -> str:
    """``Post-LN, warm-up``, ``Post-LN or Pre-LN, with the same schedule kind``, ``all variants``.

    Args:
        selection: with the quantity, and the reference if it names one.
    """
    reference = reference_of(selection)
    texts = []
    for group in parse_reference(BEST if reference is None else reference):
        conditions = [_condition(path, value) for path, value in group.conditions.items()]
        same = [f"with the same {path.replace('.', ' ')}" for path in group.same]
        texts.append(", ".join((conditions or [_ALL_VARIANTS]) + same))
    return join_words(texts, "or")


def has_reference(results: Results, where: Mapping[str, Json], quantity: str) -> bool:
    """Whether a selection says what a quantity is measured against, or need not."""
    selection = {**where, "quantity": quantity}
    return quantity_fact(selection, "reference") is None or reference_of(selection) is not None or has_one_kind(results)


def _condition(path: str, value: Json) -> str:
    if isinstance(value, list | tuple):
        return join_words((_condition(path, alternative) for alternative in value), "or")
    return axis_value_name(path, value, value_label(value) if value is not None else format_value(value))
