"""Claims about what a report holds in part: they are not judged on what is left.

Of a long curve a report may have the drawn points alone, and of a measurement the rows of some sites. Then the record
of the run names the quantity, alone or with the selections of which every row is there: ``gradient_norm [{...}, ...]``.
"""

import json
from collections.abc import Iterable

from lnlab.claims.claim import Claim, Finding
from lnlab.claims.claim_scope import results_of_claim, selections_of_claim
from lnlab.keys import Json
from lnlab.select.quantity import quantity_facts
from lnlab.select.select import runs_with
from lnlab.select.selection import Conditions, value_list
from lnlab.select.settings import NothingSelected
from lnlab.specfile.expressions import named_parts
from lnlab.tables import Results

LONG_CURVE = 50
"""Of a curve with more points that no claim reads, a report keeps those that are drawn."""


def claim_selections(claim: Claim) -> list[Conditions]:
    """Every selection that a claim reads, those of its requirements included."""
    return [selection for part in (claim, *(claim.get("requires") or ())) for selection in selections_of_claim(part)]


def quantities_of_claim(claim: Claim) -> set[str]:
    """The quantities of which a claim reads every row, with those that a derived one is made of."""
    return {name for selection in claim_selections(claim) for name in _read(selection)}


def named_in(selection: Conditions) -> list[str]:
    """The quantities that a selection names. An expression counts as those that it names."""
    named = [name for name in value_list(selection.get("quantity")) if isinstance(name, str)]
    return [part for name in named for part in named_parts(name)]


def _read(selection: Conditions) -> set[str]:
    return _with_parts(named_in(selection))


def _with_parts(names: Iterable[str]) -> set[str]:
    found: set[str] = set()
    for name in names:
        facts = quantity_facts(name)
        of = () if facts is None or facts.reads is not None else facts.of or ()
        found |= {name, *_with_parts(of)}
    return found


def thinned_finding(claim: Claim, results: Results) -> Finding | None:
    """The finding of a claim that reads rows some of which are not there, or None."""
    if not results.thinned:
        return None
    own = results_of_claim(claim, results)
    for selection in claim_selections(claim):
        try:
            runs = runs_with(own, selection, claim.get("over"))["run"]
        except NothingSelected:
            continue
        entries = {entry for run in runs for entry in results.thinned.get(run, ())}
        partial = {name for entry in entries if (name := _partial(entry, selection)) is not None}
        if lacking := sorted(partial & _read(selection)):
            what = f"these rows hold no more of {', '.join(lacking)} than their report shows"
            return Finding("not testable here", claim["kind"], f"{what}; run the spec in an empty store")
    return None


def _partial(entry: str, selection: Conditions) -> str | None:
    """The quantity of an entry of ``thinned``, unless every row of it that a selection takes is there."""
    name, _, whole = entry.partition(" ")
    try:
        kept = json.loads(whole or "[]")
        return None if any(_within(selection, conditions) for conditions in kept) else name
    except (ValueError, TypeError, AttributeError):  # anybody may have written it
        return name


def _within(selection: Conditions, kept: Conditions) -> bool:
    """Whether a selection takes no row that another one does not take."""
    return all(word in selection and _narrows(selection[word], condition) for word, condition in kept.items())


def _narrows(value: Json, condition: Json) -> bool:
    values, allowed = (each if isinstance(each, list) else [each] for each in (value, condition))
    return all(each in allowed for each in values)
