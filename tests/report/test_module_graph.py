"""Whole models as boxes: what is drawn is the model that is built, module by module."""

import json
from functools import cache

import pytest
from torch import nn

from lnlab.catalogue import REGISTRIES
from lnlab.errors import LabError
from lnlab.execute.meta import initialized_on_meta
from lnlab.execute.model_graphs import model_graphs
from lnlab.nn.module_graph import module_panels, panels_to_json
from lnlab.report.charts.module_graph import module_graph_chart
from lnlab.report.charts.render import to_svg
from lnlab.report.registries import FRAME_REGISTRIES
from lnlab.report.section import sections

KNOWN = {**REGISTRIES, **FRAME_REGISTRIES}
SHAPE = {"d_model": 16, "heads": 4, "d_ff": 24}


def resolved(placement="post", norm="layer", attention="softmax", layers=3, **model):
    """A setting, resolved as far as a model needs it."""
    words = {"norm": norm, "placement": placement, "attention": attention}
    stack = {"layers": layers, **{kind: KNOWN[kind].resolve(choice) for kind, choice in words.items()}}
    kind = model.setdefault("kind", "encoder_decoder")
    task = {"kind": "random_tokens", "vocabulary": 50, "law": "uniform"}
    if "classifier" in kind:
        task = {"kind": "classification", "corpus": "toy_finance", "vocabulary": 50, "batch_sentences": 4}
    return {
        "task": KNOWN["task"].resolve(task),
        "model": KNOWN["model"].resolve({**SHAPE, **model}),
        "encoder": stack,
        "decoder": {**stack, "cross_attention": kind == "encoder_decoder"},
        "init": KNOWN["init"].resolve("xavier_normal"),
    }


def built(*args, **model):
    return initialized_on_meta(resolved(*args, **model), KNOWN)


@cache
def drawn(placement, norm="layer"):
    """A model of two layers, and its panels. No test changes them."""
    model = built(placement, norm, layers=2)
    return model, module_panels(model)


def labels(panel):
    return [node.label for node in panel.nodes if node.operation != "input"]


def drawn_parameters(panels):
    """The elements in all boxes of the stacks, each as often as its frame says."""
    total = 0
    for panel in panels:
        if panel.frames:
            times = {i: count for first, last, count, _ in panel.frames for i in range(first, last + 1)}
            total += sum(node.parameters * times.get(i, 1) for i, node in enumerate(panel.nodes))
    return total


@pytest.mark.parametrize("placement", sorted(entry.name for entry in KNOWN["placement"]))
@pytest.mark.parametrize("norm", ["layer", *(pytest.param(n, marks=pytest.mark.nightly) for n in ("rms", "none"))])
def test_the_boxes_hold_every_parameter_of_the_model_once(placement, norm):
    model, panels = drawn(placement, norm)
    assert drawn_parameters(panels) == sum(p.numel() for p in model.parameters())


def test_where_the_norm_stands_in_post_and_in_pre():
    post, pre = (module_panels(built(placement))[0] for placement in ("post", "pre"))
    block = ["self-attention", "+", "LayerNorm", "feed-forward", "+", "LayerNorm"]
    assert labels(post) == ["embedding", "+ positions", *block]
    block = ["LayerNorm", "self-attention", "+", "LayerNorm", "feed-forward", "+"]
    assert labels(pre) == ["embedding", "+ positions", *block, "LayerNorm"]
    for panel, of_sum in ((post, {"LayerNorm"}), (pre, {"LayerNorm", "+"})):
        (first, last, count, text) = panel.frames[0]
        assert (last - first + 1, count, text) == (6, 3, "× 3")
        sums = [i for i, node in enumerate(panel.nodes) if node.operation == "sum"]
        readers = {node.label for node in panel.nodes for i in node.inputs if i in sums}
        assert readers == of_sum
        for i in sums:  # a sum reads the stream and a sublayer
            assert len(panel.nodes[i].inputs) == 2


def test_a_stack_whose_layers_differ_has_a_frame_for_each_kind():
    panel = module_panels(built("mix", layers=4))[0]
    assert len(panel.frames) == 2
    assert [text for *_, text in panel.frames] == ["layer 1", "layer 2 to 4"]
    assert sum(count for _, _, count, _ in panel.frames) == 4


def test_attention_is_opened_into_the_steps_of_the_formula():
    panel = next(panel for panel in module_panels(built()) if panel.name == "attention")
    steps = ["q kᵀ", "/ √4", "mask", "softmax", "weights v", "heads joined"]
    assert labels(panel) == ["q", "k", "v", *steps, "o"]
    at = {node.label: node for node in panel.nodes}
    assert [panel.nodes[i].label for i in at["q kᵀ"].inputs] == ["q", "k"]
    assert [panel.nodes[i].label for i in at["weights v"].inputs] == ["softmax", "v"]
    assert [panel.nodes[i].label for i in at["k"].inputs] == ["x or encoder"]


