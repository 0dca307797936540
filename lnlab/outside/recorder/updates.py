"""What each update of an optimizer does, read in the optimizer's own hooks: no pass of the model is added.

Gradients are read after ``step``, where alone they are those that the optimizer used: before it, those of a closure
(LBFGS, Lightning) are not there yet, and fused optimizers under a ``GradScaler`` still have them scaled. Old weights
are read before it. A step that a ``GradScaler`` skips is none. Steps of several optimizers are one update, until one of
them makes another step or the loop calls the recorder.
"""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import accumulate
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from lnlab.errors import LabError
from lnlab.issues import Issue
from lnlab.nn.site import Site, StreamPoint
from lnlab.outside.own_model.addresses import Address

HOOKS = ("gradients", "updates", "activations")
_HALVES = (torch.float16, torch.bfloat16)
_USED = "_lnlab_used"
"""The attribute of a gradient that says in which version an update has used it."""


@dataclass
class Part:
    """What one optimizer did of an update: numbers that wait on their device, of its own parameters.

    Attributes:
        positions: of its parameters' sites among all.
        absent: by site, whether there is no gradient.
        gradients: norms by site, or None.
        change: norms by site of the change, and of what was changed, or None.
    """

    positions: Sequence[int]
    absent: Sequence[bool] = ()
    gradients: Tensor | None = None
    change: tuple[Tensor, Tensor] | None = None


@dataclass
class Update:
    """Numbers of one update.

    Attributes:
        step: updates made, this one included.
        rates: the learning rate of each group of parameters.
        parts: of the optimizers that made it.
        activations: root mean squares by site of an activation.
    """

    step: int
    rates: Sequence[float]
    parts: list[Part] = field(default_factory=list)
    activations: dict[Site, Tensor] = field(default_factory=dict)


