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
    ({"norm": "batch"}, "decoder.norm", "'batch' has statistics of a batch, so positions of the decoder would see"),
    ({"norm": "instance"}, "decoder.norm", "statistics of a sequence"),
    ({"norm": {"kind": "group", "groups": 1}}, "decoder.norm", "statistics of a sequence"),
    ({"encoder": {"norm": {"kind": "group", "groups": 5}}}, "encoder.norm.groups", "5 groups do not divide d_model 24"),
    (
        {"placement": "pre", "init": "deepnorm"},
        "init",
        "made for a norm of the stream, and placement 'pre' norms the branch",
    ),
    ({"init": "dyt"}, "init", "'dyt' sets parameters of the norm 'dyt', and no stack has it"),
    (
        {"placement": "rezero", "init": "dt_fixup", "model": BASE["model"] | {"feed_forward": "swiglu"}},
        "model.feed_forward",
        "'dt_fixup' is a law for feed-forward networks of two matrices",
    ),
    ({"placement": "rezero", "init": "deepnorm"}, "init", "placement 'rezero' norms nothing"),
    ({"init": {"kind": "zero_qk", "of": "deepnorm"}, "placement": "sandwich"}, "init", "placement 'sandwich'"),
    ({"init": "fixup"}, "model.tied", "'fixup' sets the output to zero, and 'tied: target' makes its table"),
    ({"init": "own"}, "init", "'encoder_decoder' does not initialize the weights that 'own' keeps"),
    (
        {"init": "mup"},
        "model.tied",
        "'mup' sets the output smaller than an embedding, and 'tied: target' makes its table",
    ),
    ({"init": {"kind": "zero_qk", "of": "fixup"}}, "model.tied", "'fixup' sets the output to zero"),
    (
        {"init": "zero_qk", "model": BASE["model"] | {"linear": "sigma_reparam"}},
        "model.linear",
        "divides by the size of k, q, which init 'zero_qk' sets to zero",
    ),
    (
        {"task": "labels"},
        "model",
        "'encoder_decoder' gives a token at every position of the decoder, and the task 'labels' asks for a",
    ),
    (
        {"task": "running_text"},
        "model",
        "the task 'running_text' has no sources, and the encoder of 'encoder_decoder' would read nothing",
    ),
    (
        {"init": "fixup", "model": BASE["model"] | {"tied": "none", "fix_norm": True}},
        "model.fix_norm",
        "'fix_norm' divides by the size of output, which init 'fixup' sets to zero",
    ),
    (
        {"init": "fixup", "model": BASE["model"] | {"tied": "none", "linear": "sigma_reparam"}},
        "model.linear",
        "divides by the size of o, w2, which init 'fixup' sets to zero",
    ),
    ({"init": "dt_fixup"}, "init", "made for a model without norms, and placement 'post' norms the stream"),
    ({"init": "dt_fixup", "placement": "mix"}, "init", "placement 'mix' norms both stream and branch"),
    ({"init": "dt_fixup", "encoder": {"norm": "none"}}, "init", "placement 'post' norms the stream"),
    ({"init": {"kind": "zero_qk", "of": "dt_fixup"}, "placement": "pre"}, "init", "placement 'pre' norms the branch"),
    ({"init": "deepnorm", "norm": "none"}, "init", "made for a norm of the stream, and placement 'post' norms nothing"),
    (LABELS | {"norm": "instance"}, "encoder.norm", "'instance' centres each coordinate over a sentence, so its mean"),
    (LABELS | {"norm": {"kind": "group", "groups": 24}, "placement": "pre"}, "encoder.norm", "'group' centres each"),
    ({"init": {"kind": "uniform", "a": 1.0, "b": 1.0}}, "init", "would draw between a = 1.0 and b = 1.0"),
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


@pytest.mark.parametrize(("given", "path", "what"), REFUSED)
def test_a_contradiction_is_refused_with_its_reason(registries, given, path, what):
    found = [flaw for flaw in flaws(given, registries) if ".".join(map(str, flaw.path)) == path]
    assert len(found) == 1
    assert what in found[0].what
    assert found[0].remedy


def test_closed_gates_before_branches_of_zeros_are_refused(registries):
    found = flaws(GATED, registries)
    assert [flaw.path for flaw in found] == [("encoder", "placement"), ("decoder", "placement")]
    assert "no layer would ever get a gradient" in found[0].what


@pytest.mark.parametrize("given", ACCEPTED, ids=str)
def test_what_goes_together_is_let_through(registries, given):
    assert flaws(given, registries) == []


def test_every_check_refuses_something(registries):
    given = [given for given, _, _ in REFUSED] + [GATED]
    settings = [resolve_setting(BASE | each, registries) for each in given]
    for check in GRAPH_CHECKS:
        assert any(check(setting, registries) for setting in settings), check.__name__


def test_the_remedy_names_the_norms_of_a_token(registries):
    (found,) = flaws({"norm": "batch"}, registries)
    assert found.remedy == "in a causal stack, choose from dyt, layer, none, rms, scale, unit"


def test_a_spec_is_refused_where_it_says_so(registries, document):
    model = {"d_model": 24, "heads": 2, "d_ff": 32}
    text = toy_spec(PIECES, task="any", model=model, norm="batch", probes=[{"kind": "gradient_norm"}])
    with pytest.raises(SpecError) as caught:
        compile_plan(document(text), registries, ())
    (problem,) = caught.value.issues
    assert str(problem).startswith("spec.yaml:6:7: norm: 'batch' has statistics of a batch")