@pytest.mark.parametrize(
    ("attention", "label"),
    [("rotary", "Rotary"), ("qk_norm", "QKNorm"), ({"kind": "rotary", "norm": "qk_width"}, "RMSNorm")],
)
def test_what_an_attention_does_to_queries_and_keys_has_a_box_for_each(attention, label):
    model = built(attention=attention, kind="language_model")
    panels = module_panels(model)
    opened = next(panel for panel in panels if panel.name == "attention")
    assert labels(opened).count(label) == 2
    assert [node.label for node in opened.nodes if node.operation == "input"] == ["x"], "no attention crosses"
    assert labels(panels[0])[-1] == "output, tied"


def test_a_feature_classifier_has_the_frozen_stack_then_new_layers_then_the_head():
    model = built("pre", "none", kind="feature_classifier", feature_layers=2)
    frozen, new = (panel for panel in module_panels(model) if panel.frames)
    assert (frozen.name, new.name) == ("pre-trained, frozen", "new layers")
    assert [text for *_, text in frozen.frames] == ["× 2"]
    assert [text for *_, text in new.frames] == ["× 3"]
    assert labels(frozen)[-1] == "LayerNorm"
    assert new.nodes[0].label == "features"
    assert labels(new)[-2:] == ["pool: mean", "output"]
    assert sum(n.parameters for n in frozen.nodes) > 0, "frozen weights are counted"


def test_a_model_of_other_parts_is_refused_by_name(golden):
    with golden.raises(LabError):
        module_panels(nn.Sequential(nn.Linear(2, 2)))


def chart_of(panels, name="m"):
    return module_graph_chart([{**panel, "name": f"{name} {panel['name']}"} for panel in panels_to_json(panels)])


@pytest.mark.parametrize("placement", ["post", "pre", "deepnorm", "fixup", "sandwich", "layerscale", "ngpt", "b2t"])
def test_no_text_is_wider_than_its_box_in_the_narrowest_panel(placement):
    marks = next(iter(chart_of(drawn(placement)[1])["datasets"].values()))
    narrowest = 138  # points, of two panels beside each other on a phone
    boxes = [mark for mark in marks if mark["mark"] == "box"]
    checked = 0
    for text in marks:
        width = {"text": 6, "detail": 5, "small": 4.6}.get(text["mark"])
        around = [
            box
            for box in boxes
            if box["panel"] == text["panel"] and box["x"] < text["x"] < box["x2"] and box["y"] < text["y"] < box["y2"]
        ]
        if width and around:
            checked += 1
            assert (around[0]["x2"] - around[0]["x"]) / 2 * narrowest > width * len(text["label"]), text
    assert checked > 20


def test_no_two_boxes_of_a_panel_overlap():
    marks = next(iter(chart_of(module_panels(built("pre", attention="rotary")))["datasets"].values()))
    boxes = [mark for mark in marks if mark["mark"] == "box"]
    for i, a in enumerate(boxes):
        for b in boxes[:i]:
            apart = a["x2"] <= b["x"] or b["x2"] <= a["x"] or a["y2"] <= b["y"] or b["y2"] <= a["y"]
            assert apart or a["panel"] != b["panel"]


def test_a_page_draws_the_models_that_its_section_selects_and_others_carry_nothing():
    settings = [(resolved(p), {"method": m}) for p, m in (("post", "Post-LN"), ("pre", "Pre-LN"), ("post", "again"))]
    choice = sections.resolve({"kind": "architecture", "where": {"method": ["Post-LN", "Pre-LN"]}})
    graphs = model_graphs([choice], settings, KNOWN)
    ((_, models),) = graphs.items()
    assert [model["name"] for model in models] == ["Post-LN", "Pre-LN"]
    assert model_graphs([sections.resolve({"kind": "outcomes"})], settings, KNOWN) == {}
    section = sections.builder(choice)(json.loads(json.dumps(graphs)))
    whole, opened = section.charts
    assert [panel["name"] for panel in whole.panels] == [
        f"{m}, {s}" for m in ("Post-LN", "Pre-LN") for s in ("encoder", "decoder")
    ]
    assert [panel["name"] for panel in opened.panels] == ["attention", "feed-forward"], "equal sublayers once"
    assert "Pre-LN: encoder (× 3): embedding, + positions, LayerNorm, self-attention, +" in whole.alt
    assert "q kᵀ, / √4, mask, softmax, weights v" in opened.alt
    assert whole.points.filter(module="encoder.layers.0.self_attention")["times"].to_list() == [3, 3]
    assert all(word in to_svg(whole.spec) for word in ("cross-attention", "LayerNorm", "× 3"))
