"""What each update of an optimizer does, read in the optimizer's own hooks: no pass of the model is added.

Gradients are read after ``step``, where alone they are those that the optimizer used: before it, those of a closure
(LBFGS, Lightning) are not there yet, and fused optimizers under a ``GradScaler`` still have them scaled. Old weights
are read before it. A step that a ``GradScaler`` skips is none.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from lnlab.errors import LabError
from lnlab.issues import Issue
from lnlab.nn.site import Site, StreamPoint
from lnlab.own_model.addresses import Address

HOOKS = ("gradients", "updates", "activations")
_HALVES = (torch.float16, torch.bfloat16)


@dataclass
class Update:
    """Numbers of one update, which wait on their device.

    Attributes:
        step: updates made, this one included.
        rate: the learning rate of the first group of parameters.
        absent: by site of a parameter, whether it has no gradient.
        gradients: norms by site of a parameter, or None.
        change: norms by site of the change, and of what was changed, or None.
        activations: root mean squares by site of an activation.
    """

    step: int
    rate: float
    absent: Sequence[bool] = ()
    gradients: Tensor | None = None
    change: tuple[Tensor, Tensor] | None = None
    activations: Mapping[Site, Tensor] = field(default_factory=dict)


class UpdateHooks:
    """Hooks on an optimizer, and on modules where activations are recorded.

    Attributes:
        count: updates made.
        sites: of the parameters, in the order of the numbers of a record.
        last_update: by the name of a parameter the change by the last update that ``watched`` asked for, and the step
            and the learning rate of that one.
        seconds: spent in hooks.
    """

    def __init__(
        self,
        *,
        module: nn.Module,
        optimizer: Optimizer,
        addresses: Mapping[str, Address],
        points: Mapping[Site, StreamPoint],
        kinds: Sequence[str],
        every: int,
        step: int,
        watched: Callable[[int], bool],
        full: Callable[[], None],
    ) -> None:
        """``full`` is called when numbers of an earlier update wait to be read and those of another come."""
        updated = {id(p) for group in optimizer.param_groups for p in group["params"]}
        named = [(name, p) for name, p in module.named_parameters() if id(p) in updated]
        if not named:
            what = "the optimizer updates no parameter of this model"
            raise LabError(Issue("unsupported", "attach", what, "attach after moving or sharding it"))
        self.count = step
        self.optimizer = optimizer
        self.kinds = tuple(kinds)
        self.last_update: dict[str, Tensor] = {}
        self.last_step = -1
        self.last_rate = 0.0
        self.seconds = 0.0
        self.sharded = any(hasattr(p, "to_local") for _, p in named)
        self._names = [name for name, _ in named]
        self._parameters = [p for _, p in named]
        self._addresses = [addresses[name] for name in self._names]
        self.sites = [site for address in self._addresses for site in address.sites]
        self._every = every
        self._watched = watched
        self._full = full
        self._before: list[Tensor] | None = None
        self._seen: dict[Site, Tensor] = {}
        self._waiting: list[Update] = []
        self._handles: list[Any] = [
            optimizer.register_step_pre_hook(self._before_step),
            optimizer.register_step_post_hook(self._after_step),
        ]
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

    def take_unread(self) -> list[Update]:
        """Hand over, and forget, the updates whose numbers are still on the device, to be read with one wait."""
        waiting, self._waiting = self._waiting, []
        return waiting

    def _due(self, step: int) -> bool:
        return bool(self.kinds) and step % self._every == 0

    @torch.no_grad()
    def _before_step(self, *_: Any) -> None:
        began = time.perf_counter()
        step = self.count + 1
        if self._watched(step) or (self._due(step) and "updates" in self.kinds):
            local = self._local(self._parameters)
            if self._before is None or len(self._before) != len(local):
                self._before = [torch.empty_like(p) for p in local]
            torch._foreach_copy_(self._before, local)
        self.seconds += time.perf_counter() - began

    @torch.no_grad()
    def _after_step(self, optimizer: Optimizer, *_: Any) -> None:
        began = time.perf_counter()
        overflow = getattr(optimizer, "found_inf", None)  # a fused step that moved nothing, as a gradient was infinite
        if overflow is not None and bool(overflow):
            return
        self.count += 1
        due, watched = self._due(self.count), self._watched(self.count)
        if due and self._waiting:
            self._full()
        rate = float(optimizer.param_groups[0]["lr"])
        compared = due and "updates" in self.kinds
        change: tuple[Tensor, Tensor] | None = None
        if self._before is not None and (watched or compared):
            sizes = self._norms(self._before) if compared else None
            if watched:
                changes = list(torch._foreach_sub(self._local(self._parameters), self._before))
                self.last_update = dict(zip(self._names, changes, strict=True))
                self.last_step, self.last_rate = self.count, rate
            else:  # nobody reads the old weights again: their memory takes the change, but for its sign
                torch._foreach_sub_(self._before, self._local(self._parameters))
                changes = self._before
            change = None if sizes is None else (self._norms(changes), sizes)
        if due:
            update = Update(self.count, rate, change=change, activations=self._seen)
            if "gradients" in self.kinds:
                update.absent = [
                    p.grad is None for p, a in zip(self._parameters, self._addresses, strict=True) for _ in a.sites
                ]
                gradients = [p if p.grad is None else p.grad for p in self._parameters]
                update.gradients = self._norms(self._local(gradients))
            self._waiting.append(update)
        self._seen = {}
        self.seconds += time.perf_counter() - began

    def _norms(self, tensors: Sequence[Tensor]) -> Tensor:
        """The norm of every part, (sites,). For a sharded model one reduction sums over all ranks."""
        parts: list[Tensor] = []
        for x, address in zip(tensors, self._addresses, strict=True):
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
        """The part of each tensor that is here."""
        if not self.sharded:
            return [x.detach() for x in tensors]
        return [x.to_local().detach() if hasattr(x, "to_local") else x.detach() for x in tensors]

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
