"""What a claim reads: its selections of measured rows, and the sizes, corpus, steps and seeds of these in words."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from lnlab.claims.order_chain import parse_order
from lnlab.keys import Json
from lnlab.select.aligned import alone_in_words
from lnlab.select.quantity import quantity_fact
from lnlab.select.references import reference_variants
from lnlab.select.rows import reference_of
from lnlab.select.scope import scope_sentence
from lnlab.select.seeds import results_of_seeds
from lnlab.select.select import runs_with, select_measured_rows
from lnlab.select.selection import parse_selection, selections_by_word, with_named_levels
from lnlab.specfile.columns import COLUMNS
from lnlab.specfile.references import REFERENCE, SAME
from lnlab.tables import Results


def with_compared_reference(claim: Mapping[str, Any]) -> Mapping[str, Any]:
    """The claim with the variants that it compares as the reference of ``of``, if its quantity asks and none is named.

    For a contrast ``to`` over a path these are the variants of each value there. For an order they are those it names.
    """
    of = claim.get("of") or {}
    to = claim.get("to")
    over = claim.get("over")
    if REFERENCE in of or quantity_fact(of, "reference") != "compared":
        return claim
    selections = selections_by_word({**claim, "of": of}).values()
    sides: list[dict[str, Json]] = [dict(parse_selection(selection).setting) for selection in selections]
    if isinstance(over, str) and over not in COLUMNS:
        if "order" in claim:
            sides = [{**sides[0], over: parse_order(claim["order"])[0]}]
        elif to is not None:
            sides = [{**side, SAME: over} for side in sides]
    references = [side for side in sides if side]
    return {**claim, "of": {**of, REFERENCE: references}} if references else claim


def selections_of_claim(claim: Mapping[str, Json]) -> list[dict[str, Json]]:
    """The selections that a claim reads, as ``selections_by_word`` has them. Empty where it reads no rows."""
    if claim.get("of") is None:
        return []
    return list(selections_by_word(with_compared_reference(claim)).values())


def results_of_claim(claim: Mapping[str, Json], results: Results) -> Results:
    """The results of the seeds that a claim names, or of all seeds where it names none."""
    return results_of_seeds(results, claim.get("seeds"))


def variants_of_claim(claim: Mapping[str, Any], results: Results) -> pl.Series:
    """The variants that a claim and what it requires read, each once. Each is a run of every further seed.

    Those that a number is measured against are among them. ``results`` are those of the seeds that the claim names, as
    from ``results_of_claim``.
    """
    read: dict[str, None] = {}
    for part in (claim, *(claim.get("requires") or ())):
        levels = parse_order(part["order"])[0] if part.get("order") else []
        for selection in selections_of_claim(part):
            of = with_named_levels(selection, part.get("over"), levels)
            selected = runs_with(results, of, part.get("over"))["variant"].unique(maintain_order=True)
            read |= dict.fromkeys(selected)
            if quantity_fact(of, "reference") is not None:
                against = reference_variants(results, reference_of(of))
                read |= dict.fromkeys(variant for own in selected for variant in against[own])
    return pl.Series("variant", list(read), pl.String)


def claim_scope(claim: Mapping[str, Json], results: Results, seeds: int) -> str:
    """Return the scope of a claim in words, with the rows that an expression leaves out, or "" if it reads no rows.

    Args:
        claim: the claim.
        results: of the seeds that the claim names, as ``results_of_claim``.
        seeds: how many of them were judged.
    """
    if not (selections := selections_of_claim(claim)):
        return ""
    over = claim.get("over")
    variants = [v for s in selections for v in runs_with(results, s, over)["variant"].unique(maintain_order=True)]
    rows = [select_measured_rows(results, selection) for selection in selections]
    steps = [step for of_selection in rows for step in of_selection["step"].unique()]
    alone = (alone_in_words(results, s, of_s) for s, of_s in zip(selections, rows, strict=True))
    return "; ".join(filter(None, (scope_sentence(results, variants, steps, seeds), *dict.fromkeys(alone))))
