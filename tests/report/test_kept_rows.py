"""What a report holds of its runs: which selections are covered, and when verdicts are equal."""

from dataclasses import replace
from functools import partial

import polars as pl
import pytest

from lnlab.claims.claim import Finding, verdict_of
from lnlab.claims.judging import judge_claim
from lnlab.errors import ReportError
from lnlab.record.held_rows import are_covered, complete_selections, is_drawable, narrows
from lnlab.record.judge_again import equal_verdicts, verdict_follows
from lnlab.report.drawing import Drawing
from lnlab.report.facts import facts_from_json, facts_to_json
from lnlab.report.folder import read_folder
from lnlab.report.kept_rows import claim_selections, has_quantities, quantities_of_section, rows_of_quantities
from lnlab.report.registries import FRAME_REGISTRIES
from lnlab.report.write import write_report
from lnlab.select.quantity import quantities
from lnlab.tables import Results

OF = {"quantity": "gradient_norm", "stack": "decoder", "tensor": ["w1", "w2"]}
CLAIM = {
    "id": "first_layer",
    "kind": "bound",
    "of": {
        "quantity": "gradient_norm",
        "stack": "decoder",
        "tensor": "w2",
        "layer": 1,
        "placement": "pre",
        "decoder.cross_attention": False,
        "model.tied": "target",
    },
    "over": "model.layers",
    "reduce": "max",
    "at_most": 100.0,
}
write_lean = partial(write_report, drawing=Drawing(lean=True))
"""What a report holds does not depend on how it is drawn."""


@pytest.mark.parametrize(
    ("selection", "answer"),
    [
        (OF, True),
        (OF | {"tensor": "w2"}, True),
        (OF | {"layer": "last"}, True),
        (OF | {"tensor": ["w2", "wo"]}, False),
        (OF | {"quantity": "hidden_norm"}, False),
        ({"quantity": "gradient_norm", "stack": "decoder"}, False),
        ({}, False),
    ],
)
def test_a_selection_is_covered_by_one_that_takes_no_less(selection, answer):
    assert narrows(selection, OF) is answer


def test_what_a_claim_requires_is_to_be_covered_too():
    claim = {
        "id": "a",
        "kind": "ratio",
        "of": OF,
        "to": {"stack": "encoder"},
        "requires": [{"kind": "bound", "of": {}}],
    }
    kept = [{"selection": OF}, {"selection": OF | {"stack": "encoder"}}]
    assert are_covered(claim_selections(claim | {"requires": []}), kept)
    assert not are_covered(claim_selections(claim), kept), "all rows that there are"


def test_the_values_of_a_selection_may_be_held_apart():
    post, pre = ({"selection": {**OF, "placement": placement}} for placement in ("post", "pre"))
    both = {**OF, "placement": ["post", "pre"], "layer": [1, 2]}
    assert are_covered([both], [post, pre])
    assert is_drawable({"kind": "size_plot", "quantity": both.pop("quantity"), "where": both}, [post, pre])
    assert not are_covered([{**OF, "placement": ["post", "pre"]}], [post])
    assert not are_covered([{**OF, "placement": ["post", "pre", "plain"]}], [post, pre])
    assert not are_covered([OF], [post, pre]), "there may be other placements"


def test_whether_exponents_are_shown_changes_no_rows():
    plot = {"kind": "size_plot", "quantity": "loss", "where": {"split": "train"}}
    assert is_drawable({**plot, "exponents": True}, [{"section": plot}])
    assert not is_drawable({**plot, "where": {}, "exponents": True}, [{"section": plot}])


def test_a_section_that_thins_its_lines_vouches_for_itself_alone():
    curves = {"kind": "curves", "quantity": "loss", "where": {"split": "train"}, "scale": "log", "lines": None}
    kept = [{"section": curves}]
    assert complete_selections(kept) == []
    assert is_drawable({**curves, "title": "Other", "lines": {"a": 1.0}}, kept)
    assert is_drawable({**curves, "where": {"split": "train", "placement": "pre"}}, kept)
    assert not is_drawable({**curves, "scale": "linear"}, kept)
    assert not is_drawable({**curves, "where": {}}, kept)
    older = {key: value for key, value in curves.items() if key not in ("scale", "lines")}
    assert is_drawable({**curves, "scale": "linear"}, [{"section": older}]), (
        "a parameter that came later had its default"
    )
    profile = {"kind": "depth_profile", "quantity": "loss", "where": {"split": "train"}, "x": "step"}
    assert not is_drawable(profile, kept)
    assert is_drawable(profile, [{"selection": {"quantity": "loss"}}, {"section": {"kind": "evidence"}}])


