"""A page whose author wrote no sections: those of the claims come first, then training, then what was probed."""

import itertools
from collections import Counter
from dataclasses import replace

import polars as pl
import pytest

import lnlab
from lnlab.report.compose import build_parts
from lnlab.report.default_sections import MOST_SECTIONS, _candidates, with_default_sections
from lnlab.report.folder import read_folder
from lnlab.report.words.selection_words import selection_sentence
from lnlab.report.write import render_report, write_report
from tests.report.conftest import make_results
from tests.report.training.conftest import make_trained

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
    assert kinds == ["table", "curves"]


def made_rates():
    return make_trained(rates=(1e-3, 3e-3, 1e-2))


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


def tabulated(axes, *, steps):
    """Runs of a table from elsewhere: two values of each axis, three seeds, a loss twice and one number at the end."""
    places = [dict(zip(axes, values, strict=True)) for values in itertools.product((1, 2), repeat=len(axes))]
    rows = [
        {
            **place,
            "seed": s,
            "step": t,
            "loss": s + t + i / 7,
            "val_loss": s * t + i / 3,
            "f1": i + s / 9 if t == 3 else None,
        }
        for i, place in enumerate(places)
        for s in (1, 2, 3)
        for t in ((1, 2, 3) if steps else (3,))
    ]
    table = pl.DataFrame(rows, infer_schema_length=None)
    return lnlab.from_frame(table if steps else table.drop("step"), axes=axes, step="step" if steps else None).results


@pytest.mark.parametrize("axes", [["opt"], ["opt", "lr"], ["opt", "lr", "wd"]], ids=len)
@pytest.mark.parametrize("steps", [True, False])
def test_every_number_of_a_table_without_sections_is_on_its_page(unarranged, axes, steps):
    results = tabulated(axes, steps=steps)
    facts = with_default_sections(unarranged, results, [], [])
    parts = build_parts(facts, results)
    assert not [part.error for part in parts if part.error]
    shown = Counter((s["quantity"], (s.get("where") or {}).get("split"), s["kind"]) for s in facts.sections)
    tables = 2 ** max(0, len(axes) - 2)  # one for each value of an axis that is no row and no column
    losses = {
        ("loss", split, "curves" if steps else "table"): 1 if steps else tables for split in ("train", "validation")
    }
    assert shown == {**losses, ("f1", None, "table"): tables}


@pytest.mark.parametrize("steps", [True, False])
def test_no_number_of_a_table_is_one_too_many(unarranged, steps):
    count = MOST_SECTIONS + 3
    rows = [
        {"opt": opt, "seed": s, **({"step": t} if steps else {}), **{f"q{i}": s / (i + t) for i in range(count)}}
        for opt in "ab"
        for s in (1, 2)
        for t in ((1, 2) if steps else (1,))
    ]
    results = lnlab.from_frame(pl.DataFrame(rows), axes=["opt"], step="step" if steps else None).results
    assert len(chosen(unarranged, results)) == count


@pytest.mark.parametrize(
    ("where", "says"),
    [
        ({"stack": "decoder", "tensor": "w2", "layer": "last"}, "Shown: decoder, w2, last layer."),
        (
            {"sublayer": ["feed_forward", "self_attention"], "layer": [1, 4]},
            "feed-forward network and self-attention, layers 1 and 4",
        ),
        ({"step": "last", "seed": [1, 2, 3]}, "Shown: the last step of each run, seeds 1–3."),
        ({"step": 400, "grid": "warm_up"}, "Shown: after 400 training steps, grid warm up."),
        ({"model.layers": 6, "decoder.cross_attention": False}, "Shown: 6 layers, without cross-attention."),
        ({"lr": {"at_least": 0.1}}, "Shown: learning rate at least 0.1."),
        ({"task.corpus": {"kind": "lines_of", "files": ["de.txt", "en.txt"]}}, "Shown: lines_of."),
        ({"split": "validation", "placement": ["pre", "post"], "sublayer": None}, ""),
        ({"train.evaluate": {"every": 50}}, ""),
    ],
)
def test_conditions_in_words(where, says):
    """What the caption says anyway is not said again, nor which lines a drawing has."""
    sentence = selection_sentence(where, "Loss of the validation split")
    assert says in sentence
    assert bool(sentence) == bool(says)


def test_a_step_that_names_of_lines_tell_is_not_said():
    where = {"step": "last", "tensor": "w2"}
    assert selection_sentence(where, "", ["Pre-LN, at initialization", "Post-LN, after 9 steps"]) == "Shown: w2."
    assert selection_sentence(where, "", ["Pre-LN"]) == "Shown: the last step of each run, w2."
