"""The numbers of every registered piece move with its version, and with nothing else.

They are kept in ``fixtures/numbers.json``; ``make numbers`` adds those of new entries and of raised versions.
"""

import pytest

from lnlab.catalogue import REGISTRIES
from lnlab.errors import CorpusError
from tests.catalogue.measured import MEASURES, summary
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


def test_only_entries_that_are_there_are_kept():
    assert KEPT.keys() <= {f"{entry.kind} {entry.name}" for entry in ENTRIES}, "run `make numbers`"


def test_every_kind_of_piece_is_measured():
    """A registry with a first entry needs a way to measure it, in measured.py."""
    assert {kind for kind, registry in REGISTRIES.items() if list(registry)} <= MEASURES.keys()


A = {"version": 1, "with": {"norm layer": 1}, "numbers": {"x": [4, 1.0, 0.5], "text": "ab"}}


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ({}, ""),
        ({"numbers": {"x": [4, 1.000001, 0.499999], "text": "ab"}}, ""),
        ({"numbers": {"x": [4, 1.001, 0.5], "text": "ab"}}, "did not (x): raise it"),
        ({"numbers": {"x": [4, 1.0, 0.501], "text": "ab"}}, "did not (x): raise it"),
        ({"numbers": {"x": [5, 1.0, 0.5], "text": "ab"}}, "did not (x): raise it"),
        ({"numbers": {"x": [4, 1.0, 0.5], "text": "ac"}}, "did not (text): raise it"),
        ({"numbers": {"text": "ab"}}, "did not (x): raise it"),
        ({"numbers": {"x": [4, float("nan"), 0.5], "text": "ab"}}, "did not (x): raise it"),
        ({"version": 2}, "from 1 to 2: run"),
        ({"with": {"norm layer": 2}}, ""),
        ({"with": {"norm layer": 2}, "numbers": {"x": [4, 2.0, 0.5], "text": "ab"}}, "measured with (x): run"),
    ],
)
def test_what_is_complained_about(found, said):
    assert said in complaint("norm", A, A | found)
    assert bool(complaint("norm", A, A | found)) is bool(said)
    assert "not kept yet" in complaint("norm", None, A)


def test_a_probe_in_float32_is_allowed_more():
    other = A | {"numbers": {"x": [4, 1.0005, 0.5], "text": "ab"}}
    assert complaint("probe", A, other) == ""


def test_a_summary_sees_size_place_and_number():
    one = summary([1.0, -2.0, 3.0])
    assert one == pytest.approx([3, 2.0, 2 / 3])
    assert summary([3.0, -2.0, 1.0])[2] == pytest.approx(-2 / 3)
