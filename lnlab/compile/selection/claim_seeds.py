"""Seeds of single claims: on which seeds each variant runs, where claims are judged on others than the experiment's."""

from collections.abc import Mapping

from lnlab.compile.selection.resolved_requests import ResolvedRequests
from lnlab.select.selection import selections_by_word, value_list
from lnlab.select.variants import Variants
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
        # Every variant runs on these anyway.
        if set(claim_seeds) <= set(experiment.seeds):
            continue
        for request in (*requests.claims, *requests.requires):
            if request.name[1] != claim:
                continue
            for selection in selections_by_word(request.choice).values():
                members = variants.selected(selection)
                # Its quantity is measured against a reference, by default the best of all.
                names = value_list(selection.get("quantity"))
                by_default = BEST if any(against.get(str(name), _COMPARED) != _COMPARED for name in names) else None
                if (reference := selection.get(REFERENCE, by_default)) is not None:
                    groups = parse_reference(reference)
                    members = members.union(*(variants.selected(group.conditions) for group in groups))
                for number in members:
                    seeds[number] |= dict.fromkeys(claim_seeds)
    return [tuple(own) for own in seeds]
