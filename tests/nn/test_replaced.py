"""An init with parts of another: every matrix against those of the two inits alone, and against laws by hand."""

import math

import pytest
import torch

from lnlab.errors import LabError
from lnlab.nn.inits import inits
from lnlab.nn.sites import parameter_uses, weights
from lnlab.registry import Flawed

SHAPE = {"encoder": {"layers": 2}, "decoder": {"layers": 5}, "norm": "none", "width": 64, "d_ff": 256, "rows": 400}
LAYERS = ["v", "o", "w1", "w2"]


def of_t_fixup(tensors, **more):
    return {"kind": "replaced", "of": "t_fixup", "tensors": tensors, **more}


def by_hand(site, *, layers: bool, table: bool) -> float:
    """The standard deviation that a matrix of T-Fixup has, width 64, d_ff 256, 2 and 5 layers, with parts left out."""
    n = 5 if site.stack == "decoder" else 2
    if site.tensor == "table":
        return 1 / 8 * ((9 * n) ** -0.25 if table else 1)
    xavier = math.sqrt(2 / (64 + (256 if site.tensor in ("w1", "w2") else 64)))
    if site.tensor in ("q", "k"):
        return xavier * math.sqrt(0.5)
    factor = (9 * 5) ** -0.25 if site.stack == "decoder" else 0.67 * 2**-0.25
    return xavier * (factor if layers else 1)


@pytest.mark.parametrize(
    ("tensors", "layers", "table"),
    [(LAYERS, False, True), (["table"], True, False), ([*LAYERS, "table"], False, False)],
)
def test_every_matrix_of_t_fixup_without_a_part_has_the_spread_computed_by_hand(setting, build, tensors, layers, table):
    for site, p in weights(build(setting("pre", **SHAPE), init=of_t_fixup(tensors))):
        if site.sublayer != "output":  # tied: the embedding's
            kept = p[1:] if site.tensor == "table" else p
            assert kept.std().item() == pytest.approx(by_hand(site, layers=layers, table=table), rel=0.05), site


@pytest.mark.parametrize("stack", [None, "encoder", "decoder"])
@pytest.mark.parametrize("tensors", [["v", "w2"], ["q"]])
def test_named_tensors_are_the_one_inits_and_the_others_the_other_inits(setting, build, stack, tensors):
    chosen = setting("pre", **SHAPE)
    both = build(chosen, init=of_t_fixup(tensors, stack=stack))
    one, other = (build(chosen, init=init) for init in ("xavier_uniform", "t_fixup"))
    replaced = 0
    for (site, p), (_, a), (_, b) in zip(*(parameter_uses(m) for m in (both, one, other)), strict=True):
        here = site.tensor in tensors and stack in (None, site.stack)
        replaced += here
        assert torch.equal(p, a if here else b), site
    in_layer = {"encoder": len(tensors), "decoder": len(tensors) + 1}  # cross-attention has a q and a v of its own
    layers = {"encoder": 2, "decoder": 5}
    assert replaced == sum(layers[name] * in_layer[name] for name in layers if stack in (None, name))


@pytest.mark.parametrize(("tied", "gains"), [("all", [1, 1, 1]), ("target", [1, 45, 45]), ("none", [1, 45, 1])])
def test_a_table_of_two_uses_is_replaced_as_its_first(setting, build, tied, gains):
    """In the encoder alone; where one table serves all that is every table."""
    chosen = setting("pre", **(SHAPE | {"tied": tied}))
    init = of_t_fixup(["table"], stack="encoder")
    pairs = zip(weights(build(chosen, init=init)), weights(build(chosen)), strict=True)
    ratios = [(p.norm() / q.norm()).item() for (site, p), (_, q) in pairs if site.tensor == "table"]
    assert ratios == pytest.approx([gain**-0.25 for gain in gains], rel=1e-5)


def test_a_spectral_norm_follows_the_replaced_matrix(setting, build):
    model = build(setting("pre", linear="sigma_reparam", **SHAPE), init=of_t_fixup(["w1"]))
    w1 = model.encoder.layers[0].feed_forward.w1
    assert w1.gain.item() == pytest.approx(torch.linalg.matrix_norm(w1.weight, 2).item(), rel=1e-5)


def test_a_model_without_such_tensors_is_refused(setting, build):
    with pytest.raises(LabError, match="no w1 in the encoder"):
        build(setting("pre", kind="language_model"), init=of_t_fixup(["w1"], stack="encoder"))


@pytest.mark.parametrize("tensors", [[], ["w4"]])
def test_a_tensor_that_does_not_exist_is_refused_by_the_spec(tensors):
    with pytest.raises(Flawed, match="tensors"):
        inits.resolve(of_t_fixup(tensors))
