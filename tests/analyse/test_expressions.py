"""A quantity that is an expression, against numpy on rows that were paired by hand."""

import math
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from lnlab.errors import LabError
from lnlab.report.registries import FRAME_REGISTRIES
from lnlab.select.aligned import aligned, alone_in_words
from lnlab.select.quantity import quantity_facts
from lnlab.select.select import Selected, quantity_rows, select_measured_rows
from lnlab.select.selection import parse_selection
from lnlab.specfile.expressions import parse_name
from lnlab.tables import table_schema

quantities = FRAME_REGISTRIES["quantity"]
SEEDS, LAYERS = (1, 2), (1, 2, 3)


def gradient(seed, layer, tensor="w2"):
    return 1.5 * seed + layer + (0.25 if tensor == "w1" else 0)


def stream(seed, layer):
    return 10.0**layer / seed


@pytest.fixture(scope="module")
def measured(setting, experiment):
    """Two gradients a layer, one stream a layer (none in layer 3), its input, and a number of the whole model."""

    def rows(variant, seed):
        for layer in LAYERS:
            at = {"stack": "encoder", "layer": layer, "sublayer": "feed_forward"}
            for tensor in ("w1", "w2"):
                yield {**at, "quantity": "gradient_norm", "tensor": tensor, "value": gradient(seed, layer, tensor)}
            if layer < 3:
                yield {**at, "quantity": "hidden_norm", "tensor": "sum", "value": stream(seed, layer)}
                yield {**at, "quantity": "hidden_norm", "tensor": "in", "value": 2.0}
            yield {**at, "quantity": "signed", "tensor": "w2", "value": (-1.0, 0.0, math.nan)[layer - 1]}
        yield {"quantity": "whole", "value": 3.0 + seed}

    return experiment({"post": setting("post", 3, 3)}, SEEDS, rows)


def rows_of(results, text):
    return quantity_rows(results, parse_selection({"quantity": parse_name(text).name}))


def by_place(rows):
    return {(r["seed"], r["layer"], r["tensor"]): r["value"] for r in rows.iter_rows(named=True)}


def test_values_meet_at_the_same_place_and_a_pinned_column_is_no_place(measured):
    rows = by_place(rows_of(measured, "gradient_norm * sqrt(hidden_norm[tensor: sum]) / 2"))
    expected = {
        (seed, layer, tensor): gradient(seed, layer, tensor) * np.sqrt(stream(seed, layer)) / 2
        for seed in SEEDS
        for layer in (1, 2)
        for tensor in ("w1", "w2")
    }
    assert rows == expected


def test_a_number_of_a_run_goes_with_each_layer_and_the_first_and_last_are_those_of_the_stack(measured):
    rows = by_place(rows_of(measured, "gradient_norm[tensor: w2] - whole"))
    assert rows == {(s, layer, None): gradient(s, layer) - (3.0 + s) for s in SEEDS for layer in LAYERS}
    rows = rows_of(measured, "gradient_norm[layer: last] / gradient_norm[layer: first]")
    assert by_place(rows) == {(s, None, t): gradient(s, 3, t) / gradient(s, 1, t) for s in SEEDS for t in ("w1", "w2")}
    found = aligned(measured, parse_name("gradient_norm * hidden_norm"))  # of weights and of activations
    assert found.rows.is_empty()
    assert [rows["partners"].sum() for _, rows in found.partners] == [0, 0]


def test_what_has_no_partner_is_left_out_and_counted(measured):
    found = aligned(measured, parse_name("gradient_norm[tensor: w2] * hidden_norm[tensor: sum] + whole"))
    counts = {str(operand): (rows.height, rows["partners"].sum()) for operand, rows in found.partners}
    assert counts == {"gradient_norm[tensor: w2]": (6, 4), "hidden_norm[tensor: sum]": (4, 4), "whole": (2, 2)}
    name = found.rows["quantity"][0]
    for conditions, words in (
        ({}, "2 of 6 rows of gradient_norm[tensor: w2]"),
        ({"seed": 1}, "1 of 3 rows of gradient_norm[tensor: w2]"),
        ({"layer": [2, "last"]}, "2 of 4 rows of gradient_norm[tensor: w2]"),
        ({"layer": [1, 2]}, ""),
    ):
        selection = {"quantity": name, **conditions}
        told = alone_in_words(measured, selection, select_measured_rows(measured, selection))
        assert told.partition(": ")[2] == words
    assert set(found.keys) == {"step", "stack", "layer", "sublayer"}
    assert found.rows.height == 4


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        ("log(signed)", [math.nan, -math.inf, math.nan]),
        ("1 / signed", [-1.0, math.inf, math.nan]),
        ("signed / signed", [1.0, math.nan, math.nan]),
        ("signed ** 0.5", [math.nan, 0.0, math.nan]),
        ("exp(signed * 1000)", [0.0, 1.0, math.nan]),
        ("max(signed, -0.5)", [-0.5, 0.0, math.nan]),
        ("min(-0.5, signed)", [-1.0, -0.5, math.nan]),
        ("abs(signed) + 2 ** signed", [1.5, 1.0, math.nan]),
        ("9 ** 9 ** 9 ** signed[layer: 2] + 0 * signed", [9.0**9, 9.0**9, math.nan]),
    ],
)
def test_arithmetic_is_that_of_float64_and_nan_stays_nan(measured, formula, expected):
    rows = rows_of(measured, formula).filter(seed=1).sort("layer")
    assert rows["value"].to_list() == pytest.approx(expected, nan_ok=True)
    assert rows["value"].null_count() == 0


