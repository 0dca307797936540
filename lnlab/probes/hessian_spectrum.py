"""``1/K Σ_k Σ_j w_kj δ(λ - θ_kj)``: the spectrum of the loss's curvature at a state (Ghorbani et al., 2019).

The operator is that of the mean loss per token over all batches, with label smoothing and without dropout.
"""

import math
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import Field
from torch import Generator

from lnlab.compile.cost.cost import Workload
from lnlab.curvature.budget import TOGETHER, budget_spectrum, lanczos_steps
from lnlab.curvature.guards import CurvatureError
from lnlab.curvature.quadrature import measure_converged
from lnlab.curvature.spectrum import spectrum
from lnlab.errors import LabError
from lnlab.issues import Issue
from lnlab.probes.probe import State, evaluating, probes
from lnlab.probes.support.operators import OPERATOR_PARTS, Kind, operator_at, passes, without_preconditioner
from lnlab.probes.support.peak_memory import VECTORS, coordinates, draws_at_once, peak_bytes
from lnlab.probes.support.scopes import Scope, parameters_of
from lnlab.registry import Choice
from lnlab.tables import Row
from lnlab.tasks.task import Batch


@probes.register(
    "hessian_spectrum",
    version=3,
    later=("products", "relative_error", "most"),
    table="spectra",
    # Of every step of every draw, and of the graph.
    passes=lambda choice: (
        float(choice["batches"]) * passes(choice["operator"], _most_products(choice), keep=choice["keep"])
    ),
    memory=lambda choice, load: peak_bytes(
        load,
        OPERATOR_PARTS[without_preconditioner(choice["operator"])],
        choice["scope"],
        batches=-(-choice["batches"] // (choice["parts"] or 1)),  # of the largest part
        keep=choice["keep"],
        double=choice["precision"] == "float64",
        steps=choice["steps"] if _budget(choice) is None else _basis_vectors(choice, load),
        draws=choice["draws"] if _budget(choice) is None else TOGETHER,
        basis=choice["lanczos"] == "full",
        extra_vectors=0 if without_preconditioner(choice["operator"]) == choice["operator"] else 5,
    ),
    frugal={"keep": False},
    quantities=(),
    revision=lambda choice: None if without_preconditioner(choice["operator"]) == choice["operator"] else 2,
    any_model=lambda choice: choice["operator"] == "hessian",
    on_ranks=True,
)
def hessian_spectrum(
    state: State,
    *,
    operator: Kind = "hessian",
    scope: Scope = "all",
    draws: Annotated[int, Field(ge=1)] = 10,
    steps: Annotated[int, Field(ge=2)] = 90,
    batches: Annotated[int, Field(ge=1)] = 6,
    parts: Annotated[int, Field(ge=2)] | None = None,
    split: Literal["train", "validation", "test"] = "train",
    lanczos: Literal["full", "papyan"] = "full",
    precision: Literal["float32", "float64"] = "float32",
    tolerance: Annotated[float, Field(gt=0)] | None = None,
    keep: bool = True,
    products: Annotated[int, Field(ge=6)] | None = None,
    relative_error: Annotated[float, Field(gt=0, lt=1)] | None = None,
    most: Annotated[int, Field(ge=24)] = 1_000,
) -> Iterator[Row]:
    """``w_j = S_1j²``: nodes and weights of the Hessian's spectrum, a quadrature a draw (Ghorbani et al., 2019).

    By ``steps`` of Lanczos from each start vector, with full re-orthogonalization, or without as Papyan (2018) has it;
    a scope of fewer than 2,000 parameters is diagonalized instead, as draw 1. With ``parts`` the batches are dealt out
    to so many, and each has a spectrum of its own from the same start vectors, in place of one of all together. An
    eigenvalue lies within ``residual`` of every node, and outliers may be counted only where ``orthogonality_loss`` is
    near 0. ``hessian_minus_ggn`` is what the GGN leaves out: the model's own second derivatives, weighed by the slope
    of the loss. ``preconditioned`` operators are in Adam's coordinates, without those that have had no gradient
    above its rounding noise. ``tolerance`` ends a draw early, where neither the ends nor the measure move by more than
    this share of the range.
    ``keep`` holds the graph of every batch, 0.4 MB a target token at 8,000 rows, and saves two fifths of the time;
    where the machine has no memory for it, graphs are made anew, to the same bits. Products are in ``precision``,
    recurrences in float64.

    ``products`` is another way to the same numbers, in place of ``draws`` and ``steps``: a budget, of which a third
    each goes to Lanczos, to Lanczos on what the first run has left, and to draws that both leave
    (``lnlab.curvature.budget``). 400 give a trace 20 times and a density three times as exact as 10 draws of 40
    steps. ``relative_error`` goes on until the 95 % intervals of trace and Frobenius norm are within this share, or
    ``most`` products are made. The density is then draw 0.

    Raises:
        LabError: the loss is not finite, a preconditioner is requested that the optimizer does not have, there are
            fewer batches than parts, or a budget is given with what it has no use for.
    """
    limits = _budget({"products": products, "relative_error": relative_error, "most": most})
    if limits is not None and (lanczos != "full" or tolerance is not None or None not in (products, relative_error)):
        other = "lanczos: papyan" if lanczos != "full" else "tolerance" if tolerance is not None else "relative_error"
        given = "products" if products is not None else "relative_error"
        what = f"hessian_spectrum: '{given}' and '{other}' exclude each other"
        raise LabError(Issue("unsupported", "", what, "give one of them"))
    if parts is not None and parts > batches:
        what = f"hessian_spectrum: found {parts} parts of {batches} batches, expected at least a batch for each"
        raise LabError(Issue("conflict", "", what, f"set batches: {parts}, or fewer parts"))
    sampled = state.batches(batches, split)
    groups: dict[int | None, list[Batch]] = {None: sampled}
    if parts is not None:
        dealt = list(zip(state.ranks.positions(batches), sampled, strict=True))
        groups = {k + 1: [batch for position, batch in dealt if position % parts == k] for k in range(parts)}
    squared_norm = None  # ‖θ‖² has no meaning in coordinates other than θ
    if without_preconditioner(operator) == operator:
        squared_norm = sum(float(p.detach().double().square().sum()) for p in parameters_of(state.model, scope))
    columns = {"operator": operator, "scope": scope, "squared_norm": squared_norm}
    for part, group in groups.items():
        try:
            with evaluating(state.model):
                target = operator_at(state, operator, scope, group, double=precision == "float64", keep=keep)
                if limits is not None:
                    budgeted = budget_spectrum(
                        target,
                        lambda number: Generator().manual_seed(state.draw("start", number)),
                        products=limits,
                        relative_error=relative_error,
                        vectors=VECTORS // (8 * target.size),
                    )
                    size, loss = budgeted.size, budgeted.orthogonality_loss
                    quadratures = list(enumerate([budgeted.density, *budgeted.draws()]))
                else:
                    estimate = spectrum(
                        target,
                        [Generator().manual_seed(state.draw("start", number)) for number in range(1, draws + 1)],
                        steps=steps,
                        reorthogonalize=lanczos == "full",
                        until=None if tolerance is None else measure_converged(tolerance),
                        block=draws_at_once(draws, steps, target.size),
                    )
                    size, loss = estimate.size, estimate.orthogonality_loss
                    quadratures = list(enumerate(estimate.quadratures, 1))
                del target  # before the graphs of the next part are built
        except CurvatureError as error:
            raise LabError(Issue("unsupported", "", f"hessian_spectrum: {error}", error.remedy)) from error
        row = {**columns, "part": part, "size": size, "orthogonality_loss": loss}
        for number, q in quadratures:
            for node, weight, residual in zip(q.nodes.tolist(), q.weights.tolist(), q.residuals.tolist(), strict=True):
                within = None if math.isnan(residual) else residual
                yield {**row, "draw": number, "node": node, "weight": weight, "residual": within}


def _budget(choice: Mapping[str, Any]) -> int | None:
    """The most products of a budget, or None where draws and steps determine their number."""
    if choice["products"] is not None:
        return int(choice["products"])
    return None if choice["relative_error"] is None else int(choice["most"])


def _basis_vectors(choice: Choice, load: Workload) -> int:
    """Number of vectors of both bases of a budget, for each of the draws that share a pass."""
    vectors = VECTORS // (8 * coordinates(load, choice["scope"]))
    steps = lanczos_steps(_most_products(choice), relative_error=choice["relative_error"], vectors=vectors)
    return -(-2 * steps // TOGETHER)


def _most_products(choice: Choice) -> int:
    return int(_budget(choice) or choice["draws"] * choice["steps"])
