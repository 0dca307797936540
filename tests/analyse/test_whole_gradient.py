"""The norm of all gradients together, against math.hypot."""

import math

import pytest

from lnlab.analyse.quantities.total_gradient import total_gradient_norm


@pytest.mark.parametrize("size", [1.0, 1e-200, 1e200])
def test_it_is_the_norm_of_the_norms_of_a_state(setting, experiment, size):
    norms = {("a", 1): [3.0, 4.0, 12.0], ("a", 2): [1.0], ("b", 1): [0.0, 0.0], ("b", 2): [1.0, math.nan]}

    def rows(variant, seed):
        for layer, value in enumerate(norms[variant, seed], 1):
            yield {
                "quantity": "gradient_norm",
                "stack": "encoder",
                "layer": layer,
                "tensor": "q",
                "value": value * size,
            }
        yield {"quantity": "gradient_rms", "stack": "encoder", "layer": 1, "tensor": "q", "value": 100.0}

    found = total_gradient_norm(experiment({v: setting(d_model=d) for v, d in (("a", 8), ("b", 16))}, (1, 2), rows))
    values = dict(zip(zip(found["variant"], found["seed"], strict=True), found["value"], strict=True))
    assert math.isnan(values.pop(("b", 2)))
    assert values == pytest.approx({key: math.hypot(*norms[key]) * size for key in values}, rel=1e-12)
    assert set(values) == {("a", 1), ("a", 2), ("b", 1)}
    assert found["layer"].null_count() == found.height
