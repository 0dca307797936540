"""Every init's constants, as ratios to Xavier's of the same seed, or as variances of its law."""

import math

import pytest
import torch

from lnlab.nn.fixup import qkv_gain, w1_gain
from lnlab.nn.inits import inits
from lnlab.nn.sites import Site, parameter_uses, weights
from lnlab.nn.t_fixup import t_fixup_gain, table_gain

LNLABS = [
    entry
    for entry in inits
    if not (entry.facts.own or entry.facts.continues)
    and all(parameter.default is not parameter.empty for parameter in entry.keywords.values())
]
FAIRSEQ = math.sqrt(0.5)


def ratios(setting, build, init, against: str, **given) -> dict[Site, float]:
    """The norm of every matrix and table over that of another init."""
    chosen = setting("post", **given)
    pairs = zip(weights(build(chosen, init=init)), weights(build(chosen, init=against)), strict=True)
    return {site: (p.norm() / q.norm()).item() for (site, p), (_, q) in pairs}


def second_moments(setting, build, init) -> dict[str, list[torch.Tensor]]:
    """Mean squares and maxima of each kind of matrix, 64 x 64 or 64 x 256."""
    found = {}
    for site, p in weights(build(setting("post", layers=1, width=64, d_ff=256, rows=400), init=init)):
        kept = p[1:] if site.tensor == "table" else p
        found.setdefault(site.tensor, []).append((kept.square().mean().item(), kept.abs().max().item()))
    return found


@pytest.mark.parametrize("layers", [6, 20, 200])
def test_t_fixups_factors_are_the_published_ones(layers):
    published = {6: (0.428, 0.369), 20: (0.317, 0.273), 200: (0.178, 0.154)}[layers]
    assert (t_fixup_gain("encoder", layers), t_fixup_gain("decoder", layers)) == pytest.approx(published, abs=5e-4)
    assert table_gain(layers) == t_fixup_gain("decoder", layers)


def test_t_fixups_067_solves_the_equation_it_comes_from():
    """s⁴ + 2/3 s² = 1/2, in units of N^(-1/4): s = 0.6696; and 3 s⁴ = 1/3 for the decoder."""
    s = math.sqrt((-2 / 3 + math.sqrt(4 / 9 + 2)) / 2)
    assert s == pytest.approx(0.6696, abs=5e-5)
    assert t_fixup_gain("encoder", 1) == pytest.approx(s, abs=5e-4)
    assert 3 * t_fixup_gain("decoder", 7) ** 4 == pytest.approx(1 / 21)


def test_t_fixup_scales_v_o_w1_w2_and_the_embeddings_and_may_be_normal_with_plain_xavier_queries(setting, build):
    depth = {"encoder": {"layers": 2}, "decoder": {"layers": 5}, "norm": "none"}
    found = ratios(setting, build, "t_fixup", "xavier_uniform", **depth)
    for site, ratio in found.items():
        decoder = (9 * 5) ** -0.25
        branch = 0.67 * 2**-0.25 if site.stack == "encoder" else decoder
        table = (9 * 2) ** -0.25 if site.stack == "encoder" else decoder
        expected = table if site.tensor == "table" else FAIRSEQ if site.tensor in "qk" else branch
        assert ratio == pytest.approx(expected, rel=1e-5), site
    found = ratios(setting, build, {"kind": "t_fixup", "shape": "normal", "qk_gain": 1.0}, "xavier_normal")
    assert {ratio for site, ratio in found.items() if site.tensor in "qk"} == {1.0}


@pytest.mark.parametrize(("tied", "expected"), [("all", [18] * 3), ("target", [18, 45, 45]), ("none", [18, 45, 1])])
def test_t_fixup_scales_a_shared_table_once_and_an_untied_output_never(setting, build, tied, expected):
    depth = {"encoder": {"layers": 2}, "decoder": {"layers": 5}, "tied": tied}
    found = ratios(setting, build, "t_fixup", "xavier_uniform", **depth)
    tables = [ratio for site, ratio in found.items() if site.tensor == "table"]
    assert tables == pytest.approx([n**-0.25 for n in expected], rel=1e-5)


def test_fixup_of_six_and_six_layers_is_the_published_one_and_makes_every_layer_the_identity(setting, build, batch):
    """30 branches: w1 x 0.1826, q k v x 0.567 of fairseq's, and o, w2 and the output 0."""
    assert (w1_gain(30), qkv_gain(30)) == pytest.approx((0.1826, 0.567), abs=5e-4)
    found = ratios(setting, build, "fixup", "fairseq", layers=6, tied="none", norm="none")
    gains = dict.fromkeys("qkv", 0.567) | {"w1": 0.1826, "o": 0.0, "w2": 0.0}
    for site, ratio in found.items():
        expected = float(site.stack is not None) if site.tensor == "table" else gains[site.tensor]
        assert ratio == pytest.approx(expected, abs=5e-4), site
    model = build(setting("pre", layers=4, tied="none", norm="none"), init="fixup")
    x = model.encoder.embedding(batch.source)
    assert torch.equal(model.encoder(batch.source, (batch.source != 0)[:, None, None]), x)
    assert not model(batch).any()
    scalars = {s: p.item() for s, p in parameter_uses(build(setting("fixup", layers=1))) if p.dim() == 0}
    assert {(s.sublayer, s.tensor): value for s, value in scalars.items() if s.stack == "decoder"} == {
        (sublayer, tensor): value
        for sublayer in ("self_attention", "cross_attention", "feed_forward")
        for tensor, value in (("scale", 1.0), ("shift", 0.0))
    }


