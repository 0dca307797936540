"""The printed tables of the study against what any rule would score, and reproduced ones against counts by hand."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from lnlab.keys import canonical
from lnlab.report.gallery.yu_convergence import (
    Guess,
    Printed,
    PrintedColumn,
    boundary_error,
    boundary_errors,
    count_right_guesses,
    printed_columns,
)
from lnlab.specfile.load import load_spec
from tests.support.results import lettered_run, results_of

SPEC = Path(__file__).parents[2] / "specs" / "yu_convergence.yaml"
OF = {"quantity": "converged", "rule": "learned", "split": "train"}
RATES = (1.0, 0.1, 0.01)
LETTERS = {"layer": "NCC", "batch": "NNC"}


@pytest.fixture(scope="module")
def published():
    stated = (claim for section in load_spec(SPEC).data["report"] for claim in section.get("claims", ()))
    claim = next(claim for claim in stated if claim["id"] == "boundaries")
    guesses = {name: tuple(Guess(**each) for each in rules) for name, rules in claim["guesses"].items()}
    return Printed.model_validate_json(canonical(claim["cells"])), guesses


def test_the_studys_columns_are_its_126_cells(published):
    printed, _ = published
    counts = [{word: letters.count("C") for word, letters in table.columns.items()} for table in printed.tables]
    assert [(c["layer"], c["batch"], c["none"]) for c in counts] == [
        (5, 5, 4), (5, 5, 4), (5, 4, 4), (5, 2, 2), (5, 2, 2), (5, 1, 1)
    ]  # fmt: skip
    assert all(
        letters == "N" * letters.count("N") + "C" * letters.count("C") and len(letters) == 7
        for table in printed.tables
        for letters in table.columns.values()
    )


def test_trivial_rules_get_most_cells_right(published):
    printed, guesses = published
    columns = [
        PrintedColumn(
            {**table.where, "norm": word}, {r: x == "C" for r, x in zip(printed.rates, letters, strict=True)}, None
        )
        for table in printed.tables
        for word, letters in table.columns.items()
    ]
    assert sorted(count_right_guesses(columns, rules) for rules in guesses.values()) == [104, 110, 111, 122]
    assert count_right_guesses(columns, ()) == sum(not cell for column in columns for cell in column.printed.values())


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ({"rates": [1, 0.1], "columns": {"layer": "NCC"}}, "one letter, C or N, for each"),
        ({"rates": [1, 1, 0.1], "columns": {"layer": "NCC"}}, "each rate stands there once"),
        ({"rates": [1, 0.1], "columns": {"layer": "NX"}}, "one letter, C or N, for each"),
        ({"rates": [1, 0], "columns": {"layer": "NC"}}, "greater than 0"),
    ],
)
def test_a_table_that_is_not_whole_is_refused(given, what):
    tables = [{"name": "a", "where": {}, "columns": given.pop("columns")}]
    with pytest.raises(ValidationError, match=what):
        Printed.model_validate_json(canonical({"across": "norm", "tables": tables, **given}))


@pytest.mark.parametrize(
    ("found", "printed", "error"),
    [("CCN", "CCN", 0), ("CNN", "CCN", 1), ("CCC", "CNN", 2), ("NNN", "CCN", 2), ("CNC", "CCN", 1), ("NCC", "CCC", 3)],
)
def test_the_error_of_a_boundary(found, printed, error):
    """Rates rise; of a column with gaps the worse reading counts."""
    cells = [
        {rate: letter == "C" for rate, letter in zip(reversed(RATES), word, strict=True)} for word in (found, printed)
    ]
    assert boundary_error(*cells) == error


def printed_here(letters=LETTERS):
    tables = ({"name": "one", "where": {"optimizer.kind": "sgd"}, "columns": letters},)
    return Printed.model_validate_json(canonical({"rates": RATES, "across": "norm", "tables": tables}))


def converged_results(setting, cells):
    """``cells``: norm -> a string of letters a seed, rates falling as they are printed."""
    return results_of(
        lettered_run(letter, setting(norm={"kind": norm}), rate, variant=f"{norm}{rate}", seed=seed)
        | {"axes": {"norm": norm, "optimizer.lr": rate}}
        for norm, seeds in cells.items()
        for seed, letters in enumerate(seeds, 1)
        for rate, letter in zip(RATES, letters, strict=True)
    )


def test_cells_and_boundaries_by_hand(setting):
    found = printed_columns(
        converged_results(setting, {"layer": ["NCC", "CCC", "DCC"], "batch": ["NNC", "NCC", "NCN"]}), printed_here(), OF
    )
    assert boundary_errors(found) == {1: 0.0, 2: (1 + 1) / 2, 3: (0 + 1) / 2}
    assert [column.right_cells for column in found] == [2, 3]


def test_half_of_the_seeds_are_no_majority_and_one_that_lacks_a_run_is_left_out(setting):
    results = converged_results(setting, {"layer": ["NCC", "NNC"], "batch": ["NNC", "NNC"]})
    assert [column.right_cells for column in printed_columns(results, printed_here(), OF)] == [3, 2]
    results = converged_results(setting, {"layer": ["NCC", "N-C"]})
    (column,) = printed_columns(results, printed_here(), OF)
    assert column.where["norm"] == "layer"
    assert list(boundary_errors([column])) == [1]
