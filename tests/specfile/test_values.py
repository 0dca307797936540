"""What a word of a path leads to, what a selection wants, and how sites read."""

import pytest

from lnlab.setting import children
from lnlab.specfile.values import is_choices, matches, site_label

RESCALE, CLAMP = {"kind": "rescale", "factor": 2}, {"kind": "clamp"}


@pytest.mark.parametrize(
    ("value", "wanted", "same"),
    [
        ({"kind": "layer", "eps": 1e-5}, "layer", True),
        ({"kind": "layer", "eps": 1e-5}, "rms", False),
        ({"kind": "layer", "eps": 1e-5}, {"kind": "layer"}, True),
        ({"kind": "layer", "eps": 1e-5}, {"kind": "layer", "eps": 1e-6}, False),
        ({"eps": 1}, "layer", False),
        ("post", ["pre", "post"], True),
        (6, 6.0, True),
        (6, [4, 6], True),
        (1, True, False),
        (True, 1, False),
        (True, True, True),
        (None, None, True),
        (None, [None, 3], True),
        (None, 0, False),
        (0, None, False),
        ("6", 6, False),
        ([0.9, 0.98], [0.9, 0.98], True),
        ([0.9, 0.98], 0.9, False),
        ([], "none", True),
        ([], "rescale", False),
        ([RESCALE], "none", False),
        ([CLAMP, RESCALE], "rescale", True),
        ([CLAMP], ["none", "rescale"], False),
        ([], ["none", "rescale"], True),
        ("none", "none", True),
    ],
)
def test_what_matches_what(value, wanted, same):
    assert matches(value, wanted) is same


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ({"a": 1}, {"a": 1}),
        ([RESCALE, CLAMP], {"rescale": RESCALE, "clamp": CLAMP}),
        ([RESCALE, CLAMP, RESCALE], {"clamp": CLAMP}),
        ([0.9, 0.98], {}),
        ([], {}),
        ("word", {}),
        (3, {}),
    ],
)
def test_a_mapping_is_entered_by_key_and_a_list_of_choices_by_kind(value, found):
    assert children(value) == found


@pytest.mark.parametrize(("value", "is_one"), [([], True), ([CLAMP], True), ([CLAMP, "x"], False), ("clamp", False)])
def test_what_a_list_of_choices_is(value, is_one):
    assert is_choices(value) is is_one


def test_sites_read_as_they_are_said():
    where = {"stack": ["decoder"], "layer": [1, "last"], "sublayer": None, "tensor": "sum"}
    assert site_label(where) == "decoder 1/last sum"
    assert site_label({"stack": None}) == "everywhere"
