"""``‖F(y) - F(y cut after t)‖ / ‖F(y)‖`` over positions up to t: the dependence of logits on later tokens.

The output of a causal stack at position t depends on the tokens up to t alone, as in translation, where later ones do
not exist yet. A layer norm with mean and variance of each token (Ba et al., 2016) preserves this. With the statistics
of a sentence's whole n × d matrix,

    (x - mean over n and d of x) / sqrt(var over n and d of x + eps) * scale + shift,

every position reads those after it. F is the model's logits, t is half of the sentence's target, and each sentence is
alone, without padding. The squared norms are summed over sentences. The computation is in float64, so that logits that
do not depend on the future differ only by rounding.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Annotated, Literal

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn.functional import layer_norm

from lnlab.errors import LabError
from lnlab.issues import Issue
from lnlab.nn.transformer import stacks
from lnlab.probes.batch_dependence import relative_distance, single_sentence
from lnlab.probes.probe import State, evaluating, probes
from lnlab.probes.support.float64_copy import doubles
from lnlab.probes.support.known_sites import of_the_model
from lnlab.tables import Row
from lnlab.tasks.task import Batch
from lnlab.vocabulary.outputs import FUTURE_DEPENDENCE


@probes.register(
    "future_dependence",
    table="sites",
    passes=lambda choice: 4.0 * choice["batches"],  # whole and cut, with both kinds of statistics
    quantities=FUTURE_DEPENDENCE,
    sites=lambda *_: of_the_model(tuple(FUTURE_DEPENDENCE)),
    causal=True,
)
@torch.no_grad()
def future_dependence(
    state: State,
    *,
    batches: Annotated[int, Field(ge=1)] = 1,
    split: Literal["train", "validation", "test"] = "train",
) -> Iterator[Row]:
    """``‖F(y) - F(y cut after t)‖ / ‖F(y)‖``: how answers depend on later tokens (Vaswani et al., 2017, Section 3.1).

    ``future_dependence``: the model as it is; ``future_dependence_of_matrix_norm``: every layer norm has the mean and
    variance of all entries of a sentence (Ba et al., 2016, have those of one token). Dropout is off.
    """
    if "decoder" not in stacks(state.model):
        what = f"the model {type(state.model).__name__} has no causal stack, and so no later tokens"
        raise LabError(Issue("unsupported", "", what, "leave the probe out, or choose a model with a decoder"))
    weights = doubles(state.model)
    sampled = state.batches(batches, split)

    def logits(batch: Batch) -> Tensor:
        answers: Tensor = functional_call(state.model, weights, (batch,))[0]  # of the only sentence of its batch
        return answers

    with evaluating(state.model):
        yield {"quantity": "future_dependence", "value": _change(logits, sampled)}
        with matrix_statistics(state.model):
            yield {"quantity": "future_dependence_of_matrix_norm", "value": _change(logits, sampled)}


@contextmanager
def matrix_statistics(model: nn.Module) -> Iterator[None]:
    """Make every layer norm of (1, length, width) take its mean and variance over length and width inside the block."""

    def over_matrix(norm: nn.LayerNorm, inputs: tuple[Tensor, ...], _: Tensor) -> Tensor:
        normed = layer_norm(inputs[0], inputs[0].shape[1:], eps=norm.eps)
        return normed * norm.weight + norm.bias

    with ExitStack() as hooks:
        for module in model.modules():
            if isinstance(module, nn.LayerNorm):
                hooks.callback(module.register_forward_hook(over_matrix).remove)
        yield


def _change(logits_of: Callable[[Batch], Tensor], batches: list[Batch]) -> float:
    """``‖F(y) - F(y cut after t)‖ / ‖F(y)‖`` over the first half of every sentence, with logits (length, size)."""

    def pairs() -> Iterator[tuple[Tensor, Tensor]]:  # one sentence at a time: logits in float64 are large
        for sentence in (single_sentence(batch, row) for batch in batches for row in range(len(batch.target_in))):
            half = (sentence.target_in.shape[1] + 1) // 2
            cut = replace(sentence, target_in=sentence.target_in[:, :half], target_out=sentence.target_out[:, :half])
            yield logits_of(sentence)[:half], logits_of(cut)

    return relative_distance(pairs())
