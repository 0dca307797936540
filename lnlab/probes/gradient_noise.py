"""``tr Σ / ‖μ‖²``: the batch at which the noise of the gradient is as large as the gradient (McCandlish et al., 2018).

With Σ the covariance of the gradient of one token or sentence, and g_b the gradient of batch b per item of its n_b,
E‖n_b g_b‖² = n_b² ‖μ‖² + n_b tr Σ. Products of different batches give an estimate u of ‖μ‖² without bias, as in
``gradient_norm``, and then

    tr Σ = (Σ ‖n_b g_b‖² - u Σ n_b²) / Σ n_b.

Tokens of one sentence are not independent. What they share counts as noise, so that the scale is that of tokens as they
come in sentences.
"""

from collections.abc import Iterator
from typing import Annotated, Literal

import torch
from pydantic import Field

from lnlab.probes.gradient_norm import frobenius_norms
from lnlab.probes.probe import State, evaluating, probes, with_gradient
from lnlab.probes.support.known_sites import of_the_model
from lnlab.probes.support.loss_gradients import accumulator, gradients_of
from lnlab.tables import Row
from lnlab.vocabulary.gradients import GRADIENT_NOISE

_SIGNAL, _NOISE, _SCALE = GRADIENT_NOISE


@probes.register(
    "gradient_noise",
    table="sites",
    passes=with_gradient,
    quantities=GRADIENT_NOISE,
    sites=lambda *_: of_the_model(tuple(GRADIENT_NOISE)),
    any_model=lambda _: True,
)
def gradient_noise(
    state: State,
    *,
    batches: Annotated[int, Field(ge=2)] = 8,
    split: Literal["train", "validation", "test"] = "train",
) -> Iterator[Row]:
    """``tr Σ / ‖μ‖²``: the gradient noise scale, in tokens or sentences (McCandlish et al., 2018, Appendix A.1).

    Of all trained parameters together, with ‖μ‖² and tr Σ beside it, each without bias; their quotient has some. There
    is no scale where the estimate of ‖μ‖² is not positive: more batches would be needed. Dropout is off.
    """
    parameters = [p for p in state.model.parameters() if p.requires_grad]
    sums = [accumulator(p) for p in parameters]
    squares, counts = [], []
    with evaluating(state.model), torch.enable_grad():
        for batch in state.batches(batches, split):
            loss, count = state.task.loss(state.model, batch)
            parts = gradients_of(loss, parameters)
            torch._foreach_add_(sums, parts)
            squares.append(frobenius_norms(parts).square().sum().item())
            counts.append(count)
    n = torch.tensor(counts, dtype=torch.float64)
    total, own = frobenius_norms(sums).square().sum().item(), sum(squares)
    signal = (total - own) / (n.sum().square() - n.square().sum()).item()
    noise = (own - signal * n.square().sum().item()) / n.sum().item()
    yield {"quantity": _SIGNAL, "value": signal}
    yield {"quantity": _NOISE, "value": noise}
    if signal > 0:
        yield {"quantity": _SCALE, "value": noise / signal}
