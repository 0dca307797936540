"""The curvature of the loss at a state, as operators: the Hessian, the GGN, their difference, in Adam's coordinates."""

from collections.abc import Mapping, Sequence
from typing import Literal

from torch import Tensor, nn

from lnlab.curvature.copies import module_copy
from lnlab.curvature.ggn import ggn
from lnlab.curvature.hessian import hessian
from lnlab.curvature.operators import Difference, Operator
from lnlab.curvature.preconditioned import Preconditioned, adam_diagonal
from lnlab.probes.probe import State
from lnlab.probes.rounding import noise_masks, second_moment_roots, without_noise
from lnlab.probes.support.scopes import Scope, parameters_of
from lnlab.probes.support.training_state import require
from lnlab.tasks.task import Batch

Kind = Literal[
    "hessian",
    "ggn",
    "hessian_minus_ggn",
    "preconditioned_hessian",
    "preconditioned_ggn",
    "preconditioned_hessian_minus_ggn",
]
OPERATOR_PARTS: Mapping[str, int] = {"hessian": 1, "ggn": 1, "hessian_minus_ggn": 2}
PRODUCT, REBUILT_PRODUCT = 7, 11
"""Forward-equivalents of one product through a stored graph, 2.4 gradients of 3, and with it built anew, 3.7."""


def without_preconditioner(kind: Kind) -> str:
    """The name of the operator before any change of coordinates: ``hessian`` for ``preconditioned_hessian``."""
    return kind.removeprefix("preconditioned_")


def passes(kind: Kind, products: int, *, keep: bool = True) -> float:
    """The cost of ``products`` products with one batch, and of its graph, in forward passes.

    With ``keep`` the graph is stored. Otherwise each product builds it anew.
    """
    return float(OPERATOR_PARTS[without_preconditioner(kind)] * ((PRODUCT if keep else REBUILT_PRODUCT) * products + 6))


def operator_at(
    state: State, kind: Kind, scope: Scope, batches: Sequence[Batch], *, double: bool, keep: bool
) -> Operator:
    """The operator of the mean loss over ``batches`` on a scope.

    A preconditioned one takes v from the optimizer of the state. With ``double`` it is built on a float64 copy of the
    model. ``keep`` stores the graphs of all batches.

    Raises:
        ValueError: what ``Sharded`` and ``Preconditioned`` refuse.
        LabError: a scope without parameters, or Adam's coordinates where nothing trains.
    """
    chosen = parameters_of(state.model, scope)
    model, scope_parameters = doubled(state.model, chosen) if double else (state.model, chosen)
    # Both names are in hessian_minus_ggn, which has both operators.
    builders = [build for name, build in (("hessian", hessian), ("ggn", ggn)) if name in without_preconditioner(kind)]
    operators = [
        build(model, state.task.loss, batches, scope_parameters, keep=keep, ranks=state.ranks) for build in builders
    ]
    operator: Operator = Difference(*operators) if len(operators) > 1 else operators[0]
    if not kind.startswith("preconditioned"):
        return operator
    return Preconditioned(operator, diagonal_at(state, chosen))


def diagonal_at(state: State, chosen: Sequence[Tensor]) -> Tensor:
    """P of the optimizer, (entries of the parameters,), 0 where there has been no gradient above its rounding noise.

    Raises:
        ValueError: the optimizer has no second moments of a parameter.
        LabError: nothing trains.
    """
    diagonal = adam_diagonal(require(state.optimizer, "an optimizer"), chosen)
    return without_noise(diagonal, state, chosen, noise_masks(state.model, second_moment_roots(state)))


def doubled(model: nn.Module, parameters: Sequence[Tensor]) -> tuple[nn.Module, list[Tensor]]:
    """A copy of a model in float64, with the same tied parameters, and the counterparts of ``parameters`` in it.

    It is for eigenvalues below about 1e-6 λ_max: in float32 their products are rounding errors of either sign.
    """
    double_model = module_copy(model).double()
    counterparts = {id(p): q for p, q in zip(model.parameters(), double_model.parameters(), strict=True)}
    return double_model, [counterparts[id(p)] for p in parameters]
