"""Pieces that do not go together are refused before any work, with the reason; everything else is let through."""

import pytest

from lnlab.catalogue import REGISTRIES
from lnlab.compile.checks.model_checks import GRAPH_CHECKS
from lnlab.compile.plan import compile_plan
from lnlab.compile.resolve.resolve import resolve_setting
from lnlab.errors import SpecError
from lnlab.registry import Registry
from tests.support.toy_specs import PIECES, toy_spec

BASE = {
    "task": "any",
    "model": {"kind": "encoder_decoder", "layers": 2, "d_model": 24, "heads": 2, "d_ff": 32},
    "placement": "post",
}
LABELS = {"task": "labels", "model": BASE["model"] | {"kind": "classifier"}}
REFUSED = [
    ({"norm": "batch"}, "decoder.norm"),
    ({"norm": "instance"}, "decoder.norm"),
    ({"norm": {"kind": "group", "groups": 1}}, "decoder.norm"),
    ({"encoder": {"norm": {"kind": "group", "groups": 5}}}, "encoder.norm.groups"),
    ({"placement": "pre", "init": "deepnorm"}, "init"),
    ({"init": "dyt"}, "init"),
    (
        {"placement": "rezero", "init": "dt_fixup", "model": BASE["model"] | {"feed_forward": "swiglu"}},
        "model.feed_forward",
    ),
    ({"placement": "rezero", "init": "deepnorm"}, "init"),
    ({"init": {"kind": "zero_qk", "of": "deepnorm"}, "placement": "sandwich"}, "init"),
    ({"init": "fixup"}, "model.tied"),
    ({"init": "own"}, "init"),
    ({"init": "mup"}, "model.tied"),
    ({"init": {"kind": "zero_qk", "of": "fixup"}}, "model.tied"),
    ({"init": "zero_qk", "model": BASE["model"] | {"linear": "sigma_reparam"}}, "model.linear"),
    ({"task": "labels"}, "model"),
    ({"task": "running_text"}, "model"),
    ({"init": "fixup", "model": BASE["model"] | {"tied": "none", "fix_norm": True}}, "model.fix_norm"),
    ({"init": "fixup", "model": BASE["model"] | {"tied": "none", "linear": "sigma_reparam"}}, "model.linear"),
    ({"init": "dt_fixup"}, "init"),
    ({"init": "dt_fixup", "placement": "mix"}, "init"),
    ({"init": "dt_fixup", "encoder": {"norm": "none"}}, "init"),
    ({"init": {"kind": "zero_qk", "of": "dt_fixup"}, "placement": "pre"}, "init"),
    ({"init": "deepnorm", "norm": "none"}, "init"),
    (LABELS | {"norm": "instance"}, "encoder.norm"),
    (LABELS | {"norm": {"kind": "group", "groups": 24}, "placement": "pre"}, "encoder.norm"),
    ({"init": {"kind": "uniform", "a": 1.0, "b": 1.0}}, "init"),
]
GATED = {"placement": "rezero", "init": "fixup", "model": BASE["model"] | {"tied": "none"}}
ACCEPTED = [
    {},
    {"encoder": {"norm": "batch"}, "decoder": {"norm": "layer"}},
    {"encoder": {"norm": "instance"}, "decoder": {"norm": "dyt"}},
    {"encoder": {"norm": {"kind": "group", "groups": 6}}, "decoder": {"norm": "scale"}},
    {"placement": "deepnorm", "init": "deepnorm"},
    {"placement": {"kind": "mix", "share": 0.5}, "init": "deepnorm"},
    {"placement": "post", "init": "deepnorm"},
    {"placement": "pre", "norm": "none", "init": "t_fixup"},
    {"task": "running_text", "model": BASE["model"] | {"kind": "language_model"}},
    {"placement": "post", "norm": "none", "init": "dt_fixup"},
    {"placement": "rezero", "init": "dt_fixup"},
    {"placement": "fixup", "init": {"kind": "dt_fixup", "of": "fairseq", "relational": True}},
    {"placement": "fixup", "init": "fixup", "model": BASE["model"] | {"tied": "none"}},
    {"init": "zero_qk", "attention": "qk_norm"},
    {
        "init": {"kind": "uniform", "a": -1.0, "b": 1.0},
        "model": BASE["model"] | {"linear": "sigma_reparam", "fix_norm": True},
    },
    GATED | {"placement": {"kind": "rezero", "start": 0.1}},
    GATED | {"placement": "layerscale"},
    LABELS | {"norm": {"kind": "group", "groups": 12}},
    LABELS | {"norm": "instance", "placement": "rezero"},
    LABELS | {"norm": "instance", "model": BASE["model"] | {"kind": "classifier", "pool": "first"}},
]


@pytest.fixture(scope="module")
def registries():
    """The real pieces, and tasks that need no data: of two texts, of one text, and of labels."""
    tasks = Registry("task", REGISTRIES["task"].facts)
    tasks.register("any")(lambda draw, roots: None)
    tasks.register("running_text", sources=False)(lambda draw, roots: None)
    tasks.register("labels", says=lambda _: ("sentence",))(lambda draw, roots: None)
    return {**REGISTRIES, "task": tasks}


def flaws(given, registries):
    setting = resolve_setting(BASE | given, registries)
    return [flaw for check in GRAPH_CHECKS for flaw in check(setting, registries)]


@pytest.mark.parametrize(("given", "path"), REFUSED)
def test_a_contradiction_is_refused_with_its_reason(registries, given, path, golden):
    found = [flaw for flaw in flaws(given, registries) if ".".join(map(str, flaw.path)) == path]
    golden([f"{flaw.what}; {flaw.remedy}" for flaw in found])


def test_closed_gates_before_branches_of_zeros_are_refused(registries, golden):
    found = flaws(GATED, registries)
    assert [flaw.path for flaw in found] == [("encoder", "placement"), ("decoder", "placement")]
    golden(found[0].what)


@pytest.mark.parametrize("given", ACCEPTED, ids=str)
def test_what_goes_together_is_let_through(registries, given):
    assert flaws(given, registries) == []


def test_a_spec_is_refused_where_it_says_so(registries, document, golden):
    model = {"d_model": 24, "heads": 2, "d_ff": 32}
    text = toy_spec(PIECES, task="any", model=model, norm="batch", probes=[{"kind": "gradient_norm"}])
    with pytest.raises(SpecError) as caught:
        compile_plan(document(text), registries, ())
    (problem,) = caught.value.issues
    golden(str(problem))
