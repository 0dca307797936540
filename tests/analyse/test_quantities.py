"""Derived quantities, by hand, and their place in a selection."""

import math
from dataclasses import replace

import pytest

from lnlab.select.quantity import STATE, quantities, quantity_product, stored_rows
from lnlab.select.select import select_measured_rows


@pytest.fixture(scope="module")
def measured(setting, experiment):
    """A Pre-LN decoder whose stream after layer l has mean square l², and w2's gradient 12/l; one w1, one branch."""

    def rows(variant, seed):
        for layer in (1, 2, 3):
            at = {"stack": "decoder", "layer": layer, "sublayer": "feed_forward"}
            yield {**at, "quantity": "gradient_norm", "tensor": "w2", "value": 12.0 * seed / layer}
            yield {**at, "quantity": "hidden_norm_sq", "tensor": "sum", "value": float(layer**2)}
            yield {**at, "quantity": "hidden_norm_sq", "tensor": "branch", "value": 99.0}
        yield {
            "quantity": "gradient_norm",
            "stack": "decoder",
            "layer": 1,
            "sublayer": "self_attention",
            "tensor": "q",
            "value": 1.0,
        }
        yield {"quantity": "gradient_norm", "sublayer": "output", "tensor": "table", "value": 7.0}

    return experiment({"pre": setting("pre", 3, 3)}, (1, 2), rows)


def test_the_gradient_times_the_stream_and_growth_from_layer_to_layer_are_selected_with_stored_ones(measured):
    rows = select_measured_rows(
        measured, {"quantity": "scaled_gradient_norm", "stack": "decoder", "tensor": "w2", "layer": "last"}
    )
    assert rows.sort("seed")["value"].to_list() == [12.0, 24.0]
    assert len(select_measured_rows(measured, {"quantity": "scaled_gradient_norm"})) == 6
    rows = select_measured_rows(measured, {"quantity": "gradient_growth", "seed": 2}).sort("layer")
    assert rows["layer"].to_list() == [2, 3]
    assert rows["value"].to_list() == pytest.approx([1 / 2, 2 / 3])
    rows = select_measured_rows(measured, {"quantity": ["gradient_norm", "gradient_growth"], "layer": 3})
    assert set(rows["quantity"]) == {"gradient_norm", "gradient_growth"}
    assert set(STATE) <= set(rows.columns)
    table = stored_rows(measured, "gradient_norm").filter(tensor="table")
    squared = quantity_product(table, table, "square")
    assert squared["value"].to_list() == [49.0, 49.0]
    assert math.isclose(quantity_product(table, table, "one", power=-1)["value"][0], 1.0)


def test_every_quantity_gives_nothing_where_nothing_was_measured(setting, experiment):
    empty = experiment({"a": setting()}, (1,), lambda v, s: [])
    for entry in quantities:
        assert entry.build(empty).is_empty()


def test_a_quantity_is_made_of_what_it_says_it_is_made_of(measured):
    """A report keeps those rows alone."""
    for entry in quantities:
        sites = measured.tables["sites"]
        parts = sites["quantity"].unique().to_list() if entry.facts.of is None else entry.facts.of
        kept = {**measured.tables, "sites": sites.filter(sites["quantity"].is_in(parts))}
        assert entry.build(replace(measured, tables=kept)).equals(entry.build(measured)), entry.name


def test_the_distance_from_isometry_has_no_sign(setting, experiment):
    def rows(variant, seed):
        value = {1: math.exp(2), 2: math.exp(-2), 3: 1.0}[seed]
        yield {"quantity": "jacobian_mean_square", "stack": "encoder", "value": value}

    results = experiment({"pre": setting("pre", 3, 3)}, (1, 2, 3), rows)
    found = select_measured_rows(results, {"quantity": "isometry_gap"}).sort("seed")
    assert found["value"].to_list() == pytest.approx([2.0, 2.0, 0.0])
    assert found["stack"].to_list() == ["encoder"] * 3
