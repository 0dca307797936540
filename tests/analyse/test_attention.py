"""The largest logit of all heads and the lowest entropy of a layer, by hand; what is not finite is not hidden."""

import math

import pytest

from lnlab.analyse.quantities.attention import largest_attention_logit, lowest_attention_entropy

HEADS = {
    ("a", 1): [[1.0, 3.0], [2.0, 2.5]],
    ("a", 2): [[4.0, 4.0], [0.5, 8.0]],
    ("b", 1): [[1.0, math.nan], [0.1, 0.2]],
}


@pytest.mark.parametrize(
    ("quantity", "of", "expected"),
    [
        (largest_attention_logit, "attention_logit_max", {("a", 1): 3.0, ("a", 2): 8.0}),
        (lowest_attention_entropy, "attention_entropy", {("a", 1): 2.0, ("a", 2): 4.0}),
    ],
)
def test_over_layers_and_heads(setting, experiment, quantity, of, expected):
    def rows(variant, seed):
        for layer, heads in enumerate(HEADS[variant, seed], 1):
            for head, value in enumerate(heads, 1):
                site = {"stack": "decoder", "layer": layer, "sublayer": "self_attention", "tensor": "logits"}
                yield {"quantity": of, **site, "index": head, "value": value}
                yield {"quantity": "hidden_norm", **site, "index": head, "value": -100.0}

    of_two = {variant: setting(d_model=width) for variant, width in (("a", 8), ("b", 16))}
    found = quantity(experiment(of_two, (1, 2), lambda v, s: rows(v, s) if (v, s) in HEADS else ()))
    values = dict(zip(zip(found["variant"], found["seed"], strict=True), found["value"], strict=True))
    assert math.isnan(values.pop(("b", 1)))
    assert values == pytest.approx(expected)
    assert found["layer"].null_count() == found.height