@pytest.mark.parametrize("placement", ["fixup", "rezero"])
def test_fixup_needs_no_norm_none_where_the_placement_makes_no_norm(setting, build, batch, placement):
    model = build(setting(placement, layers=4, tied="none"), init="fixup")
    x = model.encoder.embedding(batch.source)
    assert torch.equal(model.encoder(batch.source, (batch.source != 0)[:, None, None]), x)


@pytest.mark.parametrize("of", ["xavier_normal", "fairseq"])
def test_b2t_divides_every_matrix_of_a_layer_by_the_root_of_its_stacks_depth(setting, build, of):
    depth = {"encoder": {"layers": 2}, "decoder": {"layers": 5}}
    found = ratios(setting, build, {"kind": "b2t", "of": of}, of, **depth)
    for site, ratio in found.items():
        expected = 1.0 if site.tensor == "table" else {"encoder": 2, "decoder": 5}[site.stack] ** -0.5
        assert ratio == pytest.approx(expected, rel=1e-5), site


@pytest.mark.parametrize("of", ["xavier_normal", "fairseq"])
def test_scaled_branches_end_in_matrices_divided_by_the_root_of_their_number(setting, build, of):
    depth = {"encoder": {"layers": 2}, "decoder": {"layers": 5}}
    found = ratios(setting, build, {"kind": "branch_scaled", "of": of}, of, **depth)
    branches = {"encoder": 2 * 2, "decoder": 5 * 3}
    for site, ratio in found.items():
        expected = branches[site.stack] ** -0.5 if site.tensor in ("o", "w2") else 1.0
        assert ratio == pytest.approx(expected, rel=1e-5), site


@pytest.mark.parametrize("tied", ["target", "all"])
def test_fixup_refuses_an_output_that_is_an_embedding(setting, build, tied, golden):
    with golden.raises(ValueError):
        build(setting(tied=tied), init="fixup")


@pytest.mark.parametrize("shape", ["normal", "uniform"])
@pytest.mark.parametrize(
    ("matrices", "he"), [("w1", ["w1"]), ("feed_forward", ["w1", "w2"]), ("all", ["q", "o", "w1", "w2"])]
)
def test_kaiming_is_two_over_fan_in_where_asked_and_xavier_elsewhere(setting, build, shape, matrices, he):
    fans = {"q": (64, 64), "o": (64, 64), "w1": (64, 256), "w2": (256, 64)}
    found = second_moments(setting, build, {"kind": "kaiming", "shape": shape, "matrices": matrices})
    for tensor, (fan_in, fan_out) in fans.items():
        variance = 2 / fan_in if tensor in he else 2 / (fan_in + fan_out)
        for square, largest in found[tensor]:
            assert square == pytest.approx(variance, rel=0.1), tensor
            uniform = tensor not in he or shape == "uniform"
            assert (largest <= math.sqrt(3 * variance)) is uniform, tensor


@pytest.mark.parametrize(("a", "b"), [(-0.1, 0.1), (-100.0, 100.0), (0.5, 1.0)])
@pytest.mark.parametrize("tables", [False, True])
def test_uniform_fills_every_matrix_whatever_its_shape(setting, build, a, b, tables):
    model = build(setting(width=64, rows=400), init={"kind": "uniform", "a": a, "b": b, "tables": tables})
    for site, p in weights(model):
        if site.tensor == "table":
            assert not p[0].any()
            assert tables or p[1:].square().mean().item() == pytest.approx(1 / 64, rel=0.1)
        if site.tensor != "table" or tables:
            kept = p[1:] if site.tensor == "table" else p
            width = b - a
            assert a <= kept.min() < a + width / 20
            assert b - width / 20 < kept.max() <= b


def test_zero_qk_is_the_other_init_with_queries_and_keys_of_zero(setting, build):
    plain = ratios(setting, build, "zero_qk", "xavier_normal")
    fairseq = ratios(setting, build, {"kind": "zero_qk", "of": "fairseq"}, "fairseq")
    for found in (plain, fairseq):
        assert {ratio for site, ratio in found.items() if site.tensor in "qk"} == {0.0}
        assert {ratio for site, ratio in found.items() if site.tensor not in "qk"} == {1.0}


@pytest.mark.parametrize("entry", LNLABS, ids=lambda entry: entry.name)
def test_tags_say_which_tensors_are_zero(setting, build, entry):
    model = build(setting("post", tied="none"), init=entry.name)
    zero = {"output" if s.sublayer == "output" else s.tensor for s, p in weights(model) if not p.any()}
    assert zero == set(entry.facts.zeros)


DRAWN = dict.fromkeys(("torch_transformer", "pytorch_tutorial"), ("b1", "b2"))


@pytest.mark.parametrize("entry", LNLABS, ids=lambda entry: entry.name)
def test_vectors_are_constants_under_every_init(setting, build, init, entry):
    model = build(setting("sandwich", tied="none", attention="qk_layer_norm"), init=entry.name)
    for p in model.parameters():
        torch.nn.init.normal_(p)
    init(model, entry.name)
    for site, p in parameter_uses(model):
        if p.dim() == 1 and site.tensor not in DRAWN.get(entry.name, ()):
            assert p.unique().tolist() == [float(site.tensor.startswith("scale"))], site
