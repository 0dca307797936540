"""What a claim compares, where its quantity is measured against just that: the reference that its selections get."""

from collections.abc import Mapping
from typing import Any

from lnlab.claims.order_chain import parse_order
from lnlab.keys import Json
from lnlab.select.quantity import quantity_fact
from lnlab.select.selection import parse_selection
from lnlab.specfile.columns import COLUMNS
from lnlab.specfile.references import REFERENCE, SAME


def with_compared_reference(claim: Mapping[str, Any]) -> Mapping[str, Any]:
    """The claim with the variants that it compares as the reference of ``of``, if its quantity asks and none is named.

    Of a contrast ``to`` over a path these are the variants of each value there; of an order, those that it names.
    """
    of = claim.get("of") or {}
    to = claim.get("to")
    over = claim.get("over")
    if REFERENCE in of or quantity_fact(of, "reference") != "compared":
        return claim
    selections = [of] if to is None else [of, {**of, **to}]
    sides: list[dict[str, Json]] = [dict(parse_selection(selection).setting) for selection in selections]
    if isinstance(over, str) and over not in COLUMNS:
        if "order" in claim:
            sides = [{**sides[0], over: parse_order(claim["order"])[0]}]
        elif to is not None:
            sides = [{**side, SAME: over} for side in sides]
    references = [side for side in sides if side]
    return {**claim, "of": {**of, REFERENCE: references}} if references else claim
