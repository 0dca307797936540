"""Interventions on the function belong to the initial state, those on the update to what moves it."""

import pytest

from lnlab.compile.content_keys import ContentKeys
from lnlab.compile.resolve.resolve import resolve_setting
from lnlab.keys import digest

GIVEN = {
    "task": {"kind": "translation", "corpus": "toy"},
    "model": {"kind": "encoder_decoder", "layers": 2},
    "placement": "post",
    "optimizer": {"kind": "adam", "lr": 0.1},
    "train": {"steps": 3},
}
RESCALE, FREEZE = {"kind": "rescale", "where": {}}, {"kind": "freeze"}


@pytest.fixture
def identity(registries):
    def make(interventions="none"):
        return ContentKeys(registries, ()).of(resolve_setting({**GIVEN, "interventions": interventions}, registries))

    return make


def test_without_any_the_initial_state_is_what_it_was_before_there_were_interventions(identity, registries):
    setting = resolve_setting(GIVEN, registries)
    keys = ContentKeys(registries, ())
    stacks = []
    for name in ("encoder", "decoder"):
        parts = {word: registries[word].key(setting[name][word]) for word in ("norm", "placement", "attention")}
        stacks.append([name, digest(["stack", {**setting[name], **parts}])])
    start = [keys.choice(word, setting[word]) for word in ("task", "model")]
    numbers = [setting["train"][word] for word in ("precision", "device", "threads")]
    expected = digest(["start", *start, stacks, keys.choice("init", setting["init"]), numbers])
    assert keys.of(setting).start == identity("none").start == expected
    moves = {word: setting["train"][word] for word in ("accumulate", "clip")}
    moves["stop"] = keys.choice("stop", setting["train"]["stop"])
    moves |= {"optimizer": keys.choice("optimizer", setting["optimizer"]), "schedule": None, "interventions": []}
    assert keys.of(setting).movement == digest(["movement", moves])


def test_the_order_in_which_they_act_is_in_the_key_and_so_is_how_often(identity):
    other = {"kind": "rescale", "where": {}, "factor": 2}
    starts = [identity(given).start for given in ([RESCALE, other], [other, RESCALE], [RESCALE, RESCALE], [RESCALE])]
    assert len(set(starts)) == 4
    assert identity([RESCALE, FREEZE]).start == identity([FREEZE, RESCALE]).start == starts[3]


def test_one_that_does_not_say_on_what_it_acts_has_its_own_initial_state(identity, registries):
    registries["intervention"].register("mystery")(lambda model, optimizer: None)
    assert identity("mystery").start != identity().start
