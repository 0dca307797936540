"""Growth of a stack without norms, from numbers made by hand to obey its law, and whose law it is."""

import math

import pytest

from lnlab.analyse.quantities.variance_growth import init_gains
from lnlab.select.select import select_measured_rows
from lnlab.setting import Setting

LIKENESS = {1: 0.3, 2: 0.8}


def with_init(made, init, norm="none", d_ff=64):
    stacks = {s: {**made[s], "norm": {"kind": norm}} for s in ("encoder", "decoder")}
    return {**made, **stacks, "init": init, "model": {**made["model"], "d_ff": d_ff}}


def sites(stack):
    """A stack whose layers multiply the variance by (1 + likeness)(1 + 4/9)."""
    yield {"stack": stack, "layer": None, "sublayer": "embedding", "tensor": "out", "value": 1.5}
    variance = 1.5
    for layer, likeness in LIKENESS.items():
        at = {"stack": stack, "layer": layer}
        yield {**at, "sublayer": "self_attention", "tensor": "in", "value": variance}
        yield {
            **at,
            "sublayer": "self_attention",
            "tensor": "in",
            "quantity": "rank_one_residual",
            "value": math.sqrt(1 - likeness),
        }
        variance *= (1 + likeness) * (1 + 4 / 9)
        yield {**at, "sublayer": "feed_forward", "tensor": "sum", "value": variance}


@pytest.fixture(scope="module")
def measured(setting, experiment):
    plain = setting("pre")
    xavier = with_init(plain, {"kind": "xavier_normal"})
    variants = {
        "xavier": xavier,
        "uniform": with_init(plain, {"kind": "zero_qk", "of": {"kind": "fairseq"}}),
        "normed": with_init(plain, {"kind": "xavier_normal"}, norm="layer"),
        "gated": with_init(setting("rezero"), {"kind": "xavier_normal"}),
        "reparametrized": {**xavier, "model": {**xavier["model"], "linear": {"kind": "sigma_reparam"}}},
        "fixup": with_init(plain, {"kind": "fixup"}),
    }

    def rows(variant, seed):
        for stack in ("encoder", "decoder"):
            for row in sites(stack):
                yield {"quantity": "activation_variance", **row}

    return experiment(variants, (1, 2), rows)


def test_variances_are_over_that_of_their_own_embedding_and_the_gain_of_values_is_the_inits(measured):
    rows = select_measured_rows(measured, {"quantity": "variance_over_input", "tensor": "sum", "layer": 1, "seed": 1})
    assert rows["value"].to_list() == pytest.approx([1.3 * 13 / 9] * 12)
    inside = select_measured_rows(measured, {"quantity": "variance_over_input"})
    assert inside["layer"].null_count() == 0
    rows = select_measured_rows(measured, {"quantity": "growth_over_prediction", "variant": "xavier", "seed": 1}).sort(
        "layer"
    )
    assert rows["layer"].to_list() == [1, 2]
    assert rows["value"].to_list() == pytest.approx([1.0, 1.0])
    # fairseq halves the variance of v: measured growth over log((1 + likeness/2)(1 + c)).
    rows = select_measured_rows(measured, {"quantity": "growth_over_prediction", "variant": "uniform", "seed": 1}).sort(
        "layer"
    )
    expected = [math.log((1 + p) * 13 / 9) / math.log((1 + p / 2) * 13 / 9) for p in LIKENESS.values()]
    assert rows["value"].to_list() == pytest.approx(expected)


def test_the_law_is_of_encoders_without_norms_and_gates_and_with_known_inits(measured):
    rows = select_measured_rows(measured, {"quantity": "growth_over_prediction"})
    assert set(rows["variant"]) == {"xavier", "uniform"}
    assert set(rows["stack"]) == {"encoder"}


@pytest.mark.parametrize(
    ("init", "expected"),
    [
        ({"kind": "xavier_uniform"}, (1, 8 / 25)),
        ({"kind": "fairseq"}, (0.5, 8 / 25)),
        ({"kind": "kaiming", "matrices": "w1"}, (1, 8 / 5)),
        ({"kind": "zero_qk", "of": {"kind": "kaiming", "matrices": "w1"}}, (1, 8 / 5)),
        ({"kind": "kaiming", "matrices": "all"}, None),
        ({"kind": "uniform", "a": -0.1, "b": 0.1}, None),
    ],
)
def test_gains_for_a_network_four_times_as_wide_inside(setting, init, expected):
    assert init_gains(Setting(with_init(setting(), init, d_ff=128))) == (expected and pytest.approx(expected))
