"""A printed table with ours in it: cells by hand, a page without a script, and the same page from its folder alone."""

import re
from dataclasses import replace
from types import SimpleNamespace

import polars as pl
import pytest

from lnlab.errors import LabError
from lnlab.report.cell_matrix import HEIGHT, Trace, draw_traces, finite_prefix
from lnlab.report.facts import ReportFacts
from lnlab.report.page.provenance import decision_grid
from lnlab.report.registries import FRAME_REGISTRIES
from lnlab.report.sections import convergence_table
from lnlab.report.write import render_report, write_report
from lnlab.tables import Results
from tests.report.lettered import CELLS, RATES, H, made

GUESSES = {"up to .1": [{"at_most": 0.1}], "nothing": []}
CHOICE = {
    "kind": "convergence_table",
    "where": {"rule": "learned", "split": "train"},
    "cells": CELLS,
    "guesses": GUESSES,
}


@pytest.fixture(scope="module")
def results():
    return made()


def section(results, **given):
    registry = FRAME_REGISTRIES["section"]
    return registry.builder(registry.resolve({**CHOICE, **given}))(results)


def test_each_cell_counts_its_seeds_and_agrees_or_not(results, golden):
    found = section(results)
    rows = found.tables[0].rows
    told = {(c, r): (p, h, k, n, a) for r, c, p, h, k, n, a in rows.select(
        "rate", "column", "published", "here", "k", "n", "agreement").iter_rows()}  # fmt: skip
    assert told == {
        ("layer", 1.0): ("N", "N", 0, 3, "agrees"),
        ("layer", 0.1): ("C", "C", 3, 3, "agrees"),
        ("batch", 1.0): ("N", "C", 2, 3, "differs"),
        ("batch", 0.1): ("C", "?", 1, 2, "half"),
    }
    assert rows["others"].to_list() == ["2 diverged, 1 stuck", "", "1 stuck", "1 stuck"]
    golden(found.finding)
    golden(found.missing)


def test_the_order_is_that_of_the_sweep_and_each_mark_has_a_symbol(results):
    (block,) = section(results).tables[0].grid.view.blocks
    assert block.headings == ("LayerNorm", "BatchNorm")
    assert [(rate, [(c.printed, c.ours, c.seeds, c.mark, c.style) for c in cells]) for rate, cells in block.rows] == [
        ("1", [("N", "N", "0/3", "✓", "supported"), ("N", "C", "2/3", "✗", "contradicted")]),
        ("0.1", [("C", "C", "3/3", "✓", "supported"), ("C", "?", "1/2", "=", "undecided")]),
    ]


def test_only_the_runs_that_where_takes_are_in_a_cell(results):
    only = section(results, where={**CHOICE["where"], "seed": [1, 2]}).tables[0]
    assert only.rows.select("k", "n").rows() == [(0, 2), (2, 2), (2, 2), (1, 2)]
    assert len({cell.target for _, cells in only.grid.view.blocks[0].rows for cell in cells}) == 4
    whole = section(results).tables[0].grid.view
    assert not {each.stem for each in only.grid.view.details} & {each.stem for each in whole.details}


def test_scores_of_trivial_rules_and_the_rule_itself_stand_below(results, golden):
    notes = " ".join(section(results).tables[0].grid.view.notes)
    golden(notes)
    rates = [*RATES, 0.01]
    tables = [{**CELLS["tables"][0], "columns": {"layer": "NCC", "batch": "NCC"}}]
    more = section(results, cells={**CELLS, "rates": rates, "tables": tables})
    golden(" ".join(more.tables[0].grid.view.notes))
    golden(notes)
    assert "share 0.125" in notes


def test_unconverged_runs_are_infinite_in_medians(results):
    times = section(results).tables[0].rows["time"].to_list()
    assert times == [float("inf"), 50.0, 50.0, float("inf")]


def test_behind_each_cell_are_the_losses_of_each_seed_and_their_fate(results, golden):
    view = section(results).tables[0].grid.view
    links = {cell.target for block in view.blocks for _, cells in block.rows for cell in cells}
    assert links == {each.stem for each in view.details}
    first = view.details[0]
    golden(first.title)
    golden(first.says)
    assert [style for style, _ in first.drawing.paths].count("train lost") == 3
    assert section(results, curves=False).tables[0].grid.view.details == ()


def test_no_line_has_more_than_fifty_places_and_extremes_stay(results):
    view = section(results).tables[0].grid.view
    (path,) = [d for style, d in view.details[1].drawing.paths if style == "train kept"][:1]
    assert len(path.split("L")) <= 50
    kept = section(results).rows["curves"]
    whole = results.tables["curves"].filter(quantity="loss", run="layer0.1-1")["value"]
    thinned = kept.filter(quantity="loss", run="layer0.1-1")["value"]
    assert (thinned.len() <= 50, thinned.min(), thinned.max()) == (True, whole.min(), whole.max())


