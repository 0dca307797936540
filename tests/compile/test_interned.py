"""Equal settings are those with equal values, whichever objects hold them."""

import copy
import pickle
from itertools import combinations, product

import pytest

from lnlab.compile.content_keys import ContentKeys
from lnlab.compile.interned import Variant, interned
from lnlab.compile.resolve.resolve import resolve_setting
from lnlab.compile.selection.axes import Axes

GIVEN = {
    "task": {"kind": "translation", "corpus": "toy"},
    "model": {"kind": "encoder_decoder", "layers": 2},
    "placement": "post",
    "optimizer": {"kind": "adam", "lr": 0.1},
    "interventions": [{"kind": "rescale", "where": {}}, "freeze"],
    "train": {"steps": 3},
}


def test_settings_of_other_objects_are_one_setting_and_have_its_keys(registries):
    setting = resolve_setting(GIVEN, registries)
    again = resolve_setting(copy.deepcopy(GIVEN), registries)
    stored = interned(copy.deepcopy(dict(setting)))
    assert setting.identity == again.identity == stored.identity
    keys = ContentKeys(registries, ())
    assert keys.of(setting) == keys.of(again) == keys.of(dict(stored)) == ContentKeys(registries, ()).of(stored)


@pytest.mark.parametrize(("one", "other"), [*combinations([1, 1.0, True, "1", None, [1]], 2)])
def test_values_that_python_takes_for_equal_are_not_one(one, other):
    assert interned({"optimizer": {"lr": one}}).identity != interned({"optimizer": {"lr": other}}).identity


def test_a_setting_leaves_the_process_as_a_plain_one(registries):
    setting = resolve_setting(GIVEN, registries)
    received = pickle.loads(pickle.dumps(setting))
    assert type(received) is dict
    assert received == setting
    assert interned(received).identity == setting.identity


def test_an_axis_has_the_value_of_its_own_setting_whichever_parts_settings_share(registries):
    paths = ("model.layers", "model.sublayers", "encoder.sublayers", "placement", "norm", "norm.eps")
    paths += ("decoder.norm", "decoder.cross_attention", "task.corpus", "train.stop", "optimizer.lr")
    shared, seen = Axes(paths, registries), set()
    for encoder, decoder, cross, lr in product(("layer", "rms"), ("layer", "rms"), (True, False), (0.1, 0.2)):
        stacks = {"encoder": {"norm": encoder, "layers": 2}, "decoder": {"norm": decoder, "layers": 3}}
        stacks["decoder"]["cross_attention"] = cross
        given = GIVEN | stacks | {"model": "encoder_decoder", "optimizer": {"kind": "adam", "lr": lr}}
        variant = Variant(resolve_setting(given, registries))
        alone = Axes(paths, registries).point(variant)
        assert shared.point(variant) == alone
        seen.add(str(alone))
    assert len(seen) == 16
