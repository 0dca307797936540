"""What exists in training alone, carried over to a copy of the model: start, last update, optimizer."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from torch import Tensor
from torch.optim import Optimizer

from lnlab.nn.site import AddressedModel, Site
from lnlab.outside.own_model.subject import Subject
from lnlab.probes.probe import State


def renamed_to_copy(subject: Subject, copy: AddressedModel, named: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Rename tensors from a model's parameters to those of its copy. Fused ones are split like the weights."""
    names = {site: name for name, site, _ in copy.addressed_parameters()}
    shapes = {name: p.shape for name, p in subject.structure.named_parameters()}
    present = {name: x for name, x in named.items() if shapes.get(name) == x.shape}  # a model may change in training
    return {names[site]: part for name, x in present.items() for site, part in _by_site(subject, name, x)}


def _by_site(subject: Subject, name: str, x: Tensor) -> list[tuple[Site, Tensor]]:
    address = subject.addresses[name]
    parts = address.split(x) if len(address.sites) > 1 else [x]
    return list(zip(address.sites, parts, strict=True))


class OptimizerOfCopy:
    """The groups and the state of optimizers for the parameters of a copy. It cannot make a step.

    Attributes:
        param_groups: as an optimizer has them.
        state: by parameter.
    """

    def __init__(self, subject: Subject, copy: AddressedModel, optimizers: Sequence[Optimizer]) -> None:
        names = {id(p): name for name, p in subject.structure.named_parameters()}
        parameters = {site: p for _, site, p in copy.addressed_parameters()}
        self.param_groups: list[dict[str, Any]] = []
        self.state: dict[Any, dict[str, Any]] = {}
        for optimizer, group in ((one, group) for one in optimizers for group in one.param_groups):
            own: list[Any] = []
            for p in group["params"]:
                if id(p) not in names:
                    continue
                name = names[id(p)]
                sites = subject.addresses[name].sites
                own += [parameters[site] for site in sites]
                for site in sites if optimizer.state.get(p) else ():
                    self.state[parameters[site]] = {}
                for key, value in optimizer.state.get(p, {}).items():
                    shaped = isinstance(value, Tensor) and value.shape == p.shape
                    values = dict(_by_site(subject, name, value)) if shaped else dict.fromkeys(sites, value)
                    for site in sites:
                        self.state[parameters[site]][key] = values[site]
            self.param_groups.append({**group, "params": own})


def with_training(
    subject: Subject,
    *,
    step: int,
    optimizers: Sequence[Optimizer],
    initial: Callable[[], Mapping[str, Tensor]] | None,
    last_update: Mapping[str, Tensor] | None,
    last_rate: float,
) -> Callable[[State], State]:
    """A function that adds what training has to the state of a copy. The arguments are of the model itself."""

    def add(state: State) -> State:
        copy: Any = state.model
        state.step = step
        if optimizers:
            # Messages name the optimizer by its type.
            kind = type(" and ".join(type(one).__name__ for one in optimizers), (OptimizerOfCopy,), {})
            state.optimizer = kind(subject, copy, optimizers)
        if initial is not None:
            state.initial = lambda: renamed_to_copy(subject, copy, initial())
        if last_update is not None:
            state.last_update, state.last_rate = renamed_to_copy(subject, copy, last_update), last_rate
        return state

    return add
