"""A resolved setting holds every default, and resolving it again changes nothing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lnlab.compile.resolve.resolve import resolve_setting
from lnlab.keys import canonical
from lnlab.registry import Flawed

GIVEN = {
    "task": {"kind": "translation", "corpus": "toy"},
    "model": {"kind": "encoder_decoder", "layers": 2},
    "placement": "post",
}
CHOICES = {
    "norm": st.sampled_from(["layer", {"kind": "rms"}, {"kind": "rms", "eps": 1e-3}, "none"]),
    "placement": st.sampled_from(["post", "pre", {"kind": "deep", "alpha": 2}]),
    "optimizer": st.sampled_from([None, {"kind": "adam", "lr": 1e-3}, {"kind": "adam", "lr": 1, "betas": [0, 1]}]),
    "schedule": st.sampled_from([None, "constant", {"kind": "linear", "warmup_steps": 3.0}]),
    "train": st.sampled_from([{}, {"steps": 3}, {"clip": 1, "stop": "patience"}, {"evaluate": {"every": 3}}]),
    "interventions": st.sampled_from([[], ["freeze"], [{"kind": "freeze", "tensor": "q"}]]),
    "init": st.sampled_from(["xavier_normal", {"kind": "xavier_normal", "gain": 2}]),
}


@given(st.fixed_dictionaries({}, optional=CHOICES))
def test_resolving_is_idempotent(laboratory, chosen):
    once = resolve_setting({**GIVEN, **chosen}, laboratory)
    assert resolve_setting(once, laboratory) == once


def test_the_resolved_setting_in_full(registries, golden):
    golden([f"{part}: {canonical(value)}" for part, value in resolve_setting(GIVEN, registries).items()])


def test_every_flaw_of_every_part_is_found_at_once(registries):
    given = {
        "model": {"kind": "encoder_decoder", "layers": 2, "heads": "four"},
        "init": None,
        "optimizer": "adm",
        "schedule": 3,
        "train": [],
        "interventions": ["freeze", "freez", {"kind": "freeze", "x": 1}],
    }
    with pytest.raises(Flawed) as caught:
        resolve_setting(given, registries)
    assert [flaw.path for flaw in caught.value.issues] == [
        ("task",),
        ("model", "heads"),
        ("init",),
        ("optimizer", "kind"),
        ("schedule",),
        ("train",),
        ("interventions", 1, "kind"),
        ("interventions", 2, "x"),
    ]


@pytest.mark.parametrize(
    ("train", "path"),
    [
        ({"step": 1}, ("train", "step")),
        ({"steps": -1}, ("train", "steps")),
        ({"epochs": 3, "steps": 2}, ("train", "epochs")),
        ({"epochs": 0}, ("train", "epochs")),
        ({"epochs": True}, ("train", "epochs")),
        ({"stop": "never"}, ("train", "stop", "kind")),
        ({"device": "tpu"}, ("train", "device")),
        ({"threads": True}, ("train", "threads")),
        ({"evaluate": "often"}, ("train", "evaluate")),
        (3, ("interventions",)),
    ],
)
def test_what_cannot_be_trained_with_is_refused(registries, train, path, golden):
    given = {"interventions": train} if path == ("interventions",) else {"train": train}
    with pytest.raises(Flawed) as caught:
        resolve_setting({**GIVEN, **given}, registries)
    (flaw,) = caught.value.issues
    assert flaw.path == path
    golden(flaw.what)


FROZEN = {"kind": "freeze", "tensor": "w2"}


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("none", []),
        (None, []),
        ("freeze", [FROZEN]),
        (FROZEN, [FROZEN]),
        (["freeze", {"kind": "freeze", "tensor": "q"}], [FROZEN, {"kind": "freeze", "tensor": "q"}]),
    ],
)
def test_interventions_are_none_one_or_a_list(registries, given, found):
    assert resolve_setting({**GIVEN, "interventions": given}, registries)["interventions"] == found
