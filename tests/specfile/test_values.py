"""What a word of a path leads to, what a selection wants, and how sites read."""

import pytest

from lnlab.setting import children
from lnlab.specfile.values import is_choices, matches, site_label

RESCALE, CLAMP = {"kind": "rescale", "factor": 2}, {"kind": "clamp"}


LAYER = {"kind": "layer", "eps": 1e-5}
MATCHING = [
    (LAYER, "layer"), (LAYER, {"kind": "layer"}), ("post", ["pre", "post"]), (6, 6.0), (6, [4, 6]), (True, True),
    (None, None), (None, [None, 3]), ([0.9, 0.98], [0.9, 0.98]), ([], "none"), ([CLAMP, RESCALE], "rescale"),
    ([], ["none", "rescale"]), ("none", "none"),
]  # fmt: skip
OTHERS = [
    (LAYER, "rms"), (LAYER, {"kind": "layer", "eps": 1e-6}), ({"eps": 1}, "layer"), (1, True), (True, 1), (None, 0),
    (0, None), ("6", 6), ([0.9, 0.98], 0.9), ([], "rescale"), ([RESCALE], "none"), ([CLAMP], ["none", "rescale"]),
]  # fmt: skip


@pytest.mark.parametrize(("pairs", "same"), [(MATCHING, True), (OTHERS, False)])
def test_what_matches_what(pairs, same):
    assert [pair for pair in pairs if matches(*pair) is not same] == []


def test_a_mapping_is_entered_by_key_and_a_list_of_choices_by_kind():
    assert children({"a": 1}) == {"a": 1}
    assert children([RESCALE, CLAMP]) == {"rescale": RESCALE, "clamp": CLAMP}
    assert children([RESCALE, CLAMP, RESCALE]) == {"clamp": CLAMP}
    assert [children(value) for value in ([0.9, 0.98], [], "word", 3)] == [{}] * 4
    assert [is_choices(value) for value in ([], [CLAMP], [CLAMP, "x"], "clamp")] == [True, True, False, False]


def test_sites_read_as_they_are_said():
    where = {"stack": ["decoder"], "layer": [1, "last"], "sublayer": None, "tensor": "sum"}
    assert site_label(where) == "decoder 1/last sum"
    assert site_label({"stack": None}) == "everywhere"
