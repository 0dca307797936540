"""One update after another: ``theta_t = theta_(t-1) - lr factor(t) step(g_t)``, from addressed batches and dropout.

g_t is the gradient of the mean loss over all tokens of the update's micro-batches, so that ``accumulate`` changes the
memory that an update needs and not what it is. Update t reads the micro-batches (t - 1) a + 1 to t a of the stream of
epochs. Its dropout comes from the default generator, seeded at each micro-batch with (seed, "dropout", t, number).
"""

from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field
from itertools import count, islice

import torch
from torch import Tensor
from torch.nn.utils import clip_grads_with_norm_, get_total_norm

from lnlab.compile.work import ResolvedSetting
from lnlab.execute.devices import autocast, device_kind
from lnlab.nn.modes import switch
from lnlab.nn.seeding import seed_dropout
from lnlab.optim.optimizers import GradientsElsewhere
from lnlab.optim.schedules import warmup_factor
from lnlab.optim.uncompiled import take_step
from lnlab.probes.probe import State
from lnlab.tasks.task import Batch, Task


@dataclass(frozen=True)
class Gradient:
    """The gradient of an update, before clipping.

    Attributes:
        loss: mean training loss over the update's tokens, at the state before it.
        norm: of all parameters' gradients together, a tensor without dimensions.
        norm_value: the same as a number.
        tokens: that the loss is the mean of.
        parts: the gradient of each parameter, None if the loss does not depend on it.
        buffers: the buffers after the batches (running statistics), which the update sets.
    """

    loss: float
    norm: Tensor
    norm_value: float
    tokens: int
    parts: list[Tensor | None] = field(repr=False)
    buffers: list[Tensor] = field(repr=False)


class Updates:
    """The updates of a run from a state on. Each update changes the state."""

    def __init__(self, state: State, setting: ResolvedSetting) -> None:
        if state.optimizer is None or state.schedule is None:
            raise ValueError("a state that trains has an optimizer and a schedule")
        train = setting["train"]
        self.state = state
        self.optimizer = state.optimizer
        self.schedule = state.schedule
        self.setting = setting
        self.device = torch.device(device_kind(setting))
        self.accumulate: int = train["accumulate"]
        self.clip: float | None = train["clip"]
        self.rates = [group["initial_lr"] for group in self.optimizer.param_groups]
        self.parameters = dict(state.model.named_parameters())
        self._parameters = list(self.parameters.values())
        self._buffers = list(state.model.buffers())
        self._train = switch(state.model)
        self._stream = training_stream(state.task, state.step * self.accumulate)
        self._next_batches: list[Batch] = []
        self._next_gradient: Gradient | None = None

        def named_gradient() -> dict[str, Tensor]:
            # Zeros where the loss does not depend on a parameter, which a probe would otherwise have to tell apart.
            entries = zip(self.parameters.items(), self.gradient().parts, strict=True)
            return {name: torch.zeros_like(p) if part is None else part for (name, p), part in entries}

        state.next_gradient = named_gradient
        state.next_batches = self.batches

    def batches(self) -> list[Batch]:
        """The micro-batches of the next update. They are read once and then kept."""
        self._next_batches = self._next_batches or list(islice(self._stream, self.accumulate))
        return self._next_batches

    def gradient(self) -> Gradient:
        """The gradient of the next update. It is computed once and then kept."""
        if self._next_gradient is not None:
            return self._next_gradient
        losses = []
        tokens = 0
        before = [buffer.clone() for buffer in self._buffers]
        self._train(True)
        optimizer = self.optimizer
        point = optimizer.at_gradient_point() if isinstance(optimizer, GradientsElsewhere) else nullcontext()
        with point, torch.enable_grad():
            for number, batch in enumerate(self.batches()):
                seed_dropout(self.state.draw("dropout", self.state.step + 1, number), self.device)
                with autocast(self.setting):
                    loss, units = self.state.task.loss(self.state.model, batch)
                loss.backward()  # type: ignore[no-untyped-call]
                losses.append(loss.detach())
                tokens += units
        self._train(False)
        parts = [p.grad for p in self._parameters]
        self._clear_gradients()
        buffers = [buffer.clone() for buffer in self._buffers]
        self._set_buffers(before)  # probes see the state before the update: running statistics move with it
        present = [part for part in parts if part is not None]
        torch._foreach_div_(present, tokens)  # in place and in one call, which torch has no public name for
        summed, norm = torch.stack(losses).sum(), get_total_norm(present)
        summed_loss, norm_value = read_scalars(summed, norm)
        self._next_gradient = Gradient(
            loss=summed_loss / tokens,
            norm=norm,
            norm_value=norm_value,
            tokens=tokens,
            parts=parts,
            buffers=buffers,
        )
        return self._next_gradient

    def apply_update(self) -> float:
        """Apply the next update.

        Returns:
            Its learning rate.
        """
        gradient = self.gradient()
        for parameter, part in zip(self._parameters, gradient.parts, strict=True):
            parameter.grad = part
        self._set_buffers(gradient.buffers)
        if self.clip is not None:
            clip_grads_with_norm_(self._parameters, self.clip, gradient.norm)
        factor = self.schedule(self.state.step + 1)
        for group, rate in zip(self.optimizer.param_groups, self.rates, strict=True):
            own = warmup_factor(self.state.step + 1, group.get("warmup_steps", 0))
            group["lr"] = rate * factor * own
        first = float(self.optimizer.param_groups[0]["lr"])
        take_step(self.optimizer)
        self._clear_gradients()
        self._next_gradient = None
        self._next_batches = []
        self.state.step += 1
        return first

    def _clear_gradients(self) -> None:
        for parameter in self._parameters:
            parameter.grad = None

    def _set_buffers(self, values: list[Tensor]) -> None:
        for buffer, value in zip(self._buffers, values, strict=True):
            buffer.copy_(value)


def read_scalars(*tensors: Tensor) -> list[float]:
    """The exact values of tensors with one entry. If they share device and type, one transfer reads them all."""
    if len({(x.device, x.dtype) for x in tensors}) > 1:
        return [float(x) for x in tensors]
    numbers: list[float] = torch.stack([x.detach().reshape(()) for x in tensors]).tolist()
    return numbers


def training_stream(task: Task, start: int) -> Iterator[Batch]:
    """The training batches of one epoch after another, from number ``start`` on."""
    length = task.epoch_batches
    epoch, skipped = (0, start) if length is None else divmod(start, length)
    for number in count(epoch):
        yield from islice(task.batches("train", "train", number), skipped, None)
        skipped = 0
