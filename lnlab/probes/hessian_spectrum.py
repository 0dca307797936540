"""``1/K Σ_k Σ_j w_kj δ(λ - θ_kj)``: the spectrum of the loss's curvature at a state (Ghorbani et al., 2019).

The operator is that of the mean loss per token over all batches together, label smoothing included, dropout off.
"""

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Literal

from pydantic import Field
from torch import Generator

from lnlab.curvature.ggn import ggn
from lnlab.curvature.hessian import hessian
from lnlab.curvature.operators import Operator
from lnlab.curvature.precision import doubled
from lnlab.curvature.preconditioned import Preconditioned, adam_diagonal
from lnlab.curvature.quadrature import converged
from lnlab.curvature.spectrum import spectrum
from lnlab.errors import LabError, Problem
from lnlab.probes.probe import State, evaluating, probes
from lnlab.probes.scopes import Scope, parameters_of
from lnlab.probes.training import there
from lnlab.tables import Row
from lnlab.tasks.task import Batch

Kind = Literal["hessian", "ggn", "preconditioned_hessian", "preconditioned_ggn"]
PRODUCT = 7
"""Forward-equivalents of one product through a kept graph: 2.4 gradients of 3."""


VECTORS = 2**31
"""Bytes: as many draws advance together as hold their vectors in them, and share the passes."""


def _passes(params: dict[str, Any]) -> float:
    """Of every step of every draw, and of the graph."""
    return float(params["batches"] * (PRODUCT * params["draws"] * params["steps"] + 6))


@probes.register("hessian_spectrum", table="spectra", passes=_passes, quantities=())
def hessian_spectrum(
    state: State,
    *,
    operator: Kind = "hessian",
    scope: Scope = "all",
    draws: Annotated[int, Field(ge=1)] = 10,
    steps: Annotated[int, Field(ge=2)] = 90,
    batches: Annotated[int, Field(ge=1)] = 6,
    split: Literal["train", "validation", "test"] = "train",
    lanczos: Literal["full", "papyan"] = "full",
    precision: Literal["float32", "float64"] = "float32",
    tolerance: Annotated[float, Field(gt=0)] | None = None,
    keep: bool = True,
) -> Iterator[Row]:
    """``w_j = S_1j²``: nodes and weights of the Hessian's spectrum, a quadrature a draw (Ghorbani et al., 2019).

    By ``steps`` of Lanczos from each start vector, with full re-orthogonalization, or without as Papyan (2018) has it;
    a scope of fewer than 2,000 parameters is diagonalized instead, as draw 1. ``preconditioned`` operators are in
    Adam's coordinates, without those that have had no gradient. ``tolerance`` ends a draw early, where neither the ends
    nor the measure move by more than this share of the range. ``keep`` holds the graph of every batch: 0.4 MB a target
    token at 8,000 rows, and saves two fifths of the time. Products are in ``precision``, recurrences in float64.

    Raises:
        LabError: the loss is not finite, or a preconditioner is asked for that the optimizer does not have.
    """
    try:
        with evaluating(state.model):
            seen = _operator(
                state, operator, scope, state.batches(batches, split), double=precision == "float64", keep=keep
            )
            found = spectrum(
                seen,
                [Generator().manual_seed(state.draw("start", number)) for number in range(1, draws + 1)],
                steps=steps,
                reorthogonalize=lanczos == "full",
                until=None if tolerance is None else converged(tolerance),
                block=max(1, VECTORS // (8 * steps * seen.size)),
            )
    except ValueError as error:
        raise LabError(Problem("", f"hessian_spectrum: {error}", "measure it at another state")) from error
    for number, q in enumerate(found.quadratures, 1):
        for node, weight in zip(q.nodes.tolist(), q.weights.tolist(), strict=True):
            yield {"operator": operator, "scope": scope, "draw": number, "node": node, "weight": weight}


def _operator(
    state: State, kind: Kind, scope: Scope, batches: Sequence[Batch], *, double: bool, keep: bool
) -> Operator:
    """The operator on a scope, in Adam's coordinates if it is to be."""
    chosen = parameters_of(state.model, scope)
    model, mine = doubled(state.model, chosen) if double else (state.model, chosen)
    make = ggn if kind.endswith("ggn") else hessian
    plain = make(model, state.task.loss, batches, mine, keep=keep)
    if not kind.startswith("preconditioned"):
        return plain
    return Preconditioned(plain, adam_diagonal(there(state.optimizer, "an optimizer"), chosen))
