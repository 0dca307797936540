"""``1/n Σ_b A_b v``: a symmetric operator on flat vectors, summed over shards of a data set.

A_b belongs to the *sum* of the loss over shard b, and n is the number of tokens (or sentences) of all shards: the mean
over the data set, and not the mean of the shards' means. A scope is a list of parameters, and its operator is the
principal block of the whole one, with other parameters constant. Several processes may hold shards. Each multiplies by
its own, and the products are summed.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import torch
from torch import Tensor, nn
from torch.autograd.graph import GradientEdge, get_gradient_edge

from lnlab.curvature.guards import (
    CurvatureError,
    GraphFacts,
    check_deterministic,
    check_difference,
    check_graph,
    check_symmetric,
    evaluation_copy,
    graph_root,
    random_pair,
    twice_differentiable,
    validated_scope,
)
from lnlab.curvature.ranks import Ranks
from lnlab.curvature.threads import map_in_order

Loss = Callable[[nn.Module, Any], tuple[Tensor, float]]
"""From a model and a batch to the sum of the loss over the batch, and the count that it is the sum over."""
Products = Callable[[Sequence[Tensor]], list[Tensor]]
"""From one tensor per parameter, each with rows in front (rows, *shape), to their products with the matrix."""
BATCHED_BELOW = 50_000
"""Below this many coordinates, rows go through the graph together: dispatch takes the time, not arithmetic."""
ROWS_AT_ONCE = 64
ROWS_ON_GPU = 8
"""On a GPU rows of any length go through together: one after another each would be launched kernel by kernel."""


def rows_together(size: int, device: str) -> int:
    """Number of rows that go through a graph at once, on a device of this type (``cpu``, ``cuda``)."""
    if size < BATCHED_BELOW:
        return ROWS_AT_ONCE
    return 1 if device == "cpu" else ROWS_ON_GPU


class Operator(Protocol):
    """A symmetric matrix that is given only by its products.

    Attributes:
        size: rows and columns.
        device: where vectors live.
    """

    @property
    def size(self) -> int:
        """Rows and columns."""
        ...

    @property
    def device(self) -> torch.device:
        """Where vectors live."""
        ...

    def matvec(self, block: Tensor) -> Tensor:
        """The product with a vector (size,), or with each row of a block (rows, size), in float64."""
        ...

    def check_along(self, v: Tensor) -> None:
        """Refuse a matrix whose product with this vector is not what its gradients say, where that can be asked."""
        ...


@dataclass(frozen=True)
class Linearized:
    """One shard at the present parameters.

    Attributes:
        loss: the sum of the loss, with its graph.
        count: the number of terms in the sum.
        products: products with the shard's matrix.
        last: products that free the graph, for the last call. None if the graph lives as long as this object.
    """

    loss: Tensor
    count: float
    products: Products
    last: Products | None = None


Linearize = Callable[[nn.Module, Loss, Any, Sequence[Tensor]], Linearized]


class Sharded:
    """The operator of a mean loss over a data set, as made by ``hessian`` and ``ggn``.

    With ``keep`` the parameters are those at its construction, otherwise those at the time of a product.

    Args:
        linearize: gives one shard's products.
        model: in any mode. The differentiated function has no dropout, and torch's batch norms use their running
            statistics.
        loss: deterministic.
        batches: the shards, the slowest first if threads are to end together.
        parameters: the scope. None means all that are trained.
        keep: whether each shard's graph is stored between products. This costs its memory and saves rebuilding it,
            about two fifths of the time.
        threads: number of shards computed at a time, each on one core.
        together: rows that go through a graph at once, at as many times the memory. None means 64 below 50,000
            coordinates, and above 8 on a GPU and 1 on a CPU, whose caches hold the activations of one.
        of_gradient: whether the products are derivatives of the gradient.
        ranks: the processes, each with some of the shards or none. All make the same calls.

    Raises:
        ValueError: no shard, nothing counted, or what ``guards`` refuses.
    """

    def __init__(
        self,
        linearize: Linearize,
        model: nn.Module,
        loss: Loss,
        batches: Iterable[Any],
        parameters: Sequence[Tensor] | None,
        *,
        keep: bool = False,
        threads: int = 1,
        together: int | None = None,
        of_gradient: bool = False,
        ranks: Ranks | None = None,
    ) -> None:
        self.parameters = validated_scope(model, parameters)
        self.size = sum(p.numel() for p in self.parameters)
        self.device = self.parameters[0].device
        self.dtype = self.parameters[0].dtype
        self._keep = keep
        self._threads = threads
        self._together = together or rows_together(self.size, self.device.type)
        shards = [(evaluation_copy(model), loss, batch) for batch in batches]
        self._shards = [partial(linearize, *shard, self.parameters) for shard in shards]
        self._kept_products: list[Products] = []
        self._ranks = ranks or Ranks()
        self.count = 0.0
        with twice_differentiable():
            evaluations = zip(self._shards, [partial(summed_loss, *shard) for shard in shards], strict=True)
            graph = GraphFacts(frozenset(), torch.finfo(self.dtype).eps)
            for count, products, facts in map_in_order(partial(_checked_shard, keep=keep), evaluations, threads):
                self.count += count
                self._kept_products += [products] if products is not None else []
                graph |= facts
        # What is decided from here on is decided alike by all ranks.
        told = self._ranks.gather("shards", (len(self._shards), self.count, sorted(graph.suspects), graph.unit))
        self.count = math.fsum(count for _, count, _, _ in told)
        for _, _, suspects, unit in told:
            graph |= GraphFacts(frozenset(suspects), unit)
        if not self.count > 0:
            number = sum(shards_of_rank for shards_of_rank, _, _, _ in told)
            what = f"found {number} shards with a count of {self.count}, expected a positive one"
            raise CurvatureError(what, "give batches, and count what the loss sums over")
        self.graph = graph
        pair = random_pair(self.size, self.device)
        hu, hv = self._mean_product(pair, together=1)  # one graph is made for both, and holds one row at a time
        check_symmetric(pair[0], pair[1], hu, hv, graph)
        self._losses = [partial(summed_loss, *shard) for shard in shards] if graph.suspects and of_gradient else []
        self._compared = bool(graph.suspects) and of_gradient
        if self._compared:
            # an error along few directions is a small part of a random product, and lies along them itself
            self.check_along(self._differing(pair[0]))

    def check_along(self, v: Tensor) -> None:
        """Compare the product with a vector of any length with a difference of gradients, parameter by parameter.

        Only where the graph has functions that torch may differentiate wrongly, and only products of a Hessian.

        Raises:
            CurvatureError: they differ by more than the error of the difference.
        """
        if self._compared and v.any():
            self._differing(v)

    def _differing(self, v: Tensor) -> Tensor:
        """As ``check_along``: the product less the difference, of a unit vector."""
        unit_vector = v.double() / torch.linalg.vector_norm(v.double())
        product = self._mean_product(unit_vector[None], together=1)[0]
        sizes = [p.numel() for p in self.parameters]
        names = set(self.graph.suspects)
        return check_difference(product, partial(self._difference, unit_vector), self.graph.unit, names, sizes)

    def matvec(self, block: Tensor) -> Tensor:
        """The product with a vector (size,), or with each row of a block (rows, size), in float64.

        Rows go through the model in the type of its parameters, and are summed over shards in float64.

        Raises:
            ValueError: vectors of another size.
        """
        if block.shape[-1] != self.size:
            raise ValueError(f"found vectors of {block.shape[-1]} coordinates, expected {self.size}")
        return self._mean_product(block.reshape(-1, self.size), self._together).view(block.shape)

    def _mean_product(self, block: Tensor, together: int) -> Tensor:
        """The product with each row of a block (rows, size), ``together`` rows through a graph at once."""
        rows = block.to(self.dtype)
        total = torch.zeros(rows.shape, dtype=torch.float64, device=self.device)
        with twice_differentiable():  # also of a stored graph: a checkpoint runs its forward pass in the backward
            for part in map_in_order(partial(self._product, rows, together), range(len(self._shards)), self._threads):
                total += part
        return self._ranks.sum(total)[0] / self.count

    def _difference(self, v: Tensor, step: float) -> Tensor:
        """The central difference of the gradient along a unit vector, by a step in units of the parameters' norm.

        A vector of few entries moves these by as much as a random one moves each.
        """
        before = [p.detach().clone() for p in self.parameters]
        spread = math.sqrt(min(1.0, 3 / float(len(v) * v.square().square().sum())))
        norm = torch.linalg.vector_norm(torch.stack([p.double().norm() for p in before]))
        length = step * spread * float(norm + 1e-3)
        along = unflatten(v[None], self.parameters)
        gradients = []
        try:
            for sign in (1, -1):
                for p, value, d in zip(self.parameters, before, along, strict=True):
                    p.data = (value.double() + sign * length * d[0]).to(p.dtype)
                with twice_differentiable():
                    gradients.append(self._gradient())
        finally:
            for p, value in zip(self.parameters, before, strict=True):
                p.data = value
        return (gradients[0] - gradients[1]) / (2 * length)

    def _gradient(self) -> Tensor:
        """The gradient of the mean loss: (size,), float64."""
        total = torch.zeros(1, self.size, dtype=torch.float64, device=self.device)
        for evaluate in self._losses:
            parts = torch.autograd.grad(evaluate()[0], self.parameters, allow_unused=True, materialize_grads=True)
            total += flatten([part[None] for part in parts])
        return self._ranks.sum(total)[0][0] / self.count

    def _product(self, rows: Tensor, together: int, shard: int) -> Tensor:
        """The product of one shard's matrix with every row, from one graph."""
        *parts, end = torch.split(rows, together)  # the product with the last part may free the graph
        if self._keep:
            products = last = self._kept_products[shard]
        else:
            linearized = self._shards[shard]()
            products, last = linearized.products, linearized.last or linearized.products
        flat = [flatten(products(unflatten(part, self.parameters))) for part in parts]
        return torch.cat([*flat, flatten(last(unflatten(end, self.parameters)))])


