"""Claims about curves of which a report keeps the drawn points alone: they are not judged on what is left."""

from collections.abc import Iterable

from lnlab.claims.claim import Claim, Finding
from lnlab.claims.claim_scope import results_of_claim, selections_of_claim
from lnlab.select.quantity import quantity_facts
from lnlab.select.select import runs_with
from lnlab.select.selection import Conditions, value_list
from lnlab.select.settings import NothingSelected
from lnlab.specfile.expressions import named_parts
from lnlab.tables import Results


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
    """The finding of a claim that reads a curve of which not every point is there, or None."""
    if not results.thinned:
        return None
    own = results_of_claim(claim, results)
    for selection in claim_selections(claim):
        try:
            runs = runs_with(own, selection, claim.get("over"))["run"]
        except NothingSelected:
            continue
        if lacking := sorted({name for run in runs for name in results.thinned.get(run, ())} & _read(selection)):
            what = f"these rows hold no more points of {', '.join(lacking)} than were drawn"
            return Finding("not testable here", claim["kind"], f"{what}; run the spec in an empty store")
    return None
