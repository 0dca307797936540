"""Claims of shipped specs with a mistake are refused where it stands, and sound ones are not."""

from collections import Counter
from pathlib import Path

import pytest

from lnlab.app.planning.checks import check_request
from lnlab.app.rehearsal.judgeable import Rehearsals
from lnlab.app.request import Request
from lnlab.committed.registries import load_registries
from lnlab.errors import LabError
from lnlab.issues import Issue
from tests.app.rehearsal.claim_mutants import KINDS, mutants

SPECS = Path(__file__).parents[3] / "specs"
SLOW = ("depth_zoo", "yu_convergence")
MAY_BE_SOUND = ("unpinned", "range", "sites")
"""A selection that loses a condition may leave one number all the same, and an order needs no range."""


def told(path: Path, each: int) -> list[tuple[str, str, str, list[str]]]:
    """Kind, claim and key of each mistake, and what is said of the spec as it stands, without its profiles."""
    known = load_registries(())
    rehearsals = Rehearsals(known)
    found = []
    for mutant in mutants(path, 1, each):
        try:
            check_request(Request(spec=path, text=mutant.text), known, rehearsals)
            issues: tuple[Issue, ...] = ()
        except LabError as error:
            issues = error.issues
        found.append((mutant.kind, mutant.claim, mutant.key, [str(issue) for issue in issues]))
    return found


@pytest.mark.parametrize("name", ["yu_loss", pytest.param("radam_variance", marks=pytest.mark.nightly)])
def test_a_mistake_in_a_claim_is_refused_at_its_claim(name):
    for kind, claim, key, said in told(SPECS / f"{name}.yaml", 1):
        assert said or kind in MAY_BE_SOUND, (kind, claim, key)
        assert all(f"claims.{claim}" in line for line in said), (kind, claim, key, said)


@pytest.mark.torture
def test_of_a_thousand_mistakes_all_that_are_mistakes_are_refused():
    missed, all_of_kind = Counter(), Counter()
    for path in sorted(SPECS.glob("*.yaml")):
        if path.stem not in SLOW:
            for kind, *_, said in told(path, 3):
                all_of_kind[kind] += 1
                missed[kind] += not said
    assert set(all_of_kind) == set(KINDS)
    assert not [kind for kind in missed if missed[kind] and kind not in MAY_BE_SOUND], missed
