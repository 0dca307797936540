"""What a claim tests, as a digest: it moves with what is tested, and with no name.

The criterion is the kind with its parameters (edges among them), what is selected, the variants that this reads, the
estimand, and what has to finish. Ids, sentences, sources, seeds, and the names of methods and axes are no part of it.
The value that a sentence names (``law``) is none either: it has a word of its own beside the verdict.

Some fields can only take a word back. A margin of ours has ``contradicted`` in fewer cases than a source's at the same
edges. A claim that requires something is judged only where that holds. Such fields are *restrictions*, and stand
behind the digest. A criterion that gains one asks nothing new of seeds that it was judged on (``covers``). One that
loses one does.
"""

from collections.abc import Mapping
from contextlib import suppress

from lnlab.claims.claim_scope import results_of_claim, selections_of_claim
from lnlab.claims.order_chain import parse_order
from lnlab.errors import LabError
from lnlab.keys import Json, digest
from lnlab.select.references import NoReference, reference_variants
from lnlab.select.select import runs_with
from lnlab.select.selection import Conditions, parse_selection, with_named_levels
from lnlab.select.settings import NothingSelected
from lnlab.specfile.columns import COLUMNS
from lnlab.specfile.experiment import CRITERION_FIELDS, ClaimText
from lnlab.specfile.references import REFERENCE
from lnlab.tables import Results

_DIGITS = 12
_RESTRICTION_DIGITS = 6
RESTRICTION_MARK = "+"
"""Stands before each restriction."""
_OF_MARGIN = ("margin", "no_effect", "zone")
_APART = {
    *(set(ClaimText.model_fields) - {"kind", *CRITERION_FIELDS}),
    *("seeds", "of", "to", "less", "less_to", "over", "order"),
    *_OF_MARGIN,
}
"""Fields of a claim that are no part of its criterion, or are stated apart from the other parameters."""


def claim_criterion(claim: Mapping[str, Json], results: Results) -> tuple[str, tuple[int, ...]]:
    """The digest of a claim's criterion and the seeds it is judged on, both empty if it reads no rows.

    Args:
        claim: resolved.
        results: of the experiment.
    """
    seeds: set[int] = set()
    try:
        own = results_of_claim(claim, results)
        for selection in selections_of_claim(claim):
            seeds |= set(runs_with(own, selection, claim.get("over"))["seed"])
        # Of further seeds those variants alone run that the claim reads. What it asks about is the same.
        return (criterion_digest(claim, results) if seeds else ""), tuple(sorted(seeds))
    except LabError:
        return "", ()


def criterion_digest(claim: Mapping[str, Json], results: Results) -> str:
    """The digest of what a claim tests of which runs, with its restrictions behind it.

    Args:
        claim: resolved, or what a claim requires.
        results: of the experiment, measured or planned.

    Raises:
        LabError: its order cannot be read.
    """
    over = claim.get("over")
    by_setting = isinstance(over, str) and over not in COLUMNS
    levels, signs = parse_order(claim["order"]) if claim.get("order") else ([], [])
    selected: list[Json] = []
    for selection in selections_of_claim(claim):
        of_rows = {word: value for word, value in parse_selection(selection).rows.items() if word != "seed"}
        read = _variants(with_named_levels(selection, over, levels), over, results)
        if (reference := selection.get(REFERENCE)) is not None:
            of_rows[REFERENCE] = reference
            with suppress(NoReference):
                against = reference_variants(results, reference)
                of_rows[REFERENCE] = [[variant, sorted(against[variant])] for variant in read]
        # An order names values of its path, and these may be names.
        named = (
            [_variants({**selection, str(over): value}, over, results) for value in levels] if by_setting else levels
        )
        selected.append([of_rows, read, named])
    # ``law`` in words is a parameter of a kind. The number that a sentence names is no part of its test.
    own = {"law"} if isinstance(claim.get("law"), str) else set()
    # A parameter that a kind gets later moves no criterion if its default is None.
    parameters = {
        word: value for word, value in claim.items() if value is not None and (word in own or word not in _APART)
    }
    where = over if not (by_setting and levels) else None
    core = digest([parameters, where, signs, selected])[:_DIGITS]
    restrictions = [criterion_digest(each, results) for each in claim.get("requires") or ()]
    if claim.get("margin") == "ours":
        restrictions.append(digest([claim.get(word) for word in _OF_MARGIN]))
    marks = sorted(digest(restriction)[:_RESTRICTION_DIGITS] for restriction in restrictions)
    return RESTRICTION_MARK.join([core, *marks])


def covers(earlier: str, today: str) -> bool:
    """Whether seeds that were judged by an earlier criterion were judged by today's: it has its restrictions at least.

    An empty criterion, of a look that was recorded afterwards, is that of its claim, whatever it is.
    """
    if not earlier or not today:
        return True
    core, *marks = earlier.split(RESTRICTION_MARK)
    core_today, *marks_today = today.split(RESTRICTION_MARK)
    return core == core_today and set(marks) <= set(marks_today)


def _variants(conditions: Conditions, over: Json, results: Results) -> list[str]:
    try:
        return sorted(set(runs_with(results, conditions, over if isinstance(over, str) else None)["variant"]))
    except NothingSelected:
        return []
