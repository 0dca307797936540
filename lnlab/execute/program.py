"""From a resolved setting to live objects: task, model, initial values, what moves them and what intervenes."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from lnlab.compile.cost.data_passes import asks_for_data
from lnlab.compile.resolve.choices import Registries, interventions_on
from lnlab.compile.work import ResolvedSetting, Trajectory
from lnlab.errors import LabError
from lnlab.execute.checkpoint import weights_of
from lnlab.execute.devices import device_of, placed, weight_format
from lnlab.issues import Issue
from lnlab.nn.data import Batches
from lnlab.nn.parts import Parts
from lnlab.nn.sites import addressed, weights
from lnlab.optim.uncompiled import leave_compiler_out
from lnlab.probes.probe import State
from lnlab.randomness import Draw
from lnlab.registry import Choice, Registry, Roots, supplied_parameters
from lnlab.tasks.task import Task

GATES = ("alpha", "omega", "gate")
"""Parameters of placements that weight decay would pull away from where they begin."""


def build(trajectory: Trajectory, registries: Registries, roots: Roots = ()) -> State:
    """The state before the first update: model in its precision and in evaluation mode. Its corpus is not read yet.

    Any draw that is not addressed (what a module's constructor fills before the init replaces it) comes from a
    generator that depends on the seed alone, never on what this process did before.

    Raises:
        LabError: its pieces cannot be built from each other.
    """
    setting = trajectory.setting
    draw = Draw(trajectory.seed)
    torch.default_generator.manual_seed(draw("build"))
    task = registries["task"].builder(setting["task"])(draw, roots)
    device = device_of(setting)
    model = build_model(setting, registries, task).to(weight_format(setting))
    state = State(model, task, draw, step=0)
    weights = None if trajectory.weights is None else weights_of(trajectory.weights)
    initializer(setting["init"], registries["init"], partial(state.read, purpose="init"), weights)(model, draw)
    model.to(device).eval()
    state.task = placed(task, device)
    if setting["optimizer"] is not None:
        state.optimizer = build_optimizer(model, setting["optimizer"], registries)
        state.initial = partial(initial_parameters, trajectory, registries, roots)
    if trajectory.steps:
        state.schedule = build_schedule(setting, registries, partial(updates_per_epoch, setting, task))
    return state


def initial_parameters(trajectory: Trajectory, registries: Registries, roots: Roots) -> dict[str, Tensor]:
    """The parameters of a trajectory's initial state by name, from a fresh build."""
    return {name: p.detach() for name, p in build(trajectory, registries, roots).model.named_parameters()}


def build_optimizer(model: nn.Module, choice: Choice, registries: Registries) -> Optimizer:
    """The optimizer of a model. Gates, whose first values their placement chooses, are not decayed."""
    leave_compiler_out()
    entry = registries["optimizer"][choice["kind"]]
    hidden = {id(p) for site, p in weights(model) if site.layer is not None} if entry.facts.splits else set()
    groups: dict[tuple[bool, bool], list[nn.Parameter]] = {}
    for name, p in model.named_parameters():
        word = next(word for word in reversed(name.split(".")) if not word.isdecimal())  # a gate may stand in a list
        groups.setdefault((id(p) in hidden, word in GATES), []).append(p)
    options = [
        {"params": parameters}
        | ({"hidden": inside} if entry.facts.splits else {})
        | ({"weight_decay": 0.0} if gates else {})
        for (inside, gates), parameters in sorted(groups.items(), key=lambda item: item[0])
    ]
    optimizer: Optimizer = registries["optimizer"].builder(choice)(options)
    for group in optimizer.param_groups:
        group["initial_lr"] = group["lr"]  # the schedule's factor is on this one, also after a resumption
    if type(optimizer) in FUSED and all(p.is_cuda for p in model.parameters()):
        fuse(optimizer)
    return optimizer


FUSED = (torch.optim.Adam, torch.optim.AdamW)
"""Optimizers of which torch has a step in one kernel. On a GPU others launch one kernel per operation and parameter."""


def fuse(optimizer: Optimizer) -> None:
    """Let an optimizer that has made no step do each in one kernel."""
    for group in optimizer.param_groups:
        group |= {"fused": True, "foreach": False}


def build_schedule(
    setting: ResolvedSetting, registries: Registries, epoch: Callable[[], float | None]
) -> Callable[[int], float]:
    """The factor on the learning rate at update 1, 2, ... Without a schedule it is 1.

    Args:
        setting: the resolved setting.
        registries: of every kind.
        epoch: returns the updates per epoch, or None for endless data. It is called only if the schedule has the
            parameter ``epoch``.

    Raises:
        LabError: the schedule cannot be built from its parameters.
    """
    if setting["schedule"] is None:
        return lambda _: 1.0
    entry = registries["schedule"][setting["schedule"]["kind"]]
    known: dict[str, Callable[[], float | None]] = {"steps": lambda: setting["train"]["steps"], "epoch": epoch}
    arguments = [known[name]() for name in supplied_parameters(entry.build)]
    factor: Callable[[int], float] = registries["schedule"].builder(setting["schedule"])(*arguments)
    return factor


def updates_per_epoch(setting: ResolvedSetting, task: Task) -> float | None:
    """Updates per epoch, or None for endless data."""
    return None if task.epoch_batches is None else task.epoch_batches / setting["train"]["accumulate"]


def initializer(
    choice: Choice, inits: Registry[Any], batches: Batches, weights: Mapping[str, Tensor] | None = None
) -> Callable[[nn.Module, Draw], None]:
    """A resolved init as ``(model, draw) -> None``: if it reads data, or one inside it does, it has the batches.

    Args:
        choice: the init.
        inits: of which it is one.
        batches: what it reads.
        weights: of the run that it continues.

    Raises:
        LabError: it continues a run whose weights are not there.
    """
    entry = inits[choice["kind"]]
    inner = {name: initializer(choice[name], inits, batches) for name, r in entry.nested.items() if r is inits}
    build = partial(inits.builder(choice), **inner)
    if entry.facts.continues:
        if weights is None:
            what = f"'{entry.name}' begins with a state of '{choice['spec']}', which is not available"
            raise LabError(Issue("failed", "init", what, "lnlab run computes it first"))
        return lambda model, draw: build(model, draw, weights)
    return (lambda model, draw: build(model, draw, batches)) if asks_for_data(entry) else build


def build_model(setting: ResolvedSetting, registries: Registries, task: Task) -> nn.Module:
    """Build the model of a setting, before its init. The task gives the size of its embeddings and of its output.

    Raises:
        LabError: a parameter of the model has no address, or two have one.
    """
    entry = registries["model"][setting["model"]["kind"]]
    parts = {}
    for stack in entry.facts.stacks:
        chosen = setting[stack]
        parts[stack] = Parts(
            layers=chosen["layers"],
            norm=registries["norm"].builder(chosen["norm"]),
            placement=registries["placement"].builder(chosen["placement"]),
            attention=registries["attention"].builder(chosen["attention"]),
            cross_attention=chosen.get("cross_attention", False),
        )
    # A model that classifies takes the number of labels third.
    labels = (task.labels,) if len(supplied_parameters(entry.build)) > 2 else ()
    model: nn.Module = registries["model"].builder(setting["model"])(task.size, parts, *labels)
    addressed(model)  # raises where a parameter has no address
    return model


@contextmanager
def intervened(
    model: nn.Module, optimizer: Optimizer | None, setting: ResolvedSetting, registries: Registries
) -> Iterator[None]:
    """Apply the interventions of a setting, in their order, while the context is open. Leaving removes every trace.

    Without an optimizer, interventions on the update are left out.

    Raises:
        LabError: an intervention finds nothing to act on.
    """
    with ExitStack() as interventions:
        for on in ("function", "update") if optimizer is not None else ("function",):
            for choice in interventions_on(on, setting, registries):
                interventions.enter_context(registries["intervention"].builder(choice)(model, optimizer))
        yield


def count_parameters(model: nn.Module) -> int:
    """Trainable elements, a shared tensor once."""
    return sum(p.numel() for p in model.parameters() if p.requires_grad)