def test_a_long_line_is_thinned_though_many_short_ones_stand_beside_it():
    few = made()
    short = few.tables["curves"].filter(
        (pl.col("quantity") != "loss") | pl.col("run").eq("layer0.1-1") | (pl.col("step") < 5)
    )
    results = Results(few.runs, few.axes, few.tables | {"curves": short})
    view = section(results).tables[0].grid.view
    lengths = [
        len(d.split("L")) for each in view.details for style, d in each.drawing.paths if style.startswith("train")
    ]
    assert max(lengths) <= 50
    assert 5 in lengths


def test_a_drawing_stays_inside_and_ends_before_what_is_not_finite():
    points = [(0, 1.0), (1, 900.0), (2, 0.0), (3, float("nan")), (4, 1.0)]
    drawing = draw_traces([Trace(finite_prefix(points), "train", converged=False)], H)
    ((style, d),) = drawing.paths
    heights = [int(place.split(",")[1]) for place in re.split("[ML]", d)[1:]]
    assert (style, len(heights), drawing.top, drawing.last) == ("train lost", 3, "2", "2")
    assert min(heights) >= 0
    assert max(heights) <= HEIGHT


@pytest.mark.parametrize(
    "where",
    [{"rule": "learned"}, {"rule": "lerned", "split": "train"}],
)
def test_the_rule_and_the_loss_have_to_be_named(results, where, golden):
    with golden.raises(LabError):
        section(results, where=where)


def test_the_page_is_made_again_from_its_folder_and_needs_no_script(results, tmp_path):
    part = {**CHOICE, "title": "Table"}
    facts = ReportFacts(
        name="a",
        title="A table",
        spec="lnlab: 2",
        path="specs/a.yaml",
        digest="0" * 64,
        version="0.1.0",
        sections=(part,),
    )
    written = write_report(tmp_path / "a", facts, results, []).files
    pages = {path: path.read_bytes() for path in written if path.suffix in (".html", ".csv", ".tex")}
    page = (tmp_path / "a" / "index.html").read_text()
    for stem in set(re.findall(r'href="#(cell-[^"]+)"', page)):
        assert f'<section id="{stem}"' in page
    assert page.count('href="#cell-') == 4
    assert "✗" in page
    assert (tmp_path / "a" / "tables" / "table-1.csv").read_text().count("\n") == 5
    assert "N, C 2/3" in (tmp_path / "a" / "tables" / "table-1.tex").read_text()
    render_report(tmp_path / "a")
    assert {path: path.read_bytes() for path in pages} == pages


def own(results, **given):
    choice = {"kind": "convergence_table", "where": CHOICE["where"], **given}
    registry = FRAME_REGISTRIES["section"]
    return registry.builder(registry.resolve(choice))(results)


def test_without_printed_cells_each_model_is_a_column_and_is_compared_with_nothing(results, golden):
    found = own(results)
    golden(found.finding)
    (table,) = found.tables
    view = table.grid.view
    assert [block.name for block in view.blocks] == [""]
    assert view.blocks[0].headings == ("LayerNorm", "BatchNorm")
    assert [(rate, [(c.ours, c.seeds, c.mark, c.printed) for c in cells]) for rate, cells in view.blocks[0].rows] == [
        ("1", [("N", "0/3", "", ""), ("C", "2/3", "", "")]),
        ("0.1", [("C", "3/3", "", ""), ("?", "1/2", "", "")]),
    ]
    assert view.details[0].title == "LayerNorm, learning rate 1"
    assert not {"published", "agreement", "table"} & set(table.rows.columns)
    words = " ".join([found.finding, table.caption, *view.notes, *(s for d in view.details for s in d.says)])
    assert not re.search("published|printed|agree|source", words, re.IGNORECASE)


def test_an_axis_across_makes_tables_of_the_others(results, golden):
    deep = own_results(results)
    found = own(deep, across="norm")
    blocks = found.tables[0].grid.view.blocks
    assert [(block.name, block.headings) for block in blocks] == [
        ("1 layer", ("LayerNorm", "BatchNorm")),
        ("2 layers", ("LayerNorm", "BatchNorm")),
    ]
    golden(found.finding)
    assert own(deep).tables[0].grid.view.blocks[0].headings[0] == "LayerNorm, 1 layer"
    with golden.raises(LabError):
        own(deep, across="placement")


def own_results(results):
    """The same runs twice, the second time with two layers."""

    def deeper(frame):
        renamed = [pl.col(c) + "-deep" for c in ("run", "variant", "trajectory") if c in frame.columns]
        return frame.with_columns(renamed)

    runs = deeper(results.runs).with_columns(pl.col("setting").str.replace('"layers":1', '"layers":2', literal=True))
    layers = [
        {"run": run, "axis": "model.layers", "value": number, "number": float(number), "label": number}
        for frame, number in ((results.runs, "1"), (runs, "2"))
        for run in frame["run"]
    ]
    axes = pl.concat([results.axes, deeper(results.axes), pl.DataFrame(layers, schema=results.axes.schema)])
    tables = {name: pl.concat([table, deeper(table)]) for name, table in results.tables.items()}
    return Results(pl.concat([results.runs, runs]), axes, tables)