def test_verdicts_are_equal_but_for_rounding():
    finding = Finding("supported", "ratio", "because", estimate=1.0, low=float("nan"), n=2, seeds={1: 2.0, 2: 3.0})
    one = verdict_of(CLAIM, finding, "")
    assert equal_verdicts(one, replace(one, estimate=1.0 + 1e-15, seeds={1: 2.0, 2: 3.0 + 1e-15}))
    assert not equal_verdicts(one, replace(one, estimate=1.0 + 1e-6))
    assert not equal_verdicts(one, replace(one, seeds={1: 2.0, 2: 3.1}))
    assert not equal_verdicts(one, replace(one, seeds={1: 2.0}))
    assert not equal_verdicts(one, replace(one, verdict="undecided"))
    assert not equal_verdicts(one, replace(one, estimate=None))


def test_the_rows_of_claims_are_kept_though_no_section_draws_them(small, tmp_path):
    facts, results, _ = small
    elsewhere = {"stack": "encoder", "sublayer": "feed_forward", "tensor": "sum"}
    section = {"kind": "depth_profile", "quantity": "hidden_norm_sq", "where": elsewhere, "claims": []}
    facts, verdict = replace(facts, sections=(section,)), judge_claim(CLAIM, results)
    assert verdict.n > 0
    write_lean(tmp_path / "without", facts, results, [verdict])
    write_lean(tmp_path / "with", facts, results, [verdict], claims=[CLAIM])
    assert not verdict_follows(CLAIM, read_folder(tmp_path / "without")[1], verdict)
    again, tables, _ = read_folder(tmp_path / "with")
    assert verdict_follows(CLAIM, tables, verdict)
    assert again.kept == ({"quantity": "gradient_norm"}, {"quantity": "hidden_norm_sq"})


def test_all_rows_of_a_quantity_are_kept_whatever_is_selected_of_it(small, tmp_path):
    facts, results, _ = small
    section = {"kind": "depth_profile", "quantity": "gradient_norm", "where": {"stack": "decoder"}, "claims": []}
    write_lean(tmp_path, replace(facts, sections=(section,)), results, [])
    again, tables, _ = read_folder(tmp_path)
    assert again.kept == ({"quantity": "gradient_norm"},)
    whole = results.tables["sites"].filter(quantity="gradient_norm")
    assert tables.tables["sites"].select("value").equals(whole.select("value"))
    other = {**CLAIM, "of": {"quantity": "gradient_norm", "stack": "encoder", "tensor": "w1", "layer": 1}}
    assert are_covered(claim_selections(other), again.kept)
    assert not are_covered([{"quantity": "hidden_norm"}, {"stack": "decoder"}], again.kept)
    assert not are_covered([{"quantity": ["gradient_norm", "hidden_norm"]}], again.kept)
    assert is_drawable({"kind": "heatmap", "quantity": "gradient_norm", "x": "layer", "y": "model.layers"}, again.kept)
    assert not is_drawable({"kind": "heatmap", "quantity": "hidden_norm", "x": "layer"}, again.kept)


def test_a_derived_quantity_is_there_with_those_that_it_is_made_of(results):
    (name, facts) = next(
        (name, quantities[name].facts)
        for name in sorted(quantities.entries)
        if quantities[name].facts.of == ("gradient_norm", "hidden_norm")
        or (quantities[name].facts.of and set(quantities[name].facts.of) <= {"gradient_norm", "gradient_norm_sq"})
    )
    parts = [{"quantity": part} for part in facts.of]
    assert are_covered([{"quantity": name, "placement": "pre"}], parts)
    assert not are_covered([{"quantity": name}], [{"quantity": "nll"}])
    rows = rows_of_quantities(results, [name])["sites"]
    assert rows.equals(results.tables["sites"].filter(pl.col("quantity").is_in(facts.of)))


def test_a_new_kind_of_section_needs_no_entry_in_a_list(monkeypatch):
    """One file registers it, and its report is drawn again from its folder."""

    def build(results: Results, *, quantity: str, beside: str = "loss", where: dict | None = None):
        """One sentence."""

    registry = FRAME_REGISTRIES["section"]
    monkeypatch.setattr(registry, "_entries", dict(registry.entries))
    registry.register("of_a_test")(build)
    section = {"kind": "of_a_test", "quantity": "mine", "where": {"layer": "last"}}
    assert quantities_of_section(section, {"loss"}) == {"mine", "loss"}
    assert is_drawable(section, [{"quantity": "mine"}, {"quantity": "loss"}])
    assert not is_drawable(section, [{"quantity": "loss"}])


def test_facts_of_a_later_format_are_refused(facts):
    with pytest.raises(ReportError, match="is of format 99, and this lnlab reads"):
        facts_from_json(facts_to_json(facts) | {"format": 99}, "x")


def test_a_section_that_reads_verdicts_alone_is_always_drawable():
    assert is_drawable({"kind": "evidence"}, ())
    assert not is_drawable({"kind": "curves", "quantity": "loss"}, ())


