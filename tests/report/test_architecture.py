"""Drawings of sublayers: each formula is what its placement computes, and each arrow is in the formula."""

import ast
from pathlib import Path

import polars as pl
import pytest
import torch
from torch import nn

from lnlab.catalogue import REGISTRIES
from lnlab.errors import ReportError
from lnlab.nn.placements import LayerSpec, placements
from lnlab.report.charts.architecture import ArchitecturePanel, architecture_chart
from lnlab.report.charts.render import to_svg
from lnlab.report.data.dataflow import dataflow, main_path, printed_formula, stated_formulas, without_norms
from lnlab.report.section import sections
from lnlab.tables import Results, frame

WIDTH = 6
GUIDE_FIGURE = Path(__file__).parents[2] / "docs" / "placements.svg"
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


def value_of(flow, module, x, f):
    """What a graph computes, with the norms and parameters of a module."""
    inner, outer = (list(getattr(module, name, [])) for name in ("norms", "outer"))
    norms = iter([*inner, *outer])
    parameters = dict(module.named_parameters())

    def parameter(label):
        name = {"α": "alpha", "ω": "omega"}.get(label.split()[1], label.split()[1])
        match = [p for path, p in parameters.items() if name in path.split(".")]
        return match[0] if match else getattr(module, name)

    values = []
    for node in flow:
        inputs = [values[i] for i in node.inputs]
        values.append(
            {
                "input": lambda: x,
                "sublayer": lambda i=inputs: f(i[0]),
                "norm": lambda i=inputs: next(norms)(i[0]),
                "sum": lambda i=inputs: sum(i),
                "factor": lambda i=inputs, n=node: parameter(n.label) * i[0],
                "shift": lambda i=inputs, n=node: i[0] + parameter(n.label),
            }[node.operation]()
        )
    return values[-1]


@pytest.mark.parametrize("name", sorted(placements.entries))
def test_the_graph_of_a_placement_computes_what_its_module_computes(name):
    formulas = stated_formulas(placements[name].summary)
    assert formulas
    weight = torch.randn(WIDTH, WIDTH, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    x = torch.randn(2, 3, WIDTH, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    for layer, formula in zip((1, 4), formulas, strict=False):
        module = layer_of(name, layer)
        if hasattr(module, "alpha") and not isinstance(module.alpha, torch.Tensor):
            assert module.alpha > 1  # DeepNorm's constant
        expected = module(x, lambda u: torch.tanh(u @ weight))
        drawn = value_of(dataflow(formula), module, x, lambda u: torch.tanh(u @ weight))
        assert torch.allclose(drawn, expected, rtol=1e-12)


@pytest.mark.parametrize("name", sorted(placements.entries))
def test_a_graph_has_one_operation_for_each_of_the_formula(name):
    for formula in stated_formulas(placements[name].summary):
        flow = dataflow(formula)
        path = main_path(flow)
        assert [flow[i].operation for i in path].count("sublayer") == 1
        assert path[-1] == len(flow) - 1
        assert not flow[path[0]].inputs
        without = dataflow(without_norms(formula))
        assert [node for node in without if node.operation == "norm"] == []
        assert len(flow) - len(without) == formula.count("norm(") + formula.count("outer(")


@pytest.mark.parametrize("formula", ["x - f(x)", "f(x) * x", "f(x", "x + f(x, x)", "shift + scale + f(x)", "1 + f(x)"])
def test_what_cannot_be_drawn_is_named(formula):
    with pytest.raises(ReportError, match="formula"):
        dataflow(formula)


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


def test_a_panel_for_every_variant_that_differs_in_its_sublayers():
    built = section(
        results(
            setting("post", "post"),
            setting("post", "pre"),
            setting("pre", "pre", norm="none", init="t_fixup"),
            setting("post", "post"),
        )
    )
    (chart,) = built.charts
    assert chart.points.rows() == [
        ("m0", "x = norm(x + f(x))", "layer", "xavier_normal"),
        ("m1, encoder", "x = norm(x + f(x))", "layer", "xavier_normal"),
        ("m1, decoder", "x = x + f(norm(x))", "layer", "xavier_normal"),
        ("m2", "x = x + f(x)", "none", "t_fixup"),
    ]
    assert built.finding.startswith("3 ways to pass a sublayer")
    assert isinstance(chart.points, pl.DataFrame)


def test_a_placement_without_a_formula_is_named_with_a_remedy():
    built = sections.builder(sections.resolve({"kind": "architecture"}))
    with pytest.raises(ReportError, match=r"'post' states no formula .*; write one"):
        built(results(setting("post")), {"post": "The usual one."}, {})


def test_every_arrow_of_the_drawing_ends_where_the_formula_reads():
    flow = dataflow("norm(omega * x + f(x))")
    svg = to_svg(architecture_chart([ArchitecturePanel("Admin", "x = norm(ω x + f(x))", flow)]))
    text = svg if isinstance(svg, str) else svg.decode()
    assert all(word in text for word in ("sublayer", "norm", "× ω", "Admin"))
    tree = ast.parse("norm(omega * x + f(x))")
    names = sum(isinstance(node, ast.Name) and node.id == "x" for node in ast.walk(tree))
    arrows = [i for node in flow for i in node.inputs]
    assert arrows.count(0) == names


def guide_figure():
    """Every placement of lnlab, in the order of their names, on white."""
    panels = [
        ArchitecturePanel(
            f"{name} ({number})" if number > 1 else name, f"x = {printed_formula(formula)}", dataflow(formula)
        )
        for name in sorted(placements.entries)
        if placements[name].origin.name == "lnlab"
        for number, formula in enumerate(stated_formulas(placements[name].summary), 1)
    ]
    chart = architecture_chart(panels)
    return to_svg({**chart, "config": {**chart["config"], "background": "#ffffff"}})


def test_the_guide_draws_every_placement_as_it_is():
    """Written anew by ``python tests/report/test_architecture.py``."""
    assert GUIDE_FIGURE.read_text(encoding="utf-8") == guide_figure()


@pytest.mark.parametrize("word", ["× scale", "+ shift", "× α"])
def test_a_word_is_no_wider_than_its_box_in_the_narrowest_panel(word):
    kind, name = ("factor" if word[0] == "×" else "shift"), word.split()[1].replace("α", "alpha")
    formula = f"x + {name} * f(x)" if kind == "factor" else f"x + f(x + {name})"
    drawn = architecture_chart([ArchitecturePanel("p", "", dataflow(formula))])
    marks = next(iter(drawn["datasets"].values()))
    (text,) = [mark for mark in marks if mark["mark"] == "text" and mark["label"] == word]
    (box,) = [
        mark
        for mark in marks
        if mark["mark"] == "box" and mark["x"] < text["x"] < mark["x2"] and mark["y"] < text["y"] < mark["y2"]
    ]
    narrowest = 0.75 * drawn["spec"]["width"]  # as the script of a page has it
    assert (box["x2"] - box["x"]) / 2 * narrowest > 6 * len(word)


if __name__ == "__main__":
    GUIDE_FIGURE.write_text(guide_figure(), encoding="utf-8")