def test_a_table_of_one_s_own_stands_on_the_page_without_empty_brackets(results, tmp_path):
    facts = ReportFacts(
        name="own",
        title="Rates",
        spec="lnlab: 2",
        path="own.yaml",
        digest="3f" * 32,
        version="0.1.0",
        sections=({**OWN, "claims": []},),
    )
    page = write_report(tmp_path, facts, results, []).files[0].read_text()
    text = page.partition('class="matrix"')[2].partition('class="note"')[0]
    assert text.count("<td") == 4
    assert "was" not in text
    assert "<caption>" not in text


CHOSEN = {"layer": 0.1, "batch": 1.0}


def decision(norm, value):
    tried = [{"value": rate, "score": 0.1 * rate, "losses": [0.1 * rate]} for rate in (0.01, 0.1, 1.0)]
    asked = {
        "key": norm,
        "path": "optimizer.lr",
        "about": {"norm": norm},
        "rule": {"kind": "best"},
        "seeds": [101, 102],
    }
    decided = {"value": value, "met": True, "statistic": "", "reason": "best", "candidates": tried, "rows": ""}
    return asked | decided


def of_chosen(results, norms=tuple(CHOSEN)):
    """The judged runs of an experiment whose rates were chosen: of each norm those at one rate."""
    kept = [f"{norm}{CHOSEN[norm]}-{seed}" for norm in norms for seed in (1, 2, 3)]
    tables = {name: table.filter(pl.col("run").is_in(kept)) for name, table in results.tables.items()}
    return Results(*(f.filter(pl.col("run").is_in(kept)) for f in (results.runs, results.axes)), tables)


@pytest.mark.parametrize(
    ("values", "chosen", "edge"),
    [
        (
            CHOSEN,
            "0.1 with LayerNorm and 1 with BatchNorm",
            " The best lies at the edge of the grid (BatchNorm); a better one may lie beyond it.",
        ),
        ({"layer": 0.1}, "0.1", ""),
    ],
)
def test_the_caption_says_which_rates_were_chosen_from_which_grid(results, values, chosen, edge, golden):
    judged = of_chosen(results, tuple(values))
    decisions = [decision(norm, value) for norm, value in values.items()]
    found = convergence_table.convergence_table(judged, decisions, where=CHOICE["where"])
    caption = found.tables[0].caption
    assert f", on tuning seeds 101–102: {chosen}.{edge} " in caption
    golden(caption)
    assert edge or "edge" not in caption
    golden(found.finding)


def test_columns_may_have_rates_of_their_own(results):
    found = convergence_table.convergence_table(of_chosen(results), where=CHOICE["where"])
    (block,) = found.tables[0].grid.view.blocks
    assert [(rate, [cell.seeds for cell in cells]) for rate, cells in block.rows] == [
        ("1", ["", "2/3"]),
        ("0.1", ["3/3", ""]),
    ]
    assert "chosen" not in found.tables[0].caption


OWN = {"kind": "convergence_table", "where": {"rule": "learned", "split": "train"}, "title": None, "heading": None}


@pytest.mark.parametrize(
    "converged",
    [
        ({0.01: True}, {0.01: True, 0.1: False}),
        ({0.01: True},) * 3,
        ({0.01: False},) * 2,
        ({0.01: True}, {0.01: False}),
    ],
)
def test_one_rate_of_several_columns_is_said_once(monkeypatch, converged, golden):
    columns = [SimpleNamespace(table="", word=word, cells=c) for word, c in zip("ABC", converged, strict=False)]
    monkeypatch.setattr(convergence_table, "majority_cells", lambda column: column.cells)
    golden(convergence_table._own_finding(columns))


def test_a_rate_is_that_of_the_runs_of_its_grids(results, golden):
    decisions = [
        {**decision(norm, value), "about": {}, "grid": [grid], "where": {"norm": norm}}
        for (norm, value), grid in zip(CHOSEN.items(), ("slow", "fast"), strict=True)
    ]
    both = convergence_table.convergence_table(of_chosen(results), decisions, where=CHOICE["where"]).tables[0].caption
    golden(both)
    one = convergence_table.convergence_table(of_chosen(results, ("layer",)), decisions, where=CHOICE["where"])
    golden(one.tables[0].caption)
    facts = ReportFacts(
        name="own",
        title="Rates",
        spec="lnlab: 2",
        path="own.yaml",
        digest="3f" * 32,
        version="0.1.0",
        decisions=tuple(decisions),
    )
    grid = decision_grid(facts)
    assert [row[1][0] for row in grid.rows] == ["grid slow", "grid fast"]
    about = replace(facts, decisions=({**decisions[0], "about": {"model.layers": 2}}, decision("layer", 0.1)))
    assert [row[1][0] for row in decision_grid(about).rows] == ["2 layers; grid slow", "LayerNorm"]
