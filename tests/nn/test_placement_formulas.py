"""The formulas in the documentation of placements: each is what its module computes."""

import re

import pytest
import torch
from torch import nn

from lnlab.catalogue import REGISTRIES
from lnlab.nn.placements import LayerSpec, placements

WIDTH = 6
assert REGISTRIES  # every placement is imported


def layer_of(name, layer):
    """A layer of one sublayer, everything in it drawn anew, so that no factor is 1 and no shift 0."""
    torch.manual_seed(layer)
    at = LayerSpec("encoder", layer, 4, None, 1, WIDTH, lambda: nn.LayerNorm(WIDTH))
    module = placements.builder(placements.resolve({"kind": name}))(at).double()
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(torch.randn(parameter.shape) + 2)
    return module


def value_of(formula, module, x, f):
    """What a formula computes, with the norms and parameters of a module."""
    norms = iter([norm for name in ("norms", "outer") for norm in getattr(module, name, [])])
    parameters = dict(module.named_parameters())
    words = set(re.findall(r"[a-z_]+", formula)) - {"f", "x", "x_in", "norm", "outer"}
    values = {word: next((p for path, p in parameters.items() if word in path.split(".")), None) for word in words}
    values = {word: getattr(module, word) if value is None else value for word, value in values.items()}
    # Python calls the inner norm first, and two words beside each other are a product.
    calls = dict.fromkeys(("norm", "outer"), lambda u: next(norms)(u))
    return eval(
        re.sub(r"(?<=[\w)]) (?=[a-z(])", " * ", formula.replace(" * ", "*")),
        {**values, **calls, "f": f, "x": x, "x_in": x},
    )


@pytest.mark.parametrize("name", sorted(placements.entries))
def test_the_formula_of_a_placement_computes_what_its_module_computes(name):
    spans = re.findall(r"``([^`]+)``", placements[name].summary)
    formulas = [span.removeprefix("x = ").strip() for span in spans if "f(" in span]
    assert formulas
    weight = torch.randn(WIDTH, WIDTH, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    x = torch.randn(2, 3, WIDTH, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    for layer, formula in zip((1, 4), formulas, strict=False):
        module = layer_of(name, layer)
        if hasattr(module, "alpha") and not isinstance(module.alpha, torch.Tensor):
            assert module.alpha > 1  # DeepNorm's constant
        expected = module(x, lambda u: torch.tanh(u @ weight))
        stated = value_of(formula, module, x, lambda u: torch.tanh(u @ weight))
        assert torch.allclose(stated, expected, rtol=1e-12)
