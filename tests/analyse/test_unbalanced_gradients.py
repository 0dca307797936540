"""Gradients of q, k and v against one another, by hand, and their exponent in the difference of tokens."""

import math

import numpy as np
import pytest

from lnlab.analyse.quantities.unbalanced_gradients import (
    q_to_v_gradient,
    qk_collapse_exponent,
    qk_to_v_gradient,
    token_difference,
)
from lnlab.select.select import select_measured_rows

DIFFERENCE = {1: 0.5, 2: 0.1, 3: 0.02, 4: 0.003, 5: 0.0007}


def attention(layer, q, k, v, sublayer="self_attention", stack="decoder"):
    for tensor, norm in zip("qkv", (q, k, v), strict=True):
        yield {
            "quantity": "gradient_norm_unbiased_sq",
            "stack": stack,
            "layer": layer,
            "sublayer": sublayer,
            "tensor": tensor,
            "value": math.copysign(norm**2, norm),
        }


def rows(variant, seed):
    """Five layers where q's gradient is the 1.1th power of the difference times that of v, which is 2."""
    for layer, difference in DIFFERENCE.items():
        q = 2 * difference**1.1 if variant == "law" else [3.0, -0.5, 1.0, 4.0, 2.0][layer - 1]
        yield from attention(layer, q, 0.1 * layer, 2.0)
        yield from attention(layer, 1.0, 1.0, 4.0, "cross_attention")
        at = {"quantity": "token_cosine", "stack": "decoder", "layer": layer}
        yield {**at, "sublayer": "self_attention", "tensor": "in", "value": 1 - difference}
        yield {**at, "sublayer": "self_attention", "tensor": "out", "value": 0.99}
        yield {**at, "sublayer": "feed_forward", "tensor": "in", "value": 0.99}
    yield {"quantity": "gradient_norm_unbiased_sq", "sublayer": "output", "tensor": "table", "value": 9.0}


@pytest.fixture(scope="module")
def measured(setting, experiment):
    return experiment({"law": setting(decoder=5), "noise": setting(decoder=5)}, (1, 2), rows)


def of(frame, **conditions):
    return frame.filter(seed=1, **conditions).sort("layer")["value"].to_list()


def test_queries_over_values_layer_by_layer_and_a_square_below_zero_leaves_no_ratio(measured):
    frame = q_to_v_gradient(measured)
    assert of(frame, variant="law", sublayer="self_attention") == pytest.approx([d**1.1 for d in DIFFERENCE.values()])
    assert of(frame, variant="law", sublayer="cross_attention") == pytest.approx([0.25] * 5)
    found = of(q_to_v_gradient(measured), variant="noise", sublayer="self_attention")
    assert found == [1.5, None, 0.5, 2.0, 1.0]


def test_the_medians_of_queries_keys_and_values_and_tokens_differ_as_self_attention_is_given_them(measured):
    """An estimate below zero is the smallest of all."""
    frame = qk_to_v_gradient(measured)
    of_noise = frame.filter(variant="noise", seed=1, sublayer="self_attention").row(0, named=True)
    norms = [3.0, -0.5, 1.0, 4.0, 2.0, 0.1, 0.2, 0.3, 0.4, 0.5]
    assert of_noise["value"] == pytest.approx(np.median(norms) / 2)
    assert (of_noise["layer"], of_noise["tensor"], of_noise["stack"]) == (None, None, "decoder")
    frame = token_difference(measured)
    assert of(frame, variant="law") == pytest.approx(list(DIFFERENCE.values()))
    assert set(frame["sublayer"]) == {"self_attention"}


def test_the_exponent_is_that_of_the_law_and_none_where_a_layer_has_no_ratio(measured):
    frame = qk_collapse_exponent(measured)
    assert of(frame, variant="law") == pytest.approx([1.1])
    assert of(frame, variant="noise") == [None]
    assert set(frame["sublayer"]) == {"self_attention"}


def test_three_layers_are_too_few_for_an_exponent_and_they_are_selected_like_any_other(setting, experiment, measured):
    some = experiment(
        {"law": setting(decoder=5)}, (1,), lambda v, s: (r for r in rows(v, s) if (r.get("layer") or 0) < 4)
    )
    assert of(qk_collapse_exponent(some)) == [None]
    found = select_measured_rows(measured, {"quantity": "qk_collapse_exponent", "stack": "decoder", "variant": "law"})
    assert found["value"].to_list() == pytest.approx([1.1, 1.1])
