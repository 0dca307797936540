"""The numbers of every registered piece move with its version, and with nothing else.

They are kept in ``fixtures/numbers.json``; ``make numbers`` adds those of new entries and of raised versions.
"""

import pytest

from lnlab.catalogue import REGISTRIES
from lnlab.errors import CorpusError
from tests.catalogue.measured import MEASURES
from tests.catalogue.records import complaint, read, record_of
from tests.support.pieces import measurable

KEPT = read()
ENTRIES = [entry for kind in MEASURES for entry in measurable(kind) if entry.origin.name == "lnlab"]


def is_real(entry):
    """Whether it reads files that no clone has."""
    locate = getattr(entry.facts, "locate", None)
    return locate is not None and locate(()) is None


@pytest.mark.parametrize(
    "entry",
    [pytest.param(entry, marks=[pytest.mark.data] if is_real(entry) else []) for entry in ENTRIES],
    ids=lambda entry: f"{entry.kind} {entry.name}",
)
def test_numbers_move_with_the_version(entry, roots):
    try:
        found = record_of(entry, roots)
    except CorpusError as error:
        pytest.skip(f"needs real data in LNLAB_DATA: {error}")
    assert complaint(entry.kind, KEPT.get(f"{entry.kind} {entry.name}"), found) == ""


def test_every_kind_of_piece_is_measured_and_only_entries_that_are_there_are_kept():
    assert KEPT.keys() <= {f"{entry.kind} {entry.name}" for entry in ENTRIES}, "run `make numbers`"
    # A registry with a first entry needs a way to measure it, in measured.py.
    assert {kind for kind, registry in REGISTRIES.items() if list(registry)} <= MEASURES.keys()