def summed_loss(model: nn.Module, loss: Loss, batch: Any) -> tuple[Tensor, float]:
    """The summed loss of a batch with its graph, and its count.

    Raises:
        ValueError: it has no graph.
    """
    total, count = loss(model, batch)
    graph_root(total)
    return total, count


def vector_jacobian_products(outputs: Sequence[Tensor], inputs: Sequence[Tensor], *, retain: bool = True) -> Products:
    """``Jᵀ v`` for J = d outputs / d inputs. An output that does not depend on an input gives 0.

    The graph is retained for further products, or freed during the first one, which saves its memory. It is referenced
    by its edges, so that the values of the outputs, a gradient of every parameter, are freed.
    """
    moving = [i for i, y in enumerate(outputs) if y.requires_grad]
    edges = [get_gradient_edge(outputs[i]) for i in moving]
    # Bound to a function of the module: one that called itself here would be in a cycle with the graph, and keep it.
    return partial(_products_of_edges, edges, moving, inputs, retain=retain)


def _products_of_edges(
    edges: Sequence[GradientEdge],
    moving: Sequence[int],
    inputs: Sequence[Tensor],
    rows: Sequence[Tensor],
    *,
    retain: bool,
) -> list[Tensor]:
    """``Jᵀ v`` of the outputs behind the edges. ``moving`` are their indices among the rows."""
    number = len(rows[0])
    if not moving:
        return [x.new_zeros(number, *x.shape) for x in inputs]
    # Several rows go through vmap, whose dispatch a single one is spared.
    grad_outputs = [rows[i] if number > 1 else rows[i][0] for i in moving]
    try:
        gradients = torch.autograd.grad(
            # A batched pass that torch has no form of is made again, row by row: its graph has to be there.
            edges,
            inputs,
            grad_outputs,
            retain_graph=retain or number > 1,
            allow_unused=True,
            is_grads_batched=number > 1,
        )
    except RuntimeError:  # torch has no batched form of everything: then one row after another
        if number == 1:
            raise
        each = [
            _products_of_edges(edges, moving, inputs, [row[k : k + 1] for row in rows], retain=True)
            for k in range(number)
        ]
        return [torch.cat(parts) for parts in zip(*each, strict=True)]
    shaped = [x.new_zeros(number, *x.shape) if g is None else g for x, g in zip(inputs, gradients, strict=True)]
    return [g.view(number, *x.shape) for x, g in zip(inputs, shaped, strict=True)]


