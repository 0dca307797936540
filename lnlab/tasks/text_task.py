"""The common part of tasks on text whose targets are tokens: vocabulary, tokenizer and smoothed cross-entropy."""

from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor, nn

from lnlab.corpora.vocabulary.tokenizers import Tokenizer
from lnlab.randomness import Draw
from lnlab.registry import Roots
from lnlab.tasks.cross_entropy import squared_log_partition, token_cross_entropy
from lnlab.tasks.task import Batch


@dataclass(frozen=True, kw_only=True)
class TokenizedTask:
    """The parameters of every task of one replicate that reads text.

    Attributes:
        draw: the randomness of the replicate.
        roots: the folders that are searched for data.
        tokenizer: maps texts and a vocabulary to a tokenizer.
        size: rows of the model's tables: the declared vocabulary.
        label_smoothing: eps.
    """

    draw: Draw
    roots: Roots
    tokenizer: Callable[..., Tokenizer]
    size: int
    label_smoothing: float


@dataclass(frozen=True, kw_only=True)
class TextTask(TokenizedTask):
    """The task of one replicate. Text is read at the first batch. Batches depend on ``draw``, the encoding does not.

    Attributes:
        z_loss: the weight of (log Z)² in the loss that is trained on.
        unit: the unit over which a loss is averaged.
    """

    z_loss: float = 0.0
    unit: str = "tokens"

    @property
    def labels(self) -> int:
        """Rows of the output: the vocabulary again."""
        return self.size

    def loss(self, model: nn.Module, batch: Batch) -> tuple[Tensor, int]:
        """The label-smoothed cross-entropy of a batch: its sum in nats, and the number of target tokens."""
        return self._loss_of(model(batch), batch), batch.tokens

    def nll(self, model: nn.Module, batch: Batch) -> tuple[Tensor, int]:
        """The negative log-likelihood of a batch: its sum in nats, and the number of target tokens."""
        return token_cross_entropy(model(batch), batch.target_out, 0.0), batch.tokens

    def scores(self, model: nn.Module, batch: Batch) -> tuple[dict[str, Tensor], int]:
        """The sums of ``loss`` and ``nll`` over the target tokens of a batch, and their number."""
        logits = model(batch)
        return {
            "loss": self._loss_of(logits, batch),
            "nll": token_cross_entropy(logits, batch.target_out, 0.0),
        }, batch.tokens

    def _loss_of(self, logits: Tensor, batch: Batch) -> Tensor:
        loss = token_cross_entropy(logits, batch.target_out, self.label_smoothing)
        # Left out and not multiplied by 0, as log Z costs another pass over the logits.
        return loss + self.z_loss * squared_log_partition(logits, batch.target_out) if self.z_loss else loss
