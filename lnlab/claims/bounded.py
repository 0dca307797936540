"""Quantities whose numbers are bounded, or stand on a grid of learning rates: their intervals and scales follow."""

from collections.abc import Mapping

from lnlab.keys import Json
from lnlab.select.quantity import quantity_fact
from lnlab.select.reductions import RATIO_REDUCTIONS, Reduction
from lnlab.vocabulary.bounded import FRACTIONS


def is_fraction(of: Mapping[str, Json], reduce: Reduction | None = None) -> bool:
    """Whether the numbers of a selection lie between 0 and 1, and still do after they were reduced."""
    named = of.get("quantity")
    names = named if isinstance(named, list | tuple) else [named]
    return reduce not in RATIO_REDUCTIONS and (
        any(n in FRACTIONS for n in names) or bool(quantity_fact(of, "fraction"))
    )


def is_rate(of: Mapping[str, Json]) -> bool:
    """Whether the numbers of a selection are learning rates of a grid."""
    return bool(quantity_fact(of, "rate"))


def is_all_or_nothing(of: Mapping[str, Json]) -> bool:
    """Whether a run has all of the quantity, or none."""
    return quantity_fact(of, "bimodal") is not None
