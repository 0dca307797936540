"""Depths against what the papers count."""

import pytest

from lnlab.spec.depths import axes_said_by, depth_at, depths_of


def setting(**stacks):
    return {"model": {"kind": "m", "d_model": 8}, **stacks}


BOTH = setting(encoder={"layers": 5}, decoder={"layers": 7, "cross_attention": True})


@pytest.mark.parametrize(("path", "depth"), [("encoder", 10), ("decoder", 21), ("model", 31)])
def test_two_branches_a_layer_and_three_with_cross_attention(path, depth):
    """The last is Fixup's 2 N + 3 M."""
    assert depth_at(BOTH, f"{path}.sublayers") == depth


def test_a_decoder_without_cross_attention_counts_like_an_encoder():
    assert depth_at(setting(decoder={"layers": 7, "cross_attention": False}), "model.sublayers") == 14


def test_a_model_has_the_depths_of_its_stacks():
    assert depths_of(setting(encoder={"layers": 5})) == ["encoder.sublayers", "model.sublayers"]
    assert depths_of(setting()) == []


@pytest.mark.parametrize("path", ["encoder.layers", "model.d_model", "sublayers", "model"])
def test_other_paths_are_no_depths(path):
    assert depth_at(BOTH, path) is None
    assert axes_said_by(path) == (path,)


def test_a_depth_says_what_its_layers_are():
    assert axes_said_by("encoder.sublayers") == ("encoder.sublayers", "encoder.layers", "model.layers")
    assert set(axes_said_by("model.sublayers")) >= {"encoder.layers", "decoder.layers", "model.layers"}
