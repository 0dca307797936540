"""The JSON Schema takes every sound spec and refuses the wrong ones."""

import json
from contextlib import nullcontext
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from ruamel.yaml import YAML

from lnlab.catalogue import REGISTRIES
from lnlab.compile.reference.schema import spec_schema
from lnlab.compile.reference.schema_parts import schema_text
from lnlab.errors import SpecError
from lnlab.registry import Registry
from lnlab.report.registries import FRAME_REGISTRIES
from lnlab.specfile.load import load_spec

GUIDED = Path(__file__).parents[2] / "docs" / "examples" / "tokens.yaml"
PAIRS = Path(__file__).parents[1] / "fixtures" / "compile"
SOUND = [path for path in sorted(PAIRS.glob("*.yaml")) if not path.stem.startswith(("wrong", "contra"))]


def test_it_is_a_schema_of_the_dialect_it_names(registries):
    made = spec_schema(registries)
    Draft202012Validator.check_schema(made)
    assert made["$schema"] == Draft202012Validator.META_SCHEMA["$schema"]


@pytest.mark.parametrize("path", SOUND, ids=lambda path: path.stem)
def test_every_spec_that_gives_a_plan_is_valid(path, checked_by_schema):
    assert checked_by_schema(load_spec(path).data) == []


@pytest.mark.parametrize("name", ["wrong_everywhere", "wrong_forms", "wrong_names", "wrong_sweep"])
def test_wrong_specs_are_not(name, checked_by_schema):
    assert checked_by_schema(load_spec(PAIRS / f"{name}.yaml").data)


@pytest.mark.parametrize(
    ("change", "sound"),
    [
        (("placement: post", "placement: {kind: deep, alpha: 2}"), True),
        (("placement: post", "placement: deep"), False),
        (("placement: post", "placement: {kind: deep}"), False),
        (("placement: post", "placement: psot"), False),
        (("placement: post", "placement: {alpha: 2}"), False),
        (("layers: 2", "layers: 2.0"), True),
        (("layers: 2", "layers: 0"), False),
        (("layers: 2", "layerz: 2"), False),
        (("corpus: toy", "corpus: {kind: toy, pairs: 3}"), True),
        (("corpus: toy", "corpus: {kind: toy, pairz: 3}"), False),
        ((", corpus: toy", ""), False),
        (("corpus: toy", "corpus: toy, tokenizer: bpe"), True),
        (("seeds: 2", "seeds: [1, 3-4]"), True),
        (("seeds: 2", "seeds: all"), False),
        (("seeds: 2", "optimizer: null"), True),
        (("seeds: 2", "optimizer: {kind: adam, lr: 1, betas: [0, 1]}"), True),
        (("seeds: 2", "optimizer: {kind: adam, lr: 1, betas: [0]}"), False),
        (("seeds: 2", "train: {stop: patience}"), True),
        (("seeds: 2", "train: {epochs: 0}"), False),
        (("seeds: 2", "sweep: [{model.layers: [1, 2], except: [{model.layers: 1}]}]"), True),
        (("seeds: 2", "sweep: [{model.layers: 1}]"), True),
        (("seeds: 2", "sweep: [{placement: {kind: pre}}]"), False),
        (("seeds: 2", "sweep: [{modl.layers: [1]}]"), False),
        (("seeds: 2", "profiles: {a: {seeds: 1, model.layers: 3, norm: rms}}"), True),
        (("seeds: 2", "profiles: {a: {title: x}}"), False),
        (("seeds: 2", "methods: {A b: {norm: rms}}\nsweep: [{method: [A b]}]"), True),
        (("seeds: 2", "methods: {A b: {norm: rms}}\nprofiles: {a: {method: A b}}\nsweep: [{method: [A b]}]"), True),
        (("seeds: 2", "methods: {A b: [norm]}"), False),
        (("seeds: 2", "methods: {A b: {nrom: rms}}\nsweep: [{method: [A b]}]"), False),
        (("seeds: 2", "methods: {a ~ b: {norm: rms}}"), False),
        (("seeds: 2", f"methods: {{{'a' * 41}: {{norm: rms}}}}"), False),
        (("seeds: 2", "methods: {A b: {norm: rms}}\nsweep: [{method: [3]}]"), False),
        (("kind: gradient_norm", "kind: gradient_norm, at: {every: 3}"), True),
        (("kind: gradient_norm", "kind: gradient_norm, at: never"), False),
        (("seeds: 2", "profiles: {a: {train: {steps: 3, clip: 0}}}"), False),
        (("seeds: 2", "methods: {A b: {decoder: {norm: nothing}}}\nsweep: [{method: [A b]}]"), False),
        (("lnlab: 2", "lnlab: 3"), False),
        (("title: A title\n", ""), False),
        (("seeds: 2", "seed: 2"), False),
    ],
)
def test_the_schema_and_the_compiler_agree(base, document, plan, checked_by_schema, change, sound):
    text = base.replace(*change)
    assert (checked_by_schema(document(text).data) == []) is sound
    with nullcontext() if sound else pytest.raises(SpecError):
        plan(text)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("kind: token_cosine, at", "kind: token_cosin, at"),
        ("batches: 2}\nreport", "batchez: 2}\nreport"),
        ("of: {placement: post}", "of: {plcement: post}"),
        ("quantity: token_cosine", "quantity: token_cosin"),
        ("tensor: out", "tensor: output"),
        ("sublayer: feed", "sublayr: feed"),
        ("at_least: 1.5", "at_leest: 1.5"),
        ("role: prediction\n        says: In", "role: guess\n        says: In"),
        ("placement: [post, pre]", "placement: [post, pr]"),
        ("placement: [post, pre]", "modl.layers: [1, 2]"),
        ("model.layers: 4", "norm: layr"),
        ("placement: post\nseeds", "placement: psot\nseeds"),
        ("kind: trend", "kind: trnd"),
        ("corpus: toy_german_english", "corpus: {kind: toy_german_english, trian: 5}"),
    ],
)
def test_a_typo_is_one_error(before, after):
    text = GUIDED.read_text()
    assert before in text
    checker = Draft202012Validator(spec_schema({**REGISTRIES, **FRAME_REGISTRIES}))
    assert list(checker.iter_errors(YAML(typ="safe").load(text))) == []
    assert len(list(checker.iter_errors(YAML(typ="safe").load(text.replace(before, after, 1))))) == 1


def test_the_whole_is_small():
    made = spec_schema({**REGISTRIES, **FRAME_REGISTRIES})
    assert json.loads(schema_text(made)) == json.loads(json.dumps(made))
    assert len(schema_text(made)) < 300_000


def test_a_registry_that_holds_nothing_allows_nothing(registries):
    made = spec_schema({**registries, "norm": Registry("norm")})
    assert not Draft202012Validator(made["$defs"]["norm"]).is_valid("layer")
