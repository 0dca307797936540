"""What a claim reads: its selections of measured rows, and the sizes, corpus, steps and seeds of these in words."""

from collections.abc import Mapping

from lnlab.claims.comparing import with_compared_reference
from lnlab.keys import Json
from lnlab.select.scope import scope_sentence
from lnlab.select.seeds import results_of_seeds
from lnlab.select.select import runs_with, select_measured_rows
from lnlab.tables import Results


def selections_of_claim(claim: Mapping[str, Json]) -> list[dict[str, Json]]:
    """The selections that a claim reads: ``of``, and ``of`` with what ``to`` changes; none where it reads no rows."""
    if claim.get("of") is None:
        return []
    claim = with_compared_reference(claim)
    of = claim["of"]
    to = claim.get("to")
    return [of] if to is None else [of, {**of, **to}]


def results_of_claim(claim: Mapping[str, Json], results: Results) -> Results:
    """The results of the seeds that a claim is judged on; all of them where it names none."""
    return results_of_seeds(results, claim.get("seeds"))


def claim_scope(claim: Mapping[str, Json], results: Results, seeds: int) -> str:
    """The scope of a claim in words; nothing for one that reads no rows."""
    if not (selections := selections_of_claim(claim)):
        return ""
    over = claim.get("over")
    variants = [v for s in selections for v in runs_with(results, s, over)["variant"].unique(maintain_order=True)]
    steps = [step for s in selections for step in select_measured_rows(results, s)["step"].unique()]
    return scope_sentence(results, variants, steps, seeds)
