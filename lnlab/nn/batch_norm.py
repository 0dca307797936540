"""``(x - mean) / sqrt(var + eps) * scale + shift``, over all tokens of the batch (Ioffe and Szegedy, 2015).

In training the norm uses the statistics of the batch, with the biased variance. They move the running statistics by
``momentum``, with the unbiased variance. Evaluation uses the running statistics. In a fresh model these are 0 and 1, so
that it has no norm at all in evaluation. Measurements of a model therefore use ``batch_statistics``.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Annotated

import torch
from pydantic import Field
from torch import Tensor, nn

from lnlab.nn.norms import NormEpsilon, norms
from lnlab.nn.pooled import Pooled, masked_moments


@norms.register("batch", statistics="batch")
class BatchNorm(Pooled):
    """``(x - mean) / sqrt(var + eps) * scale + shift``: over the tokens of a batch (Ioffe and Szegedy, 2015).

    Every token weighs the same, whatever its sentence; padding is left out. ``naive`` counts padding as tokens, and is
    then ``torch.nn.BatchNorm1d``, as it is used when nobody thinks of padding. ``momentum`` is PyTorch's; the masked
    batch norm of Wang et al. (2022) has 0.05. With 0.1 half of the weight of the running statistics is on the last 7
    batches.
    """

    running_mean: Tensor
    running_var: Tensor

    def __init__(
        self,
        width: int,
        *,
        eps: NormEpsilon = 1e-5,
        momentum: Annotated[float, Field(gt=0, le=1)] = 0.1,
        naive: bool = False,
    ) -> None:
        super().__init__(width, eps)
        self.momentum = momentum
        self.naive = naive
        self.observed = False
        self.register_buffer("running_mean", torch.zeros(width))
        self.register_buffer("running_var", torch.ones(width))

    def normalized(self, x: Tensor) -> Tensor:
        """(batch, length, width) -> the same shape."""
        mean, variance = self.running_mean, self.running_var
        if self.training or self.observed:
            mean, variance, number = masked_moments(x, None if self.naive else self.present, (0, 1))
            if not self.observed:
                self._update_running(mean, variance, number)
        return (x - mean) / (variance + self.eps).sqrt()

    @torch.no_grad()
    def _update_running(self, mean: Tensor, variance: Tensor, number: Tensor) -> None:
        """Move the running mean and variance towards those of a batch with ``number`` tokens."""
        # A batch of one token has no unbiased variance. Its biased one, zero, counts.
        unbiased = variance * (number / (number - 1).clamp(min=1))
        self.running_mean.lerp_(mean.flatten(), self.momentum)
        self.running_var.lerp_(unbiased.flatten(), self.momentum)


@norms.register("frozen_batch", statistics="batch")
class FrozenBatchNorm(BatchNorm):
    """``(x - m) / sqrt(v + eps) * scale + shift``: running m and v from batch ``after`` on (Ioffe and Szegedy, 2015).

    Until then it is ``batch``; from then on its running statistics are no longer moved, also in training. So does a
    batch norm whose model is put into evaluation mode for its first validation and never back into training mode. With
    0 it is no norm: m and v are 0 and 1 for good, and a scale and a shift a coordinate remain. ``after`` counts
    training batches; ``momentum`` and ``naive`` are those of ``batch``.
    """

    training_batches: Tensor

    def __init__(
        self,
        width: int,
        *,
        after: Annotated[int, Field(ge=0)] = 100,
        eps: NormEpsilon = 1e-5,
        momentum: Annotated[float, Field(gt=0, le=1)] = 0.1,
        naive: bool = False,
    ) -> None:
        super().__init__(width, eps=eps, momentum=momentum, naive=naive)
        self.after = after
        self.register_buffer("training_batches", torch.zeros((), dtype=torch.int64))

    def normalized(self, x: Tensor) -> Tensor:
        """(batch, length, width) -> the same shape."""
        # On the meta device there are shapes and no numbers, and so no batch was counted.
        if self.after == 0 or (not x.is_meta and int(self.training_batches) >= self.after):
            return (x - self.running_mean) / (self.running_var + self.eps).sqrt()
        if self.training and not self.observed:
            self.training_batches += 1
        return super().normalized(x)


@contextmanager
def batch_statistics(model: nn.Module) -> Iterator[None]:
    """Make norms over batches use the statistics of the batch at hand inside the block, in either mode.

    The running statistics do not change. This holds for lnlab's norms and for any other with running statistics:
    torch's, those derived from torch's, and those of other libraries. Norms that never take a batch's statistics use
    their running ones, as in training.
    """
    with ExitStack() as restored:
        for norm in norms_over_batches(model):
            if isinstance(norm, BatchNorm):
                norm.observed = True
                restored.callback(setattr, norm, "observed", False)
            elif type(norm).forward in _TORCHS_FORWARDS:  # without running statistics they take the batch's
                restored.callback(norm._buffers.update, dict(norm._buffers))
                restored.callback(setattr, norm, "track_running_stats", norm.track_running_stats)
                norm._buffers.update(running_mean=None, running_var=None)
                vars(norm)["track_running_stats"] = False
            elif not getattr(norm, "observed", False):
                _train_alone(norm, restored)
        yield


def norms_over_batches(model: nn.Module) -> list[nn.Module]:
    """Every module with running statistics."""
    names = {"running_mean", "running_var"}
    return [m for m in model.modules() if names <= m._buffers.keys() and m._buffers["running_mean"] is not None]


_TORCHS_FORWARDS = {kind.forward for kind in (nn.BatchNorm1d, nn.SyncBatchNorm, nn.InstanceNorm1d)}
"""The forward methods of norms that take the batch's statistics where they have no running ones."""


def _train_alone(norm: nn.Module, restored: ExitStack) -> None:
    """Put a norm into training mode until ``restored`` is closed, and then give it its buffers and its mode back.

    It is for norms whose forward pass lnlab does not know: training mode is then the only way to the statistics of the
    batch. The attribute ``observed``, set meanwhile, tells code that copies a model for evaluation to leave that mode.
    """
    kept = [(buffer, buffer.clone()) for buffer in norm._buffers.values() if buffer is not None]
    training = norm.training

    def put_back() -> None:
        with torch.no_grad():
            for buffer, values in kept:
                buffer.copy_(values)
        vars(norm)["training"] = training
        del vars(norm)["observed"]

    restored.callback(put_back)
    vars(norm).update(training=True, observed=True)  # `setattr` of a module looks through its parameters each time
