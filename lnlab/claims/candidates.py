"""Whether the sides of a claim had equally many tries.

The least of more numbers is lower by chance alone. Of two arms that are equally good, a best rate taken on the judged
seeds makes the one with three rates better than the one with one rate in 38 of 100 claims, with six rates in 74.
"""

from collections.abc import Mapping
from typing import Any

import polars as pl

from lnlab.claims.order_chain import parse_order
from lnlab.errors import LabError
from lnlab.issues import Issue
from lnlab.select.quantity import quantity_fact
from lnlab.select.select import runs_with
from lnlab.select.selection import Conditions, selections_by_word, value_list, with_named_levels
from lnlab.select.settings import settings_of
from lnlab.specfile.columns import COLUMNS
from lnlab.tables import Results

_BEST_OF = ("min", "max")
_REMEDY = "give all sides equally many, or choose a value for each on other seeds (choose) and compare those"


def require_equal_candidates(claim: Mapping[str, Any], results: Results) -> None:
    """Require that all sides of a claim take their best of equally many values on the judged seeds.

    Planned runs answer it as measured ones do.

    Args:
        claim: the claim. Without ``to`` and ``over`` it compares nothing.
        results: of the seeds that it names.

    Raises:
        LabError: a side has more of them than another, or is one run where another is the best of several.
    """
    over, to = claim.get("over"), claim.get("to")
    sides = selections_by_word(claim)
    along = claim.get("along") if claim.get("order") else over
    if claim.get("reduce") in _BEST_OF and along is not None and along not in COLUMNS:
        counts = {runs_with(results, side, along)[along].n_unique() for side in sides.values()}
        _require_one(counts - {0}, f"{claim['reduce']} over {along}", "reduce")
        return
    paths = {word: quantity_fact(side, "over") if quantity_fact(side, "best") else None for word, side in sides.items()}
    if not any(paths.values()) or not (to or over):
        return
    whole = next(word for word, path in paths.items() if path)
    for word, side in sides.items():
        if paths[word] is None and _made_of(side) & _made_of(sides[whole]):
            what = f"'{side['quantity']}' is of one run, '{sides[whole]['quantity']}' the best of several"
            raise LabError(Issue("conflict", f"{word}.quantity", f"{what} on the judged seeds", _REMEDY))
    levels = parse_order(claim["order"])[0] if claim.get("order") else []
    counts = {
        count
        for word, path in paths.items()
        if path is not None
        for count in _in_groups(results, with_named_levels(sides[word], over, levels), path)
    }
    _require_one(counts, f"'{sides[whole]['quantity']}'", "of.quantity")


def _require_one(counts: set[int], best: str, where: str) -> None:
    if len(counts) > 1:
        what = f"{best} is taken over {min(counts)} values on one side and over {max(counts)} on another"
        raise LabError(Issue("conflict", where, f"{what}: the best of more is better by chance", _REMEDY))


def _made_of(selection: Conditions) -> set[str]:
    """The stored quantities of which the numbers of a selection are made."""
    names = [str(name) for name in value_list(selection.get("quantity"))]
    return {part for name in names for part in quantity_fact({"quantity": name}, "of") or (name,)}


def _in_groups(results: Results, selection: Conditions, path: str) -> list[int]:
    """How many values of a path each group of a selection has whose runs differ there alone. One value is no grid."""
    settings = settings_of(results)
    values = settings.values(path).join(settings.groups(path), on="variant")
    values = values.join(results.runs.select("variant"), on="variant", how="semi")
    own = values.join(runs_with(results, selection).select("variant"), on="variant", how="semi")["group"].unique()
    counts = values.filter(pl.col("group").is_in(own.implode())).group_by("group").agg(pl.col("value").n_unique())
    return [count for count in counts["value"] if count > 1]
