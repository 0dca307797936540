"""``(1 - eps) nll + eps / V  sum_v -log p_v``: label-smoothed cross-entropy, summed, in nats.

The smoothing mass falls on every row of the vocabulary, the right one included (Szegedy et al., 2016, as in fairseq),
so that a perfect prediction still costs 1.246 nats per token for V = 10,000 and eps = 0.1.
"""

import torch
from torch import Tensor
from torch.nn import functional

from lnlab.corpora.vocabulary.tokenizers import PAD


def token_cross_entropy(logits: Tensor, targets: Tensor, smoothing: float) -> Tensor:
    """The sum over the target tokens: (batch, length, V) and (batch, length), padded with 0, -> ()."""
    return functional.cross_entropy(
        _at_least_float32(logits).flatten(0, 1),
        targets.flatten(),
        ignore_index=PAD,
        reduction="sum",
        label_smoothing=smoothing,
    )


def squared_log_partition(logits: Tensor, targets: Tensor) -> Tensor:
    """``Σ (log Z)²`` over the target tokens, Z = Σ_v exp(logit_v): the z-loss (Chowdhery et al., 2022, Section 5).

    (batch, length, V) and (batch, length), padded with 0, -> (). Its gradient by the logits is 2 log Z p.
    """
    log_z = _at_least_float32(logits).logsumexp(-1)
    return (log_z.square() * (targets != PAD)).sum()


def entropy(counts: Tensor) -> float:
    """``-sum p log p`` of frequencies, in nats: (classes,) -> number."""
    p = counts[counts > 0].double()
    p = p / p.sum()
    return float(-(p * torch.log(p)).sum())


def label_cross_entropy(logits: Tensor, labels: Tensor, smoothing: float) -> Tensor:
    """The sum over sentences: (batch, labels) and (batch,) -> ()."""
    return functional.cross_entropy(_at_least_float32(logits), labels, reduction="sum", label_smoothing=smoothing)


def _at_least_float32(logits: Tensor) -> Tensor:
    """Widen 16-bit logits, as a sum over a batch has no digits left in bfloat16."""
    return logits.to(torch.promote_types(logits.dtype, torch.float32))
