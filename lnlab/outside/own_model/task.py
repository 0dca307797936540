"""A user's batches and loss, as the task that probes read."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from numbers import Number
from typing import Any

import torch
from torch import Tensor, nn

from lnlab.curvature.ranks import Ranks
from lnlab.errors import LabError
from lnlab.issues import Issue
from lnlab.nn.site import AddressedModel
from lnlab.outside.own_model.boundary import guarded
from lnlab.outside.own_model.patterns import refuse

_READ = "go through the batches without lnlab: it fails there, too"
_OF_MAPPING = "return its loss: output.loss, or output['loss']"
OwnLoss = Callable[[Any, Any], tuple[Tensor, float] | Tensor]
"""From a model and a batch to the sum of the loss and the count that it is the sum over, or to a mean."""


class NotFiniteError(LabError):
    """The loss of a batch, or its gradient, is no number: so ends a run that diverged."""


class OwnTask:
    """Batches in their order, each read once and then remembered, and their loss. Fulfils ``tasks.task.Task``.

    Args:
        batches: any iterable. No more of it is read than a probe asks for, so that it may have no end.
        loss: of a model and a batch. A mean is the mean over one item: then each batch weighs the same.
        ranks: the processes of which each has batches of its own.
    """

    size = labels = 0
    unit = "items"
    epoch_batches = None

    def __init__(self, batches: Iterable[Any], loss: OwnLoss, ranks: Ranks | None = None) -> None:
        self.ranks = ranks or Ranks()
        if isinstance(batches, Mapping | str | bytes) or not isinstance(batches, Iterable):
            refuse(f"batches is {type(batches).__name__}, expected several batches", "write [batch] for a single one")
        if not callable(loss):
            refuse(f"loss is {type(loss).__name__}, expected a function", "write loss(model, batch) -> (sum, count)")
        with guarded("reading the batches", _READ):
            self._iterator = iter(batches)
        self._read: list[Any] = []
        self._loss = loss

    def available(self, n: int) -> int:
        """How many batches there are, at most ``n``."""
        with guarded("reading the batches", _READ):
            self._read += islice(self._iterator, max(0, n - len(self._read)))
        return min(n, len(self._read))

    def batches(self, split: str, purpose: str, epoch: int = 0) -> Iterator[Any]:  # noqa: ARG002
        """Every batch, in its order, for any purpose and epoch.

        Raises:
            LabError: a split other than ``train`` is asked for.
        """
        if split != "train":
            refuse(f"there is no split '{split}': the batches are one set", "leave 'split' out")
        position = 0
        while self.available(position + 1) > position:
            yield self._read[position]
            position += 1

    def loss(self, model: nn.Module, batch: Any) -> tuple[Tensor, Any]:
        """The sum of the loss over a batch, with its graph, and the count that it is the sum over.

        Raises:
            LabError: it fails, is no tensor with one number, is not finite, has no graph, or counts nothing.
        """
        with guarded("the forward pass"):
            returned: Any = self._loss(model.module if isinstance(model, AddressedModel) else model, batch)
        if isinstance(model, AddressedModel):
            model.end_pass()
        total, number = _sum_and_count(returned)
        if not math.isfinite(float(total.detach())):
            what = f"the loss of a batch is {float(total.detach())}"
            raise NotFiniteError(
                Issue("unsupported", "measure", what, "look for it in the batch or in the initial weights")
            )
        if not 0 < number < math.inf:
            refuse(f"the loss is a sum over {number:g} items, expected a positive count", "count what it sums over")
        if torch.is_grad_enabled() and not total.requires_grad:
            refuse("the loss has no graph", "do not detach it, and use no torch.no_grad() in it")
        return total.reshape(()), number

    def nll(self, model: nn.Module, batch: Any) -> tuple[Tensor, Any]:
        """The loss: nothing is known of a smoothing in it."""
        return self.loss(model, batch)

    def scores(self, model: nn.Module, batch: Any) -> tuple[dict[str, Tensor], Any]:
        """The sum of the loss by its name, and its count."""
        total, count = self.loss(model, batch)
        return {"loss": total}, count

    def unigram_entropy(self) -> None:
        """Unknown."""


def _sum_and_count(returned: Any) -> tuple[Tensor, float]:
    """What a loss returned, read: its sum and its count, or its mean and 1.

    Raises:
        LabError: it is something else.
    """
    if isinstance(returned, Mapping) or hasattr(returned, "loss"):
        name = type(returned).__name__
        refuse(f"the loss returned {name}, expected a tensor or (sum, count)", _OF_MAPPING)
    pair = isinstance(returned, tuple | list)
    if pair and len(returned) != 2:
        what = f"the loss returned {type(returned).__name__} of {len(returned)}, expected a tensor or (sum, count)"
        refuse(what, "return the loss alone, or its sum with the count that it is the sum over")
    total, count = returned if pair else (returned, 1)
    if not isinstance(total, Tensor):
        remedy = "return the loss itself, without .item()" if isinstance(total, Number) else "return the loss itself"
        if isinstance(total, Number) and isinstance(count, Tensor):
            remedy = "write the sum first, then the count"
        refuse(f"the loss returned {type(total).__name__}, expected a tensor or (sum, count)", remedy)
    if total.numel() != 1:
        refuse(f"the loss has the shape {tuple(total.shape)}, expected one number", "return its sum or its mean")
    if not total.is_floating_point():
        refuse(f"the loss is {total.dtype}, expected a real number with a fraction", "return a mean or a sum of losses")
    if isinstance(count, Tensor) and (count.numel() != 1 or count.requires_grad or count.is_complex()):
        kind = "with a graph" if count.numel() == 1 else f"of shape {tuple(count.shape)}"
        what = f"the second of the pair is a tensor {kind}, expected a count"
        refuse(what, "return the loss alone, or its sum with the count that it is the sum over")
    try:
        return total, float(count)
    except (TypeError, ValueError, OverflowError):
        what = f"the second of the pair is {type(count).__name__}, expected a count"
        refuse(what, "return the loss alone, or its sum with the count that it is the sum over")
