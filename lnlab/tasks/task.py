"""What every task offers, its batches, and the registry of tasks.

A task builder is ``(draw, roots, *, ...) -> Task``. A task can be built where its corpus is absent: text is read when
the first batch is asked for.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

from torch import Tensor, nn

from lnlab.registry import Registry

PAD = 0


@dataclass(frozen=True)
class Batch:
    """Sentence pairs as int64 tokens, padded with 0.

    Attributes:
        source: (batch, source length); each sentence ends with the end mark.
        target_in: (batch, target length); what the decoder reads: begins with the begin mark.
        target_out: (batch, target length); what it must say: ends with the end mark.
    """

    source: Tensor
    target_in: Tensor
    target_out: Tensor

    @property
    def tokens(self) -> int:
        """Target tokens that count: end marks included, begin marks and padding left out."""
        return int(self.target_out.count_nonzero())


class Task(Protocol):
    """A seeded stream of batches and its loss.

    Attributes:
        size: rows of the model's tables: the declared vocabulary, or the number of labels.
        unit: what ``loss`` counts: ``tokens`` or ``sentences``.
    """

    @property
    def size(self) -> int:
        """Rows of the model's tables."""
        ...

    @property
    def unit(self) -> str:
        """What a count counts."""
        ...

    def batches(self, split: str, purpose: str, epoch: int = 0) -> Iterator[Batch]:
        """Every batch of one epoch over a split, once, in an order addressed by (seed, purpose, split, epoch)."""
        ...

    def loss(self, model: nn.Module, batch: Batch) -> tuple[Tensor, int]:
        """The training loss of a batch: its sum in nats, and the count it is the sum over."""
        ...

    def nll(self, model: nn.Module, batch: Batch) -> tuple[Tensor, int]:
        """As ``loss``, without label smoothing: what is compared across settings."""
        ...


tasks: Registry[Callable[..., Task]] = Registry("task")
