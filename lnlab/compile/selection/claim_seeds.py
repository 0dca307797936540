"""Seeds of single claims: on which seeds each variant runs, where claims are judged on others than the experiment's."""

from collections.abc import Mapping

from lnlab.compile.selection.resolved_requests import ResolvedRequest, ResolvedRequests
from lnlab.select.selection import value_list
from lnlab.select.variants import Members, Variants
from lnlab.specfile.experiment import Experiment
from lnlab.specfile.references import BEST, REFERENCE, parse_reference

_COMPARED = "compared"
"""Of a quantity that is measured against the variants which its claim selects anyway."""


def seeds_of_variants(
    variants: Variants, experiment: Experiment, requests: ResolvedRequests, against: Mapping[str, str]
) -> list[tuple[int, ...]]:
    """The seeds of each variant: those of the experiment, then those of the claims that select it.

    Args:
        variants: that are judged.
        experiment: with the seeds of its claims.
        requests: its claims, resolved, and what they require.
        against: derived quantity -> what it is measured against where no reference is named.
    """
    seeds = [dict.fromkeys(experiment.seeds) for _ in variants.settings]
    for claim, claim_seeds in experiment.claim_seeds.items():
        if set(claim_seeds) <= set(experiment.seeds):
            continue
        for request in (*requests.claims, *requests.requires):
            if request.name[1] == claim:
                for number in _members(request, variants, against):
                    seeds[number] |= dict.fromkeys(claim_seeds)
    return [tuple(own) for own in seeds]


def _members(request: ResolvedRequest, variants: Variants, against: Mapping[str, str]) -> Members:
    """The variants that a claim reads: those it selects, and those that its quantity is measured against."""
    of, to = request.choice.get("of"), request.choice.get("to")
    if not isinstance(of, dict):
        return frozenset()
    selections = [of, {**of, **to}] if isinstance(to, dict) else [of]
    members = frozenset[int]()
    for selection in selections:
        members |= variants.selected(selection)
        names = value_list(selection.get("quantity"))
        by_default = BEST if any(against.get(str(name), _COMPARED) != _COMPARED for name in names) else None
        if (reference := selection.get(REFERENCE, by_default)) is not None:
            members = members.union(*(variants.selected(group.conditions) for group in parse_reference(reference)))
    return members
