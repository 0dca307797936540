"""Formulas of sublayers: each is what its placement computes."""

import re

import pytest
import torch
from torch import nn

from lnlab.catalogue import REGISTRIES
from lnlab.errors import ReportError
from lnlab.nn.placements import LayerSpec, placements
from lnlab.report.section import sections
from lnlab.report.words.placement_formulas import printed_formula, stated_formulas, without_norms
from lnlab.tables import Results, frame

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
    formulas = stated_formulas(placements[name].summary)
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


@pytest.mark.parametrize("name", sorted(placements.entries))
def test_without_norms_the_sublayer_and_its_factors_stay(name):
    for formula in stated_formulas(placements[name].summary):
        without = without_norms(formula)
        assert "norm" not in without
        assert "outer" not in without
        words = {*re.findall(r"[a-z_]+", formula)} - {"norm", "outer"}
        assert {*re.findall(r"[a-z_]+", without)} == words


def test_a_formula_is_printed_as_in_papers_and_one_that_cannot_be_read_is_named():
    assert printed_formula("norm(omega * x + alpha f(x))") == "norm(ω x + α f(x))"
    assert without_norms("x + outer(f(norm(x)))") == "x + f(x)"
    with pytest.raises(ReportError, match="formula"):
        without_norms("f(x")


def results(*settings):
    runs = [
        {"run": f"r{i}", "trajectory": f"t{i}", "steps": 0, "variant": f"v{i}", "seed": 1, "setting": setting}
        for i, setting in enumerate(settings)
    ]
    axes = [
        {"run": f"r{i}", "axis": "method", "value": f'"m{i}"', "number": None, "label": f"m{i}"}
        for i in range(len(settings))
    ]
    return Results(frame("runs", runs), frame("axes", axes))


def setting(encoder, decoder=None, norm="layer", init="xavier_normal"):
    stacks = {"encoder": encoder} | ({"decoder": decoder} if decoder else {})
    parts = ", ".join(
        f'"{stack}": {{"placement": {{"kind": "{kind}"}}, "norm": {{"kind": "{norm}"}}}}'
        for stack, kind in stacks.items()
    )
    return f'{{{parts}, "init": {{"kind": "{init}"}}}}'


def section(built, **parameters):
    formulas = {entry.name: entry.summary for entry in placements}
    return sections.builder(sections.resolve({"kind": "architecture", **parameters}))(built, formulas, {})


def test_a_row_for_every_variant_that_differs_in_its_sublayers(golden):
    built = section(
        results(
            setting("post", "post"),
            setting("post", "pre"),
            setting("pre", "pre", norm="none", init="t_fixup"),
            setting("post", "post"),
        )
    )
    (table,) = built.tables
    assert table.rows.rows() == [
        ("m0", "x = norm(x + f(x))", "layer", "xavier_normal"),
        ("m1, encoder", "x = norm(x + f(x))", "layer", "xavier_normal"),
        ("m1, decoder", "x = x + f(norm(x))", "layer", "xavier_normal"),
        ("m2", "x = x + f(x)", "none", "t_fixup"),
    ]
    golden(built.finding)


def test_a_placement_without_a_formula_is_named_with_a_remedy(golden):
    built = sections.builder(sections.resolve({"kind": "architecture"}))
    with golden.raises(ReportError):
        built(results(setting("post")), {"post": "The usual one."}, {})
