"""A page whose author wrote no sections: those of the claims come first, then training, then what was probed."""

from dataclasses import replace

import polars as pl
import pytest

from lnlab.report.default_sections import MOST_SECTIONS, _candidates, with_default_sections
from lnlab.report.folder import read_folder
from lnlab.report.write import render_report, write_report
from tests.report.conftest import make_results
from tests.report.lettered import made

W2 = {"quantity": "gradient_norm", "stack": "decoder", "tensor": "w2"}
POST = {"model.layers": 6, "model.tied": "target", "decoder.cross_attention": True, "placement": "post"}


@pytest.fixture
def unarranged(facts):
    return replace(facts, sections=(), answers=())


def chosen(facts, results, *claims):
    sections = with_default_sections(facts, results, [], claims).sections
    return [(s["kind"], s.get("quantity"), s.get("where"), s["claims"]) for s in sections]


def test_a_claim_along_the_layers_has_a_profile_and_stands_beside_it(unarranged, results):
    claims = [
        {"id": "grows", "kind": "trend", "over": "layer", "of": {**W2, **POST}},
        {"id": "last", "kind": "bound", "of": {**W2, **POST, "layer": "last"}},
    ]
    first, *others = chosen(unarranged, results, *claims)
    assert [claims for *_, claims in others] == [[]] * len(others)
    assert first == ("depth_profile", "gradient_norm", {"stack": "decoder", "tensor": "w2"}, ["grows", "last"])


def test_a_claim_over_a_size_has_a_plot_against_it(unarranged, results):
    claim = {"id": "falls", "kind": "power_law", "over": "model.layers", "of": {**W2, "layer": "last"}}
    (section, *_) = with_default_sections(unarranged, results, [], [claim]).sections
    assert (section["kind"], section["x"]) == ("size_plot", "model.layers")
    assert section["where"] == {"stack": "decoder", "tensor": "w2", "layer": "last"}


def test_without_claims_each_place_that_was_probed_has_a_profile(unarranged, results):
    found = chosen(unarranged, results)
    assert {kind for kind, *_ in found} == {"depth_profile"}
    assert len(found) <= MOST_SECTIONS
    assert found[0][2] == {"stack": "encoder", "sublayer": "feed_forward"}


def test_training_on_a_grid_of_rates_has_a_table_of_convergence_then_its_losses(unarranged):
    kinds = [kind for kind, *_ in chosen(unarranged, made_rates())]
    assert kinds == ["convergence_table", "curves"]


def made_rates():
    """Runs at three learning rates; those at two are the lettered ones."""
    results = made()
    number = pl.when(pl.col("axis") == "optimizer.lr").then(pl.col("value")).cast(pl.Float64)
    axes = results.axes.with_columns(number=number)
    extra = axes.filter(axis="optimizer.lr").head(1).with_columns(number=pl.lit(0.01), value=pl.lit("0.01"))
    return replace(results, axes=axes.vstack(extra.select(axes.columns)))


def test_sections_of_the_author_stay_as_they_are(facts, results):
    assert with_default_sections(facts, results, [], []) is facts


def test_a_claim_about_nothing_that_was_measured_takes_no_section_down(unarranged, results):
    claims = [{"id": "none", "kind": "bound", "of": {"quantity": "sharpness"}}, {"id": "cited", "kind": "cited"}]
    assert chosen(unarranged, results, *claims) == chosen(unarranged, results)


def test_the_page_is_the_same_again_from_its_folder_alone(unarranged, tmp_path):
    results = make_results(seeds=(1, 2))
    write_report(tmp_path / "own", unarranged, results, [])
    page = (tmp_path / "own" / "index.html").read_text()
    assert page.count("<figure data-spec") >= 2
    facts, _, _ = read_folder(tmp_path / "own")
    assert len(facts.sections) >= 2
    render_report(tmp_path / "own")
    assert (tmp_path / "own" / "index.html").read_text() == page


def test_probes_that_a_spec_names_come_before_the_losses_which_stay_on_the_page(unarranged, results):
    trained = made_rates()
    runs = results.runs.with_columns(steps=pl.lit(10, results.runs.schema["steps"]))
    both = replace(results, runs=runs, tables={**results.tables, "curves": trained.tables["curves"]})
    silent, asked = (
        [candidate.section["kind"] for candidate in _candidates(both, [], asks_probes=asks)] for asks in (False, True)
    )
    assert silent[:2] == ["curves", "depth_profile"]
    assert asked[:2] == ["depth_profile", "depth_profile"]
    assert "curves" in asked[:MOST_SECTIONS]
    assert sorted(asked) == sorted(silent)
