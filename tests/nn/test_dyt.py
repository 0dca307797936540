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
