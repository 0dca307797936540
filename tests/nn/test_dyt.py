"""DyT against its formula, and as the norm whose Jacobian does not shrink."""

import pytest
import torch

from lnlab.catalogue import REGISTRIES
from lnlab.compile.checks.contradictions import contradictions
from lnlab.compile.resolve.resolve import resolve_setting
from lnlab.nn.dyt import DynamicTanh


def test_it_is_its_formula_coordinate_by_coordinate_and_begins_with_the_authors_alpha():
    norm = DynamicTanh(3, alpha=0.8).double()
    with torch.no_grad():
        norm.weight.copy_(torch.tensor([1.0, 2.0, 3.0]))
        norm.bias.copy_(torch.tensor([0.0, -1.0, 0.5]))
    x = torch.tensor([0.3, -2.0, 40.0], dtype=torch.float64)
    expected = [torch.tanh(0.8 * v) * s + b for v, s, b in zip(x, norm.weight, norm.bias, strict=True)]
    torch.testing.assert_close(norm(x), torch.stack(expected))
    norm = DynamicTanh(4)
    assert (norm.alpha.item(), norm.weight.tolist(), norm.bias.tolist()) == (0.5, [1.0] * 4, [0.0] * 4)


@pytest.mark.parametrize(("kind", "slope"), [("dyt", 0.0), ("layer", -1.0), ("rms", -1.0), ("scale", -1.0)])
def test_gradients_shrink_with_the_input_unless_nothing_is_divided_by_its_size(setting, build, kind, slope):
    """Over inputs 10 times as large a norm's gradient is 10 times smaller: not DyT's while |alpha x| stays small."""
    norm = build(setting("pre", norm={"kind": kind})).encoder.final_norm.double()
    x = torch.randn(200, 16, dtype=torch.float64, generator=torch.Generator().manual_seed(0)) * 0.02
    g = torch.randn(200, 16, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    if kind in ("layer", "rms"):
        norm.eps = 0.0
    sizes = []
    for factor in (1.0, 10.0):
        given = (x * factor).requires_grad_()
        sizes.append(torch.autograd.grad((norm(given) * g).sum(), given)[0].norm())
    assert torch.log10(sizes[1] / sizes[0]).item() == pytest.approx(slope, abs=0.05)


def test_alphas_of_language_models_are_those_of_their_places(setting, build):
    model = build(
        setting("pre", kind="language_model", norm={"kind": "dyt", "shift": False}),
        init={"kind": "dyt", "attention": 0.8, "feed_forward": 0.25, "final": 0.125},
    )
    found = {name: p.item() for name, p in model.named_parameters() if name.endswith("alpha")}
    layers = {f"decoder.layers.{n}.placement.norms.{i}.alpha": (0.8, 0.25)[i] for n in range(2) for i in range(2)}
    assert found == pytest.approx(layers | {"decoder.final_norm.alpha": 0.125})
    assert not any("placement" in name and name.endswith("bias") for name, _ in model.named_parameters())


def test_without_the_norm_there_is_nothing_to_set():
    setting = resolve_setting(
        {
            "task": {"kind": "random_tokens", "vocabulary": 20, "sentences": 2, "length": 4},
            "model": {"kind": "encoder", "layers": 1, "d_model": 8, "heads": 2, "d_ff": 8},
            "placement": "pre",
            "init": "dyt",
        },
        REGISTRIES,
    )
    assert [(flaw.code, flaw.path) for flaw in contradictions(setting, REGISTRIES)] == [("conflict", ("init",))]
