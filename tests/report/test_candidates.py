"""Candidates by how near they come to a printed table: boundaries and errors by hand."""

import pytest

from lnlab.analyse.statistics.intervals import t_interval
from lnlab.report.registries import FRAME_REGISTRIES
from tests.report import lettered
from tests.report.lettered import CELLS, made

WHERE = {"rule": "learned", "split": "train"}
FIRST, SECOND = ({**WHERE, "seed": seeds} for seeds in ([1], [1, 2]))


@pytest.fixture(scope="module")
def results():
    return made()


def section(results, *given, **more):
    registry = FRAME_REGISTRIES["section"]
    made_of = [{"name": name, "where": where, "cells": cells} for name, where, cells in given]
    return registry.builder(registry.resolve({"kind": "candidates", "candidates": made_of, **more}))(results)


def lines(found):
    return [[text.replace("\u00a0", " ") for text, _ in row] for row in found.tables[0].grid.rows]


def printed(**letters):
    return {**CELLS, "tables": [{**CELLS["tables"][0], "columns": letters}]}


def test_the_nearest_comes_first_with_the_shift_of_each_boundary(results):
    here = section(results, ("as printed", FIRST, CELLS), ("as found", FIRST, printed(layer="NC", batch="CC")))
    assert here.tables[0].grid.headings[3:] == ("1 layer, LayerNorm", "1 layer, BatchNorm")
    assert lines(here) == [["as found", "0", "4 of 4", "0", "0"], ["as printed", "0.500", "3 of 4", "0", "+1"]]
    assert here.finding.startswith("2 of 2 candidates are within 0.5 steps")
    assert "nearest comes “as found” with 0" in here.finding
    rows = here.tables[0].rows.select("candidate", "error", "n", "column", "printed", "here").rows()
    assert rows[3] == ("as printed", 0.5, 1, "1 layer, BatchNorm", 1, 2.0)


def test_seeds_make_an_interval_and_a_gap_counts_by_its_worse_reading(results, golden):
    found = section(results, ("two seeds", SECOND, printed(layer="NC", batch="CC")), at_most=0.1)
    # Seed 1 is as this has it. Of seed 2 BatchNorm converges at the large rate alone: 2 or 0 of 2, by the reading.
    low, high = t_interval([0.0, 1.0]).low, t_interval([0.0, 1.0]).high
    assert lines(found)[0][1:] == ["0.5 [−6, 7]", "3 of 4", "0", "0"]
    assert found.tables[0].rows.select("error", "low", "high", "n").rows()[0] == pytest.approx((0.5, low, high, 2))
    golden(found.finding)


def test_the_shift_of_a_column_has_an_interval_where_seeds_differ(monkeypatch):
    monkeypatch.setitem(lettered.FATES, ("batch", 0.1), "CC-")
    monkeypatch.setitem(lettered.FATES, ("batch", 1.0), "CN-")
    found = section(made(), ("two seeds", SECOND, CELLS))
    assert lines(found)[0][3:] == ["0", "+0.5 [−6, 7]"]
    bounds = t_interval([1.0, 2.0])
    rows = found.tables[0].rows.select("column", "here", "here_low", "here_high").rows()
    assert rows[0][1:] == (1.0, 1.0, 1.0)
    assert rows[1][1:] == pytest.approx((1.5, bounds.low, bounds.high))


def test_fewer_columns_stand_last_however_near(results):
    one = {**FIRST, "norm": "layer"}
    found = section(results, ("one column", one, CELLS), ("both", FIRST, CELLS))
    assert [line[0] for line in lines(found)] == ["both", "one column"]
    assert "nearest comes “both” with 0.5" in found.finding
    assert "come last" in found.tables[0].caption


def test_what_no_seed_has_whole_is_said(results, golden):
    found = section(results, ("third", {**WHERE, "seed": [3]}, CELLS))
    golden((found.finding, found.missing))
