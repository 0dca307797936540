"""The JSON Schema takes every sound spec and refuses the wrong ones."""

from contextlib import nullcontext
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from lnlab.compile.reference.schema import spec_schema
from lnlab.errors import SpecError
from lnlab.registry import Registry
from lnlab.specfile.load import load_spec

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


def test_a_registry_that_holds_nothing_allows_nothing(registries):
    made = spec_schema({**registries, "norm": Registry("norm")})
    assert not Draft202012Validator(made["$defs"]["norm"]).is_valid("layer")
