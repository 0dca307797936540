"""From a resolved setting to live objects: task, model, initial values, and what intervenes."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

import torch
from torch import nn
from torch.optim import Optimizer

from lnlab.compile.choices import acting
from lnlab.compile.data import asks_for_data
from lnlab.compile.work import Setting, Trajectory
from lnlab.errors import LabError, Problem
from lnlab.execute.unit import Registries
from lnlab.nn.data import Batches
from lnlab.nn.parts import Parts
from lnlab.probes.probe import State
from lnlab.randomness import Draw
from lnlab.registry import Choice, Registry, Roots, supplied
from lnlab.tasks.task import Task


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
    model = build_model(setting, registries, task).to(precision(setting))
    state = State(model, task, draw, step=0)
    initializer(setting["init"], registries["init"], partial(state.read, purpose="init"))(model, draw)
    model.eval()
    return state


def initializer(choice: Choice, inits: Registry[Any], batches: Batches) -> Callable[[nn.Module, Draw], None]:
    """A resolved init as ``(model, draw) -> None``: if it asks for data, or one inside it does, it has the batches."""
    entry = inits[choice["kind"]]
    inner = {name: initializer(choice[name], inits, batches) for name, r in entry.nested.items() if r is inits}
    build = partial(inits.builder(choice), **inner)
    return (lambda model, draw: build(model, draw, batches)) if asks_for_data(entry) else build


def precision(setting: Setting) -> torch.dtype:
    """The number format of a setting; initial values are drawn in float32 and then cast, so that they are the same."""
    word = (setting.get("train") or {}).get("precision", "float32")
    return {"float32": torch.float32, "float64": torch.float64}[word]


def build_model(setting: Setting, registries: Registries, task: Task) -> nn.Module:
    """The model of a setting, before its init; the task says how many rows its tables have, and its output."""
    entry = registries["model"][setting["model"]["kind"]]
    parts = {stack: _parts(setting[stack], registries) for stack in entry.tags.get("stacks", ())}
    given = (task.labels,) if supplied(entry.build) > 2 else ()
    model: nn.Module = registries["model"].builder(setting["model"])(task.size, parts, *given)
    return model


@contextmanager
def intervened(
    model: nn.Module, optimizer: Optimizer | None, setting: Setting, registries: Registries
) -> Iterator[None]:
    """Inside, the interventions of a setting act, the first of them first; on leaving they are gone without a trace.

    Those on the update have nothing to act on where there is no optimizer.

    Raises:
        LabError: one of them finds nothing that it could act on.
    """
    with ExitStack() as entered:
        for on in ("function", "update") if optimizer is not None else ("function",):
            for choice in acting(on, setting, registries):
                entered.enter_context(registries["intervention"].builder(choice)(model, optimizer))
        yield


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
