"""What cannot be built is found without memory and without a corpus."""

import pytest
import torch
from torch import nn

from lnlab.catalogue import REGISTRIES as LNLAB
from lnlab.compile.resolve.resolve import resolve_setting
from lnlab.errors import LabError
from lnlab.execute.meta import Undrawn, build_on_meta, build_rules
from tests.support.toy_pieces import REGISTRIES


def test_a_model_far_larger_than_memory_is_built_and_what_cannot_be_is_named(unit_of, golden):
    build_on_meta(unit_of(1, task={"width": 10_000_000, "absent": True}).setting, REGISTRIES)
    with golden.raises(LabError):
        build_on_meta(unit_of(1, model={"flaw": "3 heads\nof 2"}).setting, REGISTRIES)
    build_on_meta(unit_of(1, init={"kind": "looks"}).setting, REGISTRIES)
    build_on_meta(unit_of(1, init={"kind": "doubles", "of": "looks"}).setting, REGISTRIES)


@pytest.mark.parametrize(
    "draw",
    [
        lambda x: x.normal_(0, -1.0),
        lambda x: x.normal_(std=-1.0),
        lambda x: nn.init.kaiming_uniform_(x[0]),
        lambda x: nn.init.kaiming_uniform_(x, mode="fan_up"),
    ],
    ids=["negative spread", "negative spread by name", "a row has no fans", "no such fan"],
)
def test_what_torch_refuses_to_draw_is_refused_without_values_too(draw):
    for device in ("cpu", "meta"):
        with Undrawn(), pytest.raises((RuntimeError, ValueError)):
            draw(torch.empty(2, 3, device=device))


def test_what_has_values_is_drawn_beside_what_has_none():
    def drawn():
        torch.manual_seed(1)
        return [nn.Linear(3, 2).weight, torch.empty(4).normal_(1.0, 2.0), nn.init.uniform_(torch.empty(4), -1.0, 1.0)]

    expected = drawn()
    with Undrawn():
        assert all(map(torch.equal, drawn(), expected))
        x = torch.empty(4, device="meta")
        assert x.normal_() is x


def test_interventions_are_entered_with_an_optimizer_where_there_is_one(unit_of, golden):
    with golden.raises(LabError):
        build_on_meta(unit_of(1, interventions=[{"kind": "times", "reaches": False}]).setting, REGISTRIES)
    optimizer = {"kind": "sgd", "lr": 0.1}
    build_on_meta(unit_of(1, optimizer=optimizer, interventions=["halve"]).setting, REGISTRIES)


def rules(task="translation", **given):
    corpora = {"translation": {"corpus": "multi30k"}, "random_tokens": {}}
    setting = {
        "task": {"kind": task, **corpora[task]},
        "model": {"kind": "encoder_decoder", "layers": 1, "d_model": 8, "heads": 1, "d_ff": 8},
        "placement": "post",
        "optimizer": {"kind": "adam", "lr": 1e-3},
        "train": {"steps": 9} | {key: value for key, value in given.items() if key == "stop"},
        "schedule": given.get("schedule"),
    }
    build_rules(resolve_setting(setting, LNLAB), LNLAB)


@pytest.mark.parametrize("schedule", [{"at": [3]}, {"epochs": [2.5]}, {"at": [3], "epochs": [1]}])
def test_a_schedule_in_epochs_is_built_without_its_corpus(schedule):
    rules(schedule={"kind": "step", **schedule})


def test_a_schedule_or_a_stop_that_cannot_be_built_is_found_before_any_work(golden):
    with golden.raises(LabError):
        rules(schedule="step")
    with golden.raises(LabError):
        rules("random_tokens", schedule={"kind": "step", "epochs": [1]})
    rules("random_tokens", schedule={"kind": "step", "at": [1]})
    with golden.raises(LabError):
        rules(stop={"kind": "target", "at_most": 1.0, "split": "train"})
    rules(stop={"kind": "target", "at_most": 1.0})
