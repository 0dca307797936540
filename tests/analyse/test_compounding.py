"""The gradient of a layer from its parts, on numbers made by hand."""

import pytest

from lnlab.select.select import select_measured_rows

SUBLAYERS = {
    "encoder": ("self_attention", "feed_forward"),
    "decoder": ("self_attention", "cross_attention", "feed_forward"),
}
GRADIENTS = {  # of the stream, from the output down: (after the norm, at the sum) of each sublayer, last one first
    "encoder": [(8.0, 6.0), (7.0, 5.0), (6.0, 4.5), (5.5, 4.0), 5.0],
    "decoder": [(9.0, 6.0), (7.0, 5.0), (6.5, 4.5), (5.0, 4.0), (4.5, 3.0), (4.0, 3.5), 3.0],
}
SIGMA = 1.25


def rows_of(stack):
    *passed, embedding = GRADIENTS[stack]
    sites = [(layer, sublayer) for layer in (2, 1) for sublayer in reversed(SUBLAYERS[stack])]
    for (layer, sublayer), (out, total) in zip(sites, passed, strict=True):
        at = {"stack": stack, "layer": layer, "sublayer": sublayer}
        yield {**at, "quantity": "stream_gradient", "tensor": "out", "value": out}
        yield {**at, "quantity": "stream_gradient", "tensor": "sum", "value": total}
        yield {**at, "quantity": "stream_gradient", "tensor": "branch", "value": 99.0}
        yield {**at, "quantity": "norm_inverse_sigma", "tensor": "scale", "value": 1 / SIGMA}
    at = {"stack": stack, "layer": None, "quantity": "stream_gradient", "tensor": "out"}
    yield {**at, "sublayer": "embedding", "value": embedding}
    yield {**at, "sublayer": "final_norm", "value": 77.0}


@pytest.fixture(scope="module")
def measured(setting, experiment):
    variants = {"post": setting("post"), "pre": setting("pre")}
    return experiment(variants, (1, 2), lambda _variant, _seed: (r for stack in SUBLAYERS for r in rows_of(stack)))


def values(results, quantity, **where):
    rows = select_measured_rows(results, {"quantity": quantity, "seed": 1, **where}).sort("stack", "layer")
    return {(stack, layer): value for stack, layer, value in rows.select("stack", "layer", "value").iter_rows()}


def test_what_is_measured_over_the_product_of_inverse_sigmas_and_gains(measured):
    """The gain of a branch is the gradient that it is given back over that at the sum; the product telescopes."""
    found = values(measured, "layer_gradient_over_prediction")
    for (stack, layer), value in found.items():
        per = len(SUBLAYERS[stack])
        parts = GRADIENTS[stack][:-1][(2 - layer) * per : (3 - layer) * per]
        below = [*[out for out, _ in GRADIENTS[stack][:-1]], GRADIENTS[stack][-1]][(2 - layer) * per + 1 :]
        predicted = 1.0
        for (_, total), given in zip(parts, below, strict=False):
            predicted *= given / total / SIGMA
        ratio = below[per - 1] / parts[0][0]
        assert value == pytest.approx(ratio / predicted), (stack, layer)
    assert len(found) == 4


def test_only_post_ln_has_a_prediction_and_it_is_a_layers(measured):
    rows = select_measured_rows(measured, {"quantity": "layer_gradient_over_prediction"})
    assert set(rows["variant"]) == {"post"}
    assert rows["sublayer"].null_count() == rows["tensor"].null_count() == len(rows) == 2 * 2 * 2
