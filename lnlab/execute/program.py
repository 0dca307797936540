"""From a resolved setting to live objects: task, model, initial values."""

import torch
from torch import nn

from lnlab.compile.work import Setting, Trajectory
from lnlab.errors import LabError, Problem
from lnlab.execute.unit import Registries
from lnlab.nn.parts import Parts
from lnlab.probes.probe import State
from lnlab.randomness import Draw
from lnlab.registry import Roots, supplied
from lnlab.tasks.task import Task


def build(trajectory: Trajectory, registries: Registries, roots: Roots = ()) -> State:
    """The state before the first update: model in float32 and in evaluation mode. Its corpus is not read yet.

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
    model = build_model(setting, registries, task).to(torch.float32)
    registries["init"].builder(setting["init"])(model, draw)
    return State(model.eval(), task, draw, step=0)


def build_model(setting: Setting, registries: Registries, task: Task) -> nn.Module:
    """The model of a setting, before its init; the task says how many rows its tables have, and its output."""
    entry = registries["model"][setting["model"]["kind"]]
    parts = {stack: _parts(setting[stack], registries) for stack in entry.tags.get("stacks", ())}
    given = (task.labels,) if supplied(entry.build) > 2 else ()
    model: nn.Module = registries["model"].builder(setting["model"])(task.size, parts, *given)
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
