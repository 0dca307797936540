"""``λ_max``: the largest curvature of the loss at a state, which bounds the rates at which descent is stable.

Gradient descent on a quadratic is stable while lr λ_max(H) < 2 (Cohen et al., 2021). Adam with constant v and momentum
β1 is stable while lr λ_max(P^-1/2 H P^-1/2) < (2 + 2 β1)/(1 - β1), which is 38 at β1 = 0.9 (Cohen et al., 2022). Here P
is the diagonal of sqrt(v̂) + ε. Both bounds hold for the loss over all data. Single batches have other eigenvalues.
"""

from collections.abc import Iterator, Sequence
from typing import Annotated, Literal

import torch
from pydantic import Field
from torch import Generator, Tensor

from lnlab.curvature.guards import CurvatureError
from lnlab.curvature.operators import flatten
from lnlab.curvature.preconditioned import Preconditioned, settled_diagonal
from lnlab.curvature.sharpness import lanczos_sharpness
from lnlab.errors import LabError
from lnlab.issues import Issue
from lnlab.probes.probe import State, evaluating, probes
from lnlab.probes.rounding import noise_masks, without_noise
from lnlab.probes.support.known_sites import of_the_model
from lnlab.probes.support.loss_gradients import gradients_of
from lnlab.probes.support.operators import OPERATOR_PARTS, diagonal_at, operator_at, passes
from lnlab.probes.support.peak_memory import peak_bytes
from lnlab.probes.support.scopes import parameters_of
from lnlab.registry import Choice
from lnlab.tables import Row
from lnlab.tasks.task import Batch
from lnlab.vocabulary.curvature import SHARPNESS

Coordinates = Literal["own", "adam", "adam_at_rest"]
_NAMES = {"own": "sharpness", "adam": "adam_sharpness", "adam_at_rest": "adam_sharpness_at_rest"}
_TYPICAL = 25
"""Products that a tolerance of a hundredth needs as a rule."""


def _belongs(quantity: str, choice: Choice) -> bool:
    """Whether a quantity is that of the coordinates."""
    name = _NAMES[choice["coordinates"]]
    others = (f"normalized_{name}",) if choice["coordinates"] == "own" else (f"{name}_excluded",)
    return quantity in (name, f"{name}_residual", *others)


@probes.register(
    "sharpness",
    table="sites",
    # Of the products that are usually needed, and of the gradients from which Adam's v is estimated: 3 passes each, as
    # a backward pass costs about two forward passes.
    passes=lambda choice: (
        float(choice["batches"]) * passes("hessian", min(choice["steps"], _TYPICAL), keep=choice["keep"])
        + (3 * choice["moments"] if choice["coordinates"] == "adam_at_rest" else 0)
    ),
    memory=lambda choice, load: peak_bytes(
        load,
        OPERATOR_PARTS["hessian"],
        "all",
        batches=choice["batches"],
        keep=choice["keep"],
        double=choice["precision"] == "float64",
        steps=choice["steps"],
        extra_vectors=0 if choice["coordinates"] == "own" else 5,
    ),
    frugal={"keep": False},
    quantities=SHARPNESS,
    sites=lambda _, choice: of_the_model([name for name in SHARPNESS if _belongs(name, choice)]),
    revision=lambda choice: None if choice["coordinates"] == "own" else 2,
    any_model=lambda choice: choice["coordinates"] != "adam",
    on_ranks=True,
)
def sharpness(
    state: State,
    *,
    coordinates: Coordinates = "own",
    batches: Annotated[int, Field(ge=1)] = 6,
    split: Literal["train", "validation", "test"] = "train",
    moments: Annotated[int, Field(ge=1)] = 50,
    eps: Annotated[float, Field(gt=0)] = 1e-8,
    steps: Annotated[int, Field(ge=2)] = 100,
    tolerance: Annotated[float, Field(gt=0)] = 1e-2,
    precision: Literal["float32", "float64"] = "float32",
    keep: bool = True,
) -> Iterator[Row]:
    """``max_v vᵀ H v / vᵀ v``: the largest eigenvalue of the Hessian of the loss per token (Cohen et al., 2021).

    Of the mean over all tokens of ``batches``, label smoothing included, dropout off, by at most ``steps`` of Lanczos
    until it is known to a relative ``tolerance``; an eigenvalue lies within ``sharpness_residual``. Multiplied by the
    squared norm of the parameters it is ``normalized_sharpness``, which a change of their unit does not move.

    In ``coordinates: adam`` it is that of P^-1/2 H P^-1/2 with v as the optimizer has it, so that the state must have
    been trained; in ``adam_at_rest`` v is what it would settle at, were the weights to stay: the mean of g² over the
    first ``moments`` batches of the split, those of H among them, with ``eps``. That needs no optimizer. Coordinates
    with v = 0, rows of words in no batch, have no P, and those whose gradient is below its rounding noise, the biases
    of keys, one of the machine's; both are left out, and counted as ``.._excluded``. Rows that v has
    last seen long ago blow up the first of the two, which is why the second is to be held against Adam's bound.

    Raises:
        LabError: the loss is not finite, or Adam's v is requested where there is none.
    """
    first = state.batches(max(batches, moments) if coordinates == "adam_at_rest" else batches, split)
    try:
        with evaluating(state.model):
            double = precision == "float64"
            operator = operator_at(
                state, "hessian", "all", first[: len(state.ranks.positions(batches))], double=double, keep=keep
            )
            if coordinates != "own":
                operator = Preconditioned(operator, _diagonal(state, coordinates, first, eps))
            generator = Generator().manual_seed(state.draw("start", 1))
            estimate = lanczos_sharpness(operator, generator, steps=steps, tolerance=tolerance)
            operator.check_along(estimate.vector)
    except CurvatureError as error:
        raise LabError(Issue("unsupported", "", f"sharpness: {error}", error.remedy)) from error
    name = _NAMES[coordinates]
    yield {"quantity": name, "value": estimate.value}
    yield {"quantity": f"{name}_residual", "value": estimate.residual}
    if isinstance(operator, Preconditioned):
        yield {"quantity": f"{name}_excluded", "value": float(operator.excluded)}
    else:
        squared = sum(p.detach().double().square().sum().item() for p in parameters_of(state.model, "all"))
        yield {"quantity": f"normalized_{name}", "value": estimate.value * squared}


def _diagonal(state: State, coordinates: Coordinates, batches: Sequence[Batch], eps: float) -> Tensor:
    """P = sqrt(v) + ε, with v of the optimizer or at its stationary mean, that of g² over the batches."""
    chosen = parameters_of(state.model, "all")
    if coordinates == "adam":
        return diagonal_at(state, chosen)

    def gradient(batch: Batch) -> Tensor:  # of the loss per token, flat
        with torch.enable_grad():
            loss, count = state.task.loss(state.model, batch)
            parts = gradients_of(loss / count, chosen)
        return flatten([part[None] for part in parts])[0]

    diagonal = settled_diagonal(map(gradient, batches), eps, state.ranks)
    names = {id(p): name for name, p in state.model.named_parameters()}
    # sqrt(v) again, for the sizes of gradients; v = 0 has P = 0 and would be -ε.
    roots = torch.split((diagonal - eps).clamp(min=0), [p.numel() for p in chosen])
    sizes = {names[id(p)]: root.view_as(p) for p, root in zip(chosen, roots, strict=True)}
    return without_noise(diagonal, state, chosen, noise_masks(state.model, sizes))
