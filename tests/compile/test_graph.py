"""Pieces that do not go together are refused before any work, with the reason; everything else is let through."""

import pytest

from lnlab.catalogue import REGISTRIES
from lnlab.compile.checks.contradictions import contradictions
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
CLASSIFIER = {"model": BASE["model"] | {"kind": "classifier"}}
LABELS = CLASSIFIER | {"task": "labels"}
UNTIED = {"model": BASE["model"] | {"tied": "none"}}
SIGMA = {"model": BASE["model"] | {"linear": "sigma_reparam"}}
PROFILED = {"kind": "admin", "start": "profiled"}
HALF_PROFILED = {"encoder": {"placement": PROFILED}, "decoder": {"placement": "pre"}, "placement": None}
NEWS = {"kind": "classification", "corpus": "toy_finance"}
GATED = {"placement": "rezero", "init": "fixup"} | UNTIED
REFUSED = [
    {"norm": "batch"},
    {"norm": "instance"},
    {"norm": {"kind": "group", "groups": 1}},
    {"encoder": {"norm": {"kind": "group", "groups": 5}}},
    {"placement": "pre", "init": "deepnorm"},
    {"init": "dyt"},
    {"placement": "rezero", "init": "dt_fixup", "model": BASE["model"] | {"feed_forward": "swiglu"}},
    {"placement": "rezero", "init": "deepnorm"},
    {"init": {"kind": "zero_qk", "of": "deepnorm"}, "placement": "sandwich"},
    {"init": "fixup"},
    {"init": "own"},
    {"init": "mup"},
    {"init": {"kind": "zero_qk", "of": "fixup"}},
    {"init": "zero_qk"} | SIGMA,
    {"task": "labels"},
    {"task": "running_text"},
    {"init": "fixup", "model": BASE["model"] | {"tied": "none", "fix_norm": True}},
    {"init": "fixup", "model": BASE["model"] | {"tied": "none", "linear": "sigma_reparam"}},
    {"init": "dt_fixup"},
    {"init": "dt_fixup", "placement": "mix"},
    {"init": "dt_fixup", "encoder": {"norm": "none"}},
    {"init": {"kind": "zero_qk", "of": "dt_fixup"}, "placement": "pre"},
    {"init": "deepnorm", "norm": "none"},
    LABELS | {"norm": "instance"},
    LABELS | {"norm": {"kind": "group", "groups": 24}, "placement": "pre"},
    {"init": {"kind": "uniform", "a": 1.0, "b": 1.0}},
    GATED,
    {"init": {"kind": "zero_qk", "of": {"kind": "from_run", "spec": "pretrain"}}},
    CLASSIFIER | {"task": NEWS | {"classes": 2}},
    CLASSIFIER | {"task": NEWS | {"tokenizer": "bert_base_uncased"}},
    {"placement": PROFILED},
    HALF_PROFILED | {"init": "fairseq"},
    {"init": "admin"},
    {"init": "admin", "placement": "admin"},
    {"init": {"kind": "zero_qk", "of": "admin"}, "placement": PROFILED},
    {"task": "endless", "init": "dt_fixup", "norm": "none"},
    {"task": {"kind": "short", "length": 1}, "encoder": {"norm": "batch"}},
]
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
    {"placement": "fixup", "init": "fixup"} | UNTIED,
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
    {"placement": PROFILED, "init": "admin"},
    {"placement": PROFILED, "init": {"kind": "admin", "of": "zero_qk"}, "task": "endless"},
    HALF_PROFILED | {"init": "admin"},
    {"placement": "admin"},
    {"task": {"kind": "short", "length": 2}, "encoder": {"norm": "batch"}},
    {"task": {"kind": "short", "length": 1}, "encoder": {"norm": "instance"}},
    {"task": "any", "encoder": {"norm": "batch"}},
]


@pytest.fixture(scope="module")
def registries():
    """The real pieces, and tasks that need no data and say of themselves what matters here."""
    tasks = Registry("task", REGISTRIES["task"].facts)
    tasks.register("any")(lambda draw, roots: None)
    tasks.register("running_text", sources=False)(lambda draw, roots: None)
    tasks.register("labels", says=lambda _: ("sentence",))(lambda draw, roots: None)
    tasks.register("endless", endless=True)(lambda draw, roots: None)
    real = REGISTRIES["task"]["classification"]
    tasks.register("classification", says=real.facts.says)(real.build)

    @tasks.register("short", tokens=lambda params: params["length"])
    def short(draw, roots, *, length: int): ...

    return {**REGISTRIES, "task": tasks}


def flaws(given, registries):
    merged = {key: value for key, value in (BASE | given).items() if value is not None}
    found = contradictions(resolve_setting(merged, registries), registries)
    return [f"{'.'.join(map(str, flaw.path))}: {flaw.what}; {flaw.remedy}" for flaw in found]


@pytest.mark.parametrize("given", REFUSED, ids=str)
def test_a_contradiction_is_refused_with_its_reason(registries, given, golden):
    golden(flaws(given, registries))


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
