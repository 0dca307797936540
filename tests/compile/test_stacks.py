"""Short and long forms of what the stacks are made of."""

import pytest

from lnlab.compile.resolve.resolve import setting_types
from lnlab.compile.resolve.stacks import resolve_stacks
from lnlab.registry import Flawed

MODEL = {"kind": "encoder_decoder", "layers": 2}


def resolve(given, registries):
    return resolve_stacks(given, registries, setting_types(registries))


def flaws(given, registries):
    with pytest.raises(Flawed) as caught:
        resolve(given, registries)
    return {(flaw.path, flaw.what) for flaw in caught.value.issues}


def test_the_long_form_means_one_stack_and_gives_the_same_setting(registries):
    long = {"layers": 2.0, "norm": "layer", "placement": "pre", "attention": "softmax"}
    given = {"model": "encoder_decoder", "encoder": long, "decoder": long}
    assert resolve(given, registries) == resolve({"model": MODEL, "placement": "pre"}, registries)


def test_a_model_of_one_stack_has_one_and_nothing_to_attend_to(registries):
    made = resolve({"model": {"kind": "decoder_only", "layers": 1}, "placement": "post"}, registries)
    assert set(made) == {"model", "decoder"}
    assert "cross_attention" not in made["decoder"]


@pytest.mark.parametrize(
    ("given", "path"),
    [
        ({"placement": "post"}, ("model",)),
        ({"model": MODEL}, ("placement",)),
        ({"model": "encoder_decoder", "placement": "post"}, ("model", "layers")),
        ({"model": {**MODEL, "layers": 0}, "placement": "post"}, ("model", "layers")),
        ({"model": {**MODEL, "layers": True}, "placement": "post"}, ("model", "layers")),
        ({"model": {**MODEL, "layers": 2.5}, "placement": "post"}, ("model", "layers")),
        ({"model": {**MODEL, "layers": 10_000}, "placement": "post"}, ("model", "layers")),
        ({"model": MODEL, "placement": "post", "encoder": 3}, ("encoder",)),
        ({"model": MODEL, "placement": "post", "encoder": {"x": 1}}, ("encoder", "x")),
        ({"model": MODEL, "placement": "post", "encoder": {"cross_attention": True}}, ("encoder", "cross_attention")),
        ({"model": MODEL, "placement": "post", "decoder": {"cross_attention": 1}}, ("decoder", "cross_attention")),
        ({"model": MODEL, "placement": "post", "decoder": {"norm": "psot"}}, ("decoder", "norm", "kind")),
        ({"model": MODEL, "placement": "post", "decoder": {"placement": "pre"}}, ("decoder", "placement")),
        ({"model": MODEL, "placement": "post", "decoder": {"layers": 3}}, ("decoder", "layers")),
        ({"model": {"kind": "decoder_only", "layers": 1}, "placement": "post", "encoder": {}}, ("encoder",)),
        (
            {"model": {"kind": "decoder_only", "layers": 1}, "placement": "post", "decoder": {"cross_attention": True}},
            ("decoder", "cross_attention"),
        ),
        ({"model": {"kind": "silent", "layers": 1}, "placement": "post"}, ("model", "kind")),
    ],
)
def test_each_flaw_has_the_path_at_which_it_is_written(registries, given, path, golden):
    ((found, says),) = flaws(given, registries)
    assert found == path
    golden(says)


def test_flaws_of_the_stacks_are_found_although_the_model_is_flawed(registries):
    given = {
        "model": "encodr",
        "norm": "x",
        "encoder": {"placement": "y", "layers": -1},
        "decoder": {"cross_attention": "no", "attention": "softmax"},
    }
    assert {path for path, _ in flaws(given, registries)} == {
        ("model", "kind"),
        ("norm", "kind"),
        ("encoder", "placement", "kind"),
        ("encoder", "layers"),
        ("decoder", "cross_attention"),
    }


def test_a_required_number_of_layers_may_stand_in_one_stack_only(registries):
    given = {"model": "encoder_decoder", "placement": "post", "encoder": {"layers": 1}}
    assert flaws(given, registries) == {(("model", "layers"), "the number of layers is required")}
