"""Lemma 2, Theorem 1 and DT-Fixup's factor as divisors, by hand: what the papers' formulas tell apart."""

import math

import pytest

from lnlab.analyse.quantities.theorem_bounds import StackShape, lemma_2_bound, rank_one_bound, theorem_1_bound
from lnlab.select.select import select_measured_rows


@pytest.fixture(scope="module")
def encoders(setting, experiment):
    """Encoders of 2 layers: w2's gradient is 24 and 48, w1's 1, the stream after layer l is 3 l, a branch is 99."""
    variants = {p: {**setting(p, 2, d_model=64), "decoder": {}} for p in ("post", "pre", "rezero")}

    def rows(variant, seed):
        for layer in (1, 2):
            at = {"stack": "encoder", "layer": layer, "sublayer": "feed_forward"}
            yield {**at, "quantity": "gradient_norm", "tensor": "w2", "value": 24.0 * layer * seed}
            yield {**at, "quantity": "gradient_norm", "tensor": "w1", "value": 1.0}
            yield {**at, "quantity": "hidden_norm_sq", "tensor": "sum", "value": 3.0 * layer * seed}
            yield {**at, "quantity": "hidden_norm_sq", "tensor": "branch", "value": 99.0}
            elsewhere = {**at, "sublayer": "self_attention", "tensor": "sum"}
            yield {**elsewhere, "quantity": "hidden_norm_sq", "value": 77.0}

    return experiment(variants, (1, 2), rows)


def values(results, quantity, variant):
    rows = select_measured_rows(results, {"quantity": quantity, "variant": variant, "seed": 2}).sort("layer")
    return dict(rows.select("layer", "value").iter_rows())


@pytest.mark.parametrize(("placement", "form"), [("post", 64 * math.log(64) ** 0.5), ("pre", 64 * math.log(8) ** 0.5)])
def test_the_theorem_divides_the_last_w2_by_d_sqrt_ln_d_and_in_pre_ln_by_sqrt_l_too(encoders, placement, form):
    """With L = 2, ln 64 / 2 = ln 8."""
    assert values(encoders, "gradient_over_theorem", placement) == pytest.approx({2: 96 / form})


@pytest.mark.parametrize(("placement", "form"), [("post", 8.0), ("pre", 32**0.5)])
def test_the_sharper_law_divides_by_sqrt_d_and_in_pre_ln_by_sqrt_d_over_l(encoders, placement, form):
    assert values(encoders, "gradient_over_sharp_law", placement) == pytest.approx({2: 96 / form})


def test_lemma_2_divides_the_stream_after_each_layer_by_the_formulas_of_the_paper(encoders):
    assert values(encoders, "stream_over_lower_bound", "pre") == pytest.approx({1: 6 / 1.5, 2: 12 / 2})
    assert values(encoders, "stream_over_lower_bound", "post") == pytest.approx({1: 4, 2: 8})
    # d = 512, L = 6, worked out from Theorem 1 and Lemma 2 as printed.
    post, pre = StackShape("post", 6, 512), StackShape("pre", 6, 512)
    assert theorem_1_bound(post, 6) == pytest.approx(512 * math.sqrt(6.238324625))
    assert theorem_1_bound(post, 6) / theorem_1_bound(pre, 6) == pytest.approx(6**0.5)
    assert rank_one_bound(post, 6) == pytest.approx(22.627417)
    assert rank_one_bound(post, 6) / rank_one_bound(pre, 6) == pytest.approx(6**0.5)
    assert (lemma_2_bound(post, 6), lemma_2_bound(pre, 6)) == (1.5, 4.0)


QUANTITIES = ("gradient_over_theorem", "gradient_over_sharp_law", "stream_over_lower_bound")


@pytest.mark.parametrize("quantity", QUANTITIES)
def test_other_placements_have_no_row(encoders, quantity):
    assert values(encoders, quantity, "rezero") == {}


def test_a_stack_with_cross_attention_has_no_row(setting, experiment):
    def rows(variant, seed):
        for stack in ("encoder", "decoder"):
            at = {"stack": stack, "layer": 2, "sublayer": "feed_forward", "tensor": "w2"}
            yield {**at, "quantity": "gradient_norm", "value": 1.0}

    found = experiment({"with": setting(), "without": setting(cross=False)}, (1,), rows)
    told = select_measured_rows(found, {"quantity": "gradient_over_theorem"}).select("variant", "stack").rows()
    assert sorted(told) == [("with", "encoder"), ("without", "decoder"), ("without", "encoder")]


def test_a_matrix_over_dt_fixups_factor_is_what_it_was_before(setting, experiment):
    """Norms of 3 beside a longest input of 10 in 4 layers: 3 · 2 · 10 · 2, or 3 · √(4 · 422); q is not scaled."""
    inits = {
        "plain": {"kind": "xavier_normal"},
        "scaled": {"kind": "dt_fixup", "of": {"kind": "fairseq"}, "relational": False},
        "relational": {"kind": "dt_fixup", "of": {"kind": "fairseq"}, "relational": True},
        "inside": {"kind": "zero_qk", "of": {"kind": "dt_fixup", "of": {"kind": "fairseq"}, "relational": False}},
    }
    variants = {name: {**setting("pre", 4, 1), "init": init} for name, init in inits.items()}

    def rows(variant, seed):
        for stack, longest in (("encoder", 10.0), ("decoder", 0.5)):
            yield {"quantity": "input_norm_max", "stack": stack, "sublayer": "embedding", "value": longest}
            for tensor in "qv":
                at = {"stack": stack, "layer": 1, "sublayer": "self_attention", "tensor": tensor}
                yield {**at, "quantity": "parameter_norm", "value": 3.0}

    results = experiment(variants, (1,), rows)
    selection = {"quantity": "norm_over_dt_fixup_factor", "stack": "encoder"}
    measured = select_measured_rows(results, selection)
    assert set(measured["tensor"]) == {"v"}
    expected = {"plain": 3.0, "scaled": 120.0, "relational": 3 * math.sqrt(4 * 422), "inside": 120.0}
    assert dict(measured.select("variant", "value").iter_rows()) == pytest.approx(expected)
    decoder = select_measured_rows(results, {**selection, "stack": "decoder", "variant": "relational"})
    assert decoder["value"].item() == pytest.approx(3 * math.sqrt(4))