CURVES = {"kind": "curves", "quantity": "nll", "where": {"split": "validation", "placement": "pre"}, "claims": []}
EVALUATIONS = {"train": range(60), "validation": range(0, 60, 20)}


@pytest.fixture
def trained(small):
    """Short validation losses, long training losses and learning rates, and the entropy of the words, of every run."""
    facts, results, _ = small
    columns = results.tables["curves"].columns
    of_run = [
        {**run, "split": split, "quantity": quantity, "value": 5.0 - step / 60}
        for run in results.runs.select("run", "variant", "seed").iter_rows(named=True)
        for split, quantity, steps in (
            ("validation", "nll", EVALUATIONS["validation"]),
            ("train", "learning_rate", EVALUATIONS["train"]),
            ("train", "unigram_entropy", [0]),
            ("train", "epoch", EVALUATIONS["validation"]),
        )
        for step in steps
        for run in [{**run, "step": step}]
    ]
    curves = pl.DataFrame(of_run).select(pl.col(c) for c in columns if c in of_run[0])
    curves = pl.concat([results.tables["curves"].clear(), curves], how="diagonal_relaxed").select(columns)
    return facts, replace(results, tables={**results.tables, "curves": curves})


def test_short_curves_that_a_section_draws_beside_its_own_are_kept_whole(trained, tmp_path):
    facts, results = trained
    write_lean(tmp_path, replace(facts, sections=(CURVES,)), results, [])
    again, tables, _ = read_folder(tmp_path)
    assert again.kept == ({"quantity": "epoch"}, {"quantity": "nll"}, {"quantity": "unigram_entropy"})
    entropies = tables.tables["curves"].filter(quantity="unigram_entropy")
    assert entropies.height == results.runs.height, "a section may select other runs"
    assert is_drawable({**CURVES, "where": {"split": "validation"}}, again.kept)


def test_a_section_that_draws_long_curves_beside_its_own_vouches_for_itself_alone(trained, tmp_path):
    facts, results = trained
    inset = {**CURVES, "inset": True}
    two = (inset, {**inset, "between": [4.0, 5.0]})
    write_lean(tmp_path, replace(facts, sections=two), results, [])
    kept = read_folder(tmp_path)[0].kept
    assert [entry["section"].get("between") for entry in kept if "section" in entry] == [None, [4.0, 5.0]]
    assert all(is_drawable(section, kept) for section in two)
    assert not is_drawable({**inset, "where": {"split": "validation"}}, kept)


def test_a_candidate_keeps_what_decides_whether_its_runs_have_converged():
    unstuck = {"rule": "unstuck", "split": "train"}

    def candidates(*methods):
        each = [{"name": method, "where": {**unstuck, "method": method}, "cells": {}} for method in methods]
        return {"kind": "candidates", "candidates": each}

    kept = [{"section": candidates("A", "B")}, {"selection": {"quantity": "converged", **unstuck, "method": "C"}}]
    assert {"quantity": "converged", **unstuck, "method": "B"} in complete_selections(kept)
    assert is_drawable(candidates("B", "C"), kept), "each in another record"
    assert not is_drawable(candidates("B", "D"), kept)
    narrower = candidates("A")
    narrower["candidates"][0]["where"]["norm"] = "layer"
    assert is_drawable(narrower, kept)
    narrower["candidates"][0]["where"]["rule"] = "stable"
    assert not is_drawable(narrower, kept), "another rule reads other losses"


def test_a_section_of_two_selections_is_there_where_it_was_written_down_as_a_whole(small):
    _, results, _ = small
    of = {"quantity": "gradient_norm", "stack": "decoder"}
    scatter = {"kind": "scatter", "of": of, "to": {"quantity": "hidden_norm"}, "over": "model.layers", "laws": [1.0]}
    held = [{"selection": {"quantity": "loss"}}, {"section": scatter}]
    assert is_drawable(scatter, held, results=results)
    assert is_drawable({**scatter, "laws": [2.0]}, held, results=results), "a law is drawn, not read"
    assert not is_drawable({**scatter, "of": {**of, "stack": "encoder"}}, held, results=results)
    assert not is_drawable(scatter, held[:1], results=results)


@pytest.mark.parametrize(
    ("asked", "kept", "answer"),
    [
        ("final_nll", ["learned_fraction"], True),
        ("learned_fraction", ["final_nll"], False),  # it is made of the entropy of the words as well
        ("learned_fraction", ["final_nll", "unigram_entropy"], True),
        ("bleu", ["learned_fraction"], False),
    ],
)
def test_with_a_derived_quantity_go_all_rows_of_what_it_is_made_of(asked, kept, answer):
    assert has_quantities([asked], kept) is answer
