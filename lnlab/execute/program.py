"""From a resolved setting to live objects: task, model, initial values."""

import torch
from torch import nn

from lnlab.compile.work import Setting, Trajectory
from lnlab.errors import LabError, Problem
from lnlab.execute.unit import Registries
from lnlab.nn.parts import Parts
from lnlab.probes.probe import State
from lnlab.randomness import Draw
from lnlab.registry import Roots


def build(trajectory: Trajectory, registries: Registries, roots: Roots = ()) -> State:
    """The state before the first update: model in its precision and in evaluation mode. Its corpus is not read yet.

    Any draw that is not addressed (what a module's constructor fills before the init replaces it) comes from a
    generator that depends on the seed alone, never on what this process did before.

    Raises:
        LabError: the setting asks for training, and nothing that trains is registered.
    """
    setting = trajectory.setting
    _refuse_training(trajectory)
    draw = Draw(trajectory.seed)
    torch.default_generator.manual_seed(draw("build"))
    task = registries["task"].builder(setting["task"])(draw, roots)
    model = build_model(setting, registries, task.size).to(precision(setting))
    registries["init"].builder(setting["init"])(model, draw)
    return State(model.eval(), task, draw, step=0)


def precision(setting: Setting) -> torch.dtype:
    """The number format of a setting; initial values are drawn in float32 and then cast, so that they are the same."""
    word = (setting.get("train") or {}).get("precision", "float32")
    return {"float32": torch.float32, "float64": torch.float64}[word]


def build_model(setting: Setting, registries: Registries, size: int) -> nn.Module:
    """The model of a setting, before its init; ``size`` is the number of rows of its tables."""
    stacks = registries["model"][setting["model"]["kind"]].tags.get("stacks", ())
    parts = {stack: _parts(setting[stack], registries) for stack in stacks}
    model: nn.Module = registries["model"].builder(setting["model"])(size, parts)
    return model


def _parts(stack: Setting, registries: Registries) -> Parts:
    return Parts(
        layers=stack["layers"],
        norm=registries["norm"].builder(stack["norm"]),
        placement=registries["placement"].builder(stack["placement"]),
        attention=registries["attention"].builder(stack["attention"]),
        cross_attention=stack.get("cross_attention", False),
    )


def _refuse_training(trajectory: Trajectory) -> None:
    asked = trajectory.steps or (trajectory.setting.get("train") or {}).get("steps")
    if asked or trajectory.setting.get("optimizer") is not None:
        what = f"found {asked}, and no optimizer is known yet that could make an update"
        raise LabError(Problem("train.steps", what, "leave it out: what is measured at init needs no training"))


def parameters(model: nn.Module) -> int:
    """Trainable elements, a shared tensor once."""
    return sum(p.numel() for p in model.parameters() if p.requires_grad)