def unflatten(rows: Tensor, parameters: Sequence[Tensor]) -> list[Tensor]:
    """Split flat rows (rows, size) into one tensor per parameter, (rows, *shape)."""
    parts = torch.split(rows, [p.numel() for p in parameters], dim=-1)
    return [part.reshape(len(rows), *p.shape) for part, p in zip(parts, parameters, strict=True)]


def flatten(tensors: Sequence[Tensor]) -> Tensor:
    """Join one tensor per parameter, (rows, *shape), to flat rows (rows, size)."""
    return torch.cat([t.reshape(len(t), -1) for t in tensors], dim=-1)


def _checked_shard(
    evaluations: tuple[Callable[[], Linearized], Callable[[], tuple[Tensor, float]]], *, keep: bool
) -> tuple[float, Products | None, GraphFacts]:
    """A shard's count, its products if stored, and the facts of its graph, after a second evaluation of its loss.

    A graph that is not stored is freed before that evaluation, so that no more than one exists at a time.
    """
    linearize, evaluate_loss = evaluations
    linearized = linearize()
    graph = check_graph(linearized.loss)
    loss = linearized.loss.detach()
    count = linearized.count
    products = linearized.products if keep else None
    del linearized
    check_deterministic(loss, evaluate_loss()[0])
    return count, products, graph


class Difference:
    """``A - B`` on the same coordinates, such as H - G, the residual-weighted second derivatives (Schraudolph, 2002).

    Attributes:
        size: rows and columns.
        device: where vectors live.
    """

    def __init__(self, one: Operator, other: Operator) -> None:
        """Raises ValueError where their sizes or devices differ."""
        if (one.size, one.device) != (other.size, other.device):
            raise ValueError(f"found {one.size} and {other.size} coordinates, expected the same, on one device")
        self._one = one
        self._other = other
        self.size: int = one.size
        self.device: torch.device = one.device
        self.graph: GraphFacts | None = None
        graphs = [g for g in (getattr(one, "graph", None), getattr(other, "graph", None)) if g is not None]
        if graphs:
            self.graph = graphs[0] | graphs[-1]

    def matvec(self, block: Tensor) -> Tensor:
        """The product with a vector (size,), or with each row of a block (rows, size), in float64."""
        return self._one.matvec(block) - self._other.matvec(block)

    def check_along(self, v: Tensor) -> None:
        """Check the products of both."""
        self._one.check_along(v)
        self._other.check_along(v)
