"""``L(W - α g), ‖∇L(W - α g) - g‖``: loss and gradient on the line of the next step of gradient descent.

g = ∇L(W) is the gradient on the batch of the next update, and every evaluation uses that batch and its dropout again.
Santurkar et al. (2018, Section 3.1) show the range of the loss, the range of the change of the gradient ("gradient
predictiveness"), and the largest change of the gradient over the distance ("effective β-smoothness"), over step sizes α
around the rate lr. Yu (2024) calls max |L(W - α g) - L(W)| and max ‖∇L(W - α g) - g‖ over 0 < α <= lr "Lipschitz" and
"smoothness". Neither is divided by the distance α ‖g‖, so that they grow with lr and are no constants of the loss. They
are called ``loss_deviation`` and ``gradient_deviation`` here. The corresponding constants are ``effective_lipschitz``
and ``effective_smoothness``.
"""

from collections.abc import Iterator, Mapping
from typing import Annotated

import torch
from pydantic import Field

from lnlab.probes.probe import State, probes
from lnlab.probes.support.known_sites import along_a_line, of_the_model
from lnlab.probes.support.next_update_loss import NextUpdateLoss, joint_norm
from lnlab.probes.support.training_state import next_rate
from lnlab.tables import Row
from lnlab.vocabulary.curvature import ALONG_STEP

LOSS, CHANGE = "loss_along_step", "gradient_change_along_step"
Positive = Annotated[float, Field(gt=0)]
Line = Mapping[float, tuple[float, float]]
"""The loss at W - α g, and how far its gradient is from g, by α in units of the rate."""


@probes.register(
    "along_step",
    table="lines",
    # A gradient at every point of the line, and one at its start.
    passes=lambda choice: 3.0 * (1 + len(all_multiples(choice["points"], choice["reach"]))),
    quantities=ALONG_STEP,
    sites=lambda _, choice: {
        **of_the_model(tuple(ALONG_STEP)),
        **along_a_line([LOSS], [0.0, *all_multiples(choice["points"], choice["reach"])]),
        **along_a_line([CHANGE], all_multiples(choice["points"], choice["reach"])),
    },
    ahead=lambda _: True,
)
def along_step(
    state: State, *, points: Annotated[int, Field(ge=2)] = 8, reach: tuple[Positive, Positive] = (0.5, 4.0)
) -> Iterator[Row]:
    """``L(W - α g), ‖∇L(W - α g) - g‖``: loss and gradient along the next step of descent (Santurkar et al., 2018).

    ``x`` is α in units of the next update's rate. ``loss_deviation`` and ``gradient_deviation``, which Yu (2024) calls
    Lipschitz and smoothness, are the largest changes over ``points`` places up to the rate. Over as many from one end
    of ``reach`` to the other, in geometric progression, are the bands of the loss and of the change of the gradient
    (gradient predictiveness), and the largest ratios to the distance: of the change of the gradient (effective
    β-smoothness) and of that of the loss. On a quadratic, descent is stable if the rate times the effective smoothness
    is below 2 along every direction.

    The direction is the gradient, before clipping, whatever the optimizer makes of it. In training mode, with the
    update's own dropout; norms over batches take the batch's statistics and remember nothing. Weights are never moved.
    A rate of 0 leads nowhere, and has no rows.

    Raises:
        LabError: no update will be made.
    """
    rate = next_rate(state)
    if rate == 0:
        return
    loss = NextUpdateLoss(state)
    start = loss.at(loss.start)
    yield {"quantity": LOSS, "x": 0.0, "value": start.loss}
    line: dict[float, tuple[float, float]] = {}
    for x in all_multiples(points, reach):
        point = loss.at([p - x * rate * g for p, g in zip(loss.start, start.gradient, strict=True)])
        change = joint_norm([a - b for a, b in zip(point.gradient, start.gradient, strict=True)])
        line[x] = point.loss, change
        yield {"quantity": LOSS, "x": x, "value": point.loss}
        yield {"quantity": CHANGE, "x": x, "value": change}
    # What Yu (2024) calls Lipschitz and smoothness.
    losses, changes = _columns({x: line[x] for x in linear_multiples(points)})
    quantities = {
        "loss_deviation": (losses - start.loss).abs().max().item(),
        "gradient_deviation": changes.max().item(),
    }
    # The bands and the effective constants of Santurkar et al. (2018).
    spaced = {x: line[x] for x in geometric_multiples(points, reach)}
    losses, changes = _columns(spaced)
    quantities |= {
        "loss_band_low": losses.min().item(),
        "loss_band_high": losses.max().item(),
        "gradient_predictiveness_low": changes.min().item(),
        "gradient_predictiveness_high": changes.max().item(),
    }
    if length := rate * joint_norm(start.gradient):  # 0 at a stationary point, which has no effective constants
        distances = length * torch.tensor(list(spaced), dtype=torch.float64)
        quantities["effective_lipschitz"] = ((losses - start.loss).abs() / distances).max().item()
        quantities["effective_smoothness"] = (changes / distances).max().item()
    for quantity, value in quantities.items():
        yield {"quantity": quantity, "value": value}


def all_multiples(points: int, reach: tuple[float, float]) -> list[float]:
    """Every multiple of the rate at which loss and gradient are evaluated, in increasing order."""
    return sorted({*linear_multiples(points), *geometric_multiples(points, reach)})


def linear_multiples(points: int) -> list[float]:
    """Equally spaced multiples of the rate, up to 1."""
    return [i / points for i in range(1, points + 1)]


def geometric_multiples(points: int, reach: tuple[float, float]) -> list[float]:
    """Multiples of the rate between two values, in geometric progression."""
    low, high = reach
    # The ends are written out, as their powers would miss them by rounding.
    return [low, *(low * (high / low) ** (i / (points - 1)) for i in range(1, points - 1)), high]


def _columns(line: Line) -> torch.Tensor:
    # As a tensor, since its maximum over values with a NaN is NaN, and Python's is whichever comes first.
    return torch.tensor(list(line.values()), dtype=torch.float64).T