class UpdateHooks:
    """Hooks on optimizers, and on modules where activations are recorded.

    Attributes:
        count: updates made.
        optimizers: whose updates they are.
        sites: of the parameters, in the order of the numbers of a record.
        left_out: names of parameters that are trained, and that none of the optimizers updates.
        last_update: by the name of a parameter the change by the last update that ``watched`` asked for, and the step
            and the learning rate of that one.
        seconds: spent in hooks.
    """

    def __init__(
        self,
        *,
        module: nn.Module,
        optimizers: Sequence[Optimizer],
        addresses: Mapping[str, Address],
        points: Mapping[Site, StreamPoint],
        kinds: Sequence[str],
        every: int,
        step: int,
        watched: Callable[[int], bool],
        full: Callable[[], None],
    ) -> None:
        """``full`` is called when numbers of an earlier update wait to be read and those of another come."""
        owners = {id(p): i for i, one in enumerate(optimizers) for group in one.param_groups for p in group["params"]}
        named = [(name, p) for name, p in module.named_parameters() if id(p) in owners]
        if idle := [i for i in range(1, len(optimizers) + 1) if not any(owners[id(p)] == i - 1 for _, p in named)]:
            which = f"the optimizer {idle[0]} of {len(optimizers)}" if len(optimizers) > 1 else "the optimizer"
            what = f"{which} updates no parameter of this model"
            raise LabError(Issue("unsupported", "attach", what, "attach after moving or sharding it, each once"))
        self.count = step
        self.optimizers = tuple(optimizers)
        self.kinds = tuple(kinds)
        self.left_out = [n for n, p in module.named_parameters() if p.requires_grad and id(p) not in owners]
        self.last_update: dict[str, Tensor] = {}
        self.last_step = -1
        self.last_rate = 0.0
        self.seconds = 0.0
        self.sharded = any(hasattr(p, "to_local") for _, p in named)
        self._names = [name for name, _ in named]
        self._parameters = [p for _, p in named]
        self._addresses = [addresses[name] for name in self._names]
        self.sites = [site for address in self._addresses for site in address.sites]
        self._of = [[k for k, (_, p) in enumerate(named) if owners[id(p)] == i] for i in range(len(optimizers))]
        ends = list(accumulate(len(address.sites) for address in self._addresses))
        self._positions = [range(end - len(a.sites), end) for end, a in zip(ends, self._addresses, strict=True)]
        self._rates = [float(group["lr"]) for one in optimizers for group in one.param_groups]
        self._stepped: set[int] = set()
        self._every = every
        self._watched = watched
        self._full = full
        self._before: dict[int, list[Tensor]] = {}
        self._seen: dict[Site, Tensor] = {}
        self._waiting: list[Update] = []
        self._mark_gradients()
        self._handles: list[Any] = []
        for i, one in enumerate(optimizers):
            self._handles.append(one.register_step_pre_hook(partial(self._before_step, i)))
            self._handles.append(one.register_step_post_hook(partial(self._after_step, i)))
        if "activations" in self.kinds:
            # The stream where it is known, else what each module with parameters of its own returns.
            places = dict(points) or {
                Site(None, None, path or None, "out"): StreamPoint(path)
                for path, part in module.named_modules()
                if any(True for _ in part.parameters(recurse=False))
            }
            for site, point in places.items():
                part = module.get_submodule(point.path)
                if point.at_input:
                    handle: Any = part.register_forward_pre_hook(lambda m, x, site=site: self._record_norm(m, site, x))
                else:
                    handle = part.register_forward_hook(lambda m, _x, y, site=site: self._record_norm(m, site, y))
                self._handles.append(handle)

    def remove(self) -> None:
        """Take all hooks away."""
        for handle in self._handles:
            handle.remove()
        self._handles = []
        for p in self._parameters:
            if hasattr(p.grad, _USED):
                delattr(p.grad, _USED)

    @property
    def has_unread(self) -> bool:
        """Whether numbers of updates wait to be read."""
        return bool(self._waiting)

    def take_unread(self) -> list[Update]:
        """Hand over, and forget, the updates whose numbers are still on the device, to be read with one wait.

        They are whole: a step that follows belongs to another update.
        """
        self._stepped.clear()
        waiting, self._waiting = self._waiting, []
        return waiting

    @torch.no_grad()
    def gradients_since(self) -> Literal["none", "waiting", "broken"]:
        """What backward passes since the last update have left for the next one.

        ``none``: there are no gradients, or only those of the last update. ``broken``: one is not finite, so that a
        ``GradScaler`` makes no update of them.
        """
        given = [p.grad for p in self._parameters if p.grad is not None]
        changed = [g for g in given if getattr(g, _USED, None) != g._version]
        gradients = [x for x in self._local(changed) if x.numel()]
        if not gradients:
            return "none"
        sizes = [x.to(gradients[0].device) for x in torch._foreach_norm(gradients, math.inf)]
        largest = float(torch.stack([x.float() for x in sizes]).max())  # which is nan if one of them is
        if largest == 0 and all(hasattr(g, _USED) for g in changed):
            return "none"  # they were set to zero after the update
        return "waiting" if math.isfinite(largest) else "broken"

    def _mark_gradients(self) -> None:
        """Note on each gradient that no update needs it any more, unless it changes."""
        for p in self._parameters:
            if p.grad is not None:
                setattr(p.grad, _USED, p.grad._version)

    def _due(self, step: int) -> bool:
        return bool(self.kinds) and step % self._every == 0

    @torch.no_grad()
    def _before_step(self, number: int, *_: Any) -> None:
        began = time.perf_counter()
        step = self.count + (not self._stepped or number in self._stepped)
        if self._watched(step) or (self._due(step) and "updates" in self.kinds):
            local = self._local([self._parameters[k] for k in self._of[number]])
            before = self._before.get(number, ())
            if len(before) != len(local):
                before = self._before[number] = [torch.empty_like(p) for p in local]
            torch._foreach_copy_(before, local)
        self.seconds += time.perf_counter() - began

    @torch.no_grad()
    def _after_step(self, number: int, optimizer: Optimizer, *_: Any) -> None:
        began = time.perf_counter()
        overflow = getattr(optimizer, "found_inf", None)  # a fused step that moved nothing, as a gradient was infinite
        if overflow is not None and bool(overflow):
            return
        if first := not self._stepped or number in self._stepped:
            self._stepped.clear()
            self.count += 1
        self._stepped.add(number)
        due, watched = self._due(self.count), self._watched(self.count)
        if due and first and self._waiting:
            self._full()
            self._stepped.add(number)
        rates = [[float(group["lr"]) for group in one.param_groups] for one in self.optimizers]
        self._rates = [rate for of_one in rates for rate in of_one]
        positions = self._of[number]
        parameters = [self._parameters[k] for k in positions]
        addresses = [self._addresses[k] for k in positions]
        before = self._before.get(number)
        compared = due and "updates" in self.kinds
        change: tuple[Tensor, Tensor] | None = None
        if before is not None and (watched or compared):
            sizes = self._norms(before, addresses) if compared else None
            if watched:
                changes = list(torch._foreach_sub(self._local(parameters), before))
                former = self.last_update if self.last_step == self.count else {}
                own = dict(zip([self._names[k] for k in positions], changes, strict=True))
                self.last_update = {**former, **own}
                # Groups of several rates have no common one, by which an update could be divided.
                self.last_step, self.last_rate = self.count, self._rates[0] if len(set(self._rates)) == 1 else 0.0
            else:  # nobody reads the old weights again: their memory takes the change, but for its sign
                torch._foreach_sub_(before, self._local(parameters))
                changes = before
            change = None if sizes is None else (self._norms(changes, addresses), sizes)
        if due:
            part = Part([site for k in positions for site in self._positions[k]], change=change)
            if "gradients" in self.kinds:
                part.absent = [p.grad is None for p, a in zip(parameters, addresses, strict=True) for _ in a.sites]
                gradients = [p if p.grad is None else p.grad for p in parameters]
                part.gradients = self._norms(self._local(gradients), addresses)
            if first:
                self._waiting.append(Update(self.count, ()))
            self._waiting[-1].parts.append(part)
            self._waiting[-1].rates = self._rates
            self._waiting[-1].activations |= self._seen
        self._seen = {}
        self._mark_gradients()
        self.seconds += time.perf_counter() - began

    def _norms(self, tensors: Sequence[Tensor], addresses: Sequence[Address]) -> Tensor:
        """The norm of every part, (sites,). For a sharded model one reduction sums over all ranks."""
        parts: list[Tensor] = []
        for x, address in zip(tensors, addresses, strict=True):
            parts += address.split(x) if len(address.sites) > 1 else [x]
        if any(part.dtype in _HALVES for part in parts):  # `_foreach_norm` would sum the squares in half precision
            norms = [torch.linalg.vector_norm(part, dtype=torch.float32) for part in parts]
        else:
            norms = list(torch._foreach_norm(parts))
        device = norms[0].device
        stacked = torch.stack([norm.to(device, torch.promote_types(norm.dtype, torch.float32)) for norm in norms])
        if self.sharded:  # norms do not add up over ranks, and their squares do
            squares = stacked.double().square()
            torch.distributed.all_reduce(squares)
            stacked = squares.sqrt()
        return stacked

    def _local(self, tensors: Sequence[Tensor]) -> list[Tensor]:
        """The part of each tensor that is here, and of a sparse gradient the entries that there are."""
        local = [x.to_local() if hasattr(x, "to_local") else x for x in tensors] if self.sharded else tensors
        return [x.detach().coalesce().values() if x.is_sparse else x.detach() for x in local]

    @torch.no_grad()
    def _record_norm(self, module: nn.Module, site: Site, value: Any) -> None:
        # An evaluation between two updates is no part of either.
        if not module.training or not self._due(self.count + 1):
            return
        began = time.perf_counter()
        while isinstance(value, tuple | list) and value:
            value = value[0]
        if isinstance(value, Tensor) and value.is_floating_point() and value.numel():
            x = value.detach()
            norm = torch.linalg.vector_norm(x, dtype=torch.float32 if x.dtype in _HALVES else None)
            self._seen[site] = norm / x.numel() ** 0.5
        self.seconds += time.perf_counter() - began


def read_numbers(tensors: Sequence[Tensor]) -> list[list[float]]:
    """The numbers of every tensor, by one synchronisation for each device and type."""
    groups: dict[tuple[torch.device, torch.dtype], list[int]] = {}
    for position, x in enumerate(tensors):
        groups.setdefault((x.device, x.dtype), []).append(position)
    numbers: list[list[float]] = [[] for _ in tensors]
    for positions in groups.values():
        flat = torch.cat([tensors[i].detach().flatten() for i in positions]).tolist()
        for i in positions:
            size = tensors[i].numel()
            numbers[i], flat = [float(v) for v in flat[:size]], flat[size:]
    return numbers