def test_of_an_unmeasured_number_nothing_follows_and_two_at_one_place_are_refused(measured, golden):
    unmeasured = pl.when(pl.col("quantity") == "whole").then(None).otherwise("value").alias("value")
    results = replace(measured, tables={"sites": measured.tables["sites"].with_columns(unmeasured)})
    assert rows_of(results, "min(whole, signed)")["value"].null_count() == 6
    sites = measured.tables["sites"]
    twice = pl.concat([sites, sites.filter(quantity="whole", seed=2)])
    with golden.raises(LabError):
        rows_of(replace(measured, tables={"sites": twice}), "signed * whole")


def test_a_final_number_goes_with_every_step_and_curves_meet_step_by_step(training, trained, setting):
    variants = {"post": setting()}
    runs = {("post", 1): trained({0: 6.0, 50: 4.0, 100: 3.0}), ("post", 2): trained({0: 6.0, 50: 5.0, 100: 2.0})}
    results = training(variants, runs)
    course = rows_of(results, "nll - final_nll").sort("seed", "step")
    assert course["value"].to_list() == [3.0, 1.0, 0.0, 4.0, 3.0, 0.0]
    assert course["split"].unique().to_list() == ["validation"]
    assert rows_of(results, "nll[step: last] / nll[step: 0]").sort("seed")["value"].to_list() == [0.5, 2 / 6]
    assert rows_of(results, "nll[step: last] / nll[step: 0]")["step"].to_list() == [100, 100]
    steps = rows_of(results, "epoch[split: train] * nll").sort("seed", "step")
    assert steps["value"].to_list() == [0.0, 5 * 4.0, 10 * 3.0, 0.0, 5 * 5.0, 10 * 2.0]
    assert rows_of(results, "epoch * nll").is_empty()  # one is of the training split, one of the validation split


def test_it_is_selected_like_any_quantity_and_one_that_is_not_there_is_named(measured, golden):
    name = parse_name("weighted = gradient_norm * whole [nats]").name
    selected = Selected(measured, {"quantity": name, "tensor": "w2", "layer": "last", "seed": 2})
    assert selected.rows["value"].to_list() == [gradient(2, 3) * 5.0]
    assert selected.rows["quantity"].to_list() == [name]
    empty = Selected(measured, {"quantity": name, "layer": 9})
    assert empty.rows.is_empty()
    assert empty.why_empty.where == "layer"
    name = parse_name("gradient_norm * update_norm").name
    golden(str(Selected(measured, {"quantity": name}).why_empty))
    rows = rows_of(measured, "gradient_norm * whole")
    kinds = {column: kind for column, kind in table_schema("sites").items() if column != "measurement"}
    assert {column: rows.schema[column] for column in kinds} == kinds


def test_it_inherits_what_its_quantities_say_of_themselves(training, trained, setting):
    facts = quantity_facts("best_lr / optimal_lr")
    assert (facts.over, facts.across, facts.trained, facts.whole_run) == ("optimizer.lr", True, True, True)
    assert facts.of == ("nll",)
    assert quantity_facts("gradient_norm * learned_fraction").reference == "best"
    assert quantity_facts("gradient_norm * learned_fraction").of == ("gradient_norm", "nll", "unigram_entropy")
    assert not quantity_facts("gradient_norm * final_nll").whole_run
    assert "gradient_norm * final_nll" not in list(quantities.entries)  # registered nowhere
    assert quantity_facts("no_such_quantity") is None


def test_a_reference_is_that_of_the_selection(training, trained, setting):
    variants = {"pre": setting("pre"), "post": setting("post")}
    runs = {("pre", 1): trained({0: 6.0, 100: 2.0}), ("post", 1): trained({0: 6.0, 100: 4.0})}
    results = training(variants, runs, axes=[("placement", lambda s: s["encoder"]["placement"]["kind"])])
    conditions = {"quantity": "2 * learned_fraction", "reference": {"encoder.placement": "pre"}}
    rows = select_measured_rows(results, conditions)
    assert dict(zip(rows["variant"], rows["value"], strict=True)) == {"pre": 2.0, "post": 1.0}
