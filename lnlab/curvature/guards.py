"""The conditions of second derivatives, established and then checked.

Fused attention kernels on the CPU have no second derivative, so that the formula is forced. The graph is still searched
for fused nodes. A random loss has no Hessian, so that dropout is off and every loss is computed twice. A second
derivative may be wrong without an error, such as that of torch's weight norm on the CPU, which treats the norm as a
constant. Weight norms are therefore computed by their formula, and every operator is tested for symmetry. A user's
function whose backward pass is cut off from the graph gives a matrix that is symmetric and wrong. A Hessian with such a
function in its graph is therefore compared with a difference of gradients: along a random direction, along the error
found there, and along an eigenvector whose value is reported.
"""

import importlib
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from torch import Generator, Tensor, nn
from torch.autograd.graph import Node
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.utils import parametrizations

from lnlab.curvature.copies import module_copy

_FUSED = ("ScaledDotProduct", "CompiledFunction")
"""How nodes of the graph begin whose second derivative is missing, or may be wrong."""
_SUSPECTS = (
    "WeightNormInterface",
    "NativeBatchNorm",
    "CudnnBatchNorm",
    "CudnnRnn",
    "MkldnnRnn",
    "ThnnFused",
    "Ctc",
    "CudnnCtc",
    "EmbeddingBag",
    "GridSampler",
    "EfficientAttention",
    "FlashAttention",
    "Cdist",
)
"""How nodes begin whose second derivative torch has written by hand, where it has one."""
_ROUNDING = 16
"""Units of the last place by which two evaluations of one loss may differ."""


class CurvatureError(ValueError):
    """An input that an operator or an algorithm refuses, with a remedy."""

    def __init__(self, what: str, remedy: str) -> None:
        super().__init__(what)
        self.remedy = remedy

    def __reduce__(self) -> tuple[type["CurvatureError"], tuple[str, str]]:
        """Pickled with its remedy."""
        return type(self), (str(self), self.remedy)


@contextmanager
def twice_differentiable() -> Iterator[None]:
    """Use the formula of attention and no compiled code inside the block.

    Both hold for the whole process. Enter the block in the thread that starts the others, and in one such thread at a
    time.
    """
    compiled = "torch._dynamo" in sys.modules  # else nothing is, and importing it takes seconds
    with sdpa_kernel(SDPBackend.MATH), torch.compiler.set_stance("force_eager") if compiled else nullcontext():
        yield


def evaluation_copy(model: nn.Module) -> nn.Module:
    """A copy in evaluation mode that shares the parameters, with weight norms by their formula.

    Attributes that a module sets in a forward pass, such as a mask or running statistics, are then private to one
    thread, and the model itself is never changed. A module that is ``observed`` keeps its mode.
    """
    # What the memo of a deep copy holds counts as copied: each parameter stands for itself.
    own = module_copy(model, {id(p): p for p in model.parameters()})
    modes = [(module, module.training) for module in own.modules() if getattr(module, "observed", False)]
    own.eval()
    for module, mode in modes:
        module.training = mode
    for module in own.modules():
        if type(module) is _Parametrization:
            module.__class__ = _WeightNormFormula
        for hook in module._forward_pre_hooks.values():
            if type(hook) is _OldWeightNorm:
                hook.__class__ = _OldWeightNormFormula
    return own


def _weight_by_formula(v: Tensor, g: Tensor, dim: int) -> Tensor:
    """``g v / ‖v‖`` (Salimans and Kingma, 2016), with a norm for each index of ``dim``."""
    return v * (g / torch.norm_except_dim(v, 2, dim))


_Parametrization: Any = parametrizations._WeightNorm
_OldWeightNorm: Any = importlib.import_module("torch.nn.utils.weight_norm").WeightNorm  # a function has its name


class _WeightNormFormula(_Parametrization):  # type: ignore[misc]
    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        return _weight_by_formula(weight_v, weight_g, self.dim)


class _OldWeightNormFormula(_OldWeightNorm):  # type: ignore[misc]
    def compute_weight(self, module: nn.Module) -> Tensor:
        return _weight_by_formula(getattr(module, f"{self.name}_v"), getattr(module, f"{self.name}_g"), self.dim)


def validated_scope(model: nn.Module, parameters: Sequence[Tensor] | None) -> list[Tensor]:
    """The parameters of a scope, by default all that are trained. A tied one occurs once.

    Raises:
        ValueError: there is none, one comes twice, is not the model's or is frozen, or their types or devices differ.
    """
    known = {id(p) for p in model.parameters()}
    scope: list[Tensor] = [p for p in model.parameters() if p.requires_grad]
    scope = scope if parameters is None else list(parameters)
    if not scope:
        raise CurvatureError("found no parameter, expected at least one", "choose another scope")
    if len({id(p) for p in scope}) < len(scope):
        raise ValueError("found a parameter twice, expected each once: a tied one is a single tensor")
    if any(id(p) not in known or not p.requires_grad for p in scope):
        raise ValueError("found a tensor that is frozen or not the model's, expected its trained parameters")
    if len({(p.dtype, p.device) for p in scope}) > 1:
        what = "found parameters of several types or devices, expected one"
        raise CurvatureError(what, "give the model one type, as by model.float(), or choose another scope")
    return scope


def graph_root(loss: Tensor) -> Node:
    """The root node of the graph of a loss.

    Raises:
        CurvatureError: the loss has no graph.
    """
    if loss.grad_fn is None:
        what = "found a loss without a graph, expected one that depends on the parameters"
        raise CurvatureError(what, "do not detach it, and use no torch.no_grad() in it")
    return loss.grad_fn


@dataclass(frozen=True)
class GraphFacts:
    """Properties of the graphs of losses.

    Attributes:
        suspects: the names of nodes whose second derivative is user-written.
        unit: the coarsest unit in the last place of all numbers in the graphs.
    """

    suspects: frozenset[str]
    unit: float

    def __or__(self, other: "GraphFacts") -> "GraphFacts":
        return GraphFacts(self.suspects | other.suspects, max(self.unit, other.unit))


def graph_names(loss: Tensor) -> set[str]:
    """The names of the nodes in the graph of a loss."""
    return {node.name() for node in _nodes(loss)}


def _nodes(loss: Tensor) -> Iterator[Node]:
    """Every node of the graph of a loss, each once."""
    seen = {graph_root(loss)}
    waiting = [graph_root(loss)]
    while waiting:
        node = waiting.pop()
        yield node
        new = {child for child, _ in node.next_functions if child is not None} - seen
        seen |= new
        waiting.extend(new)


def check_graph(loss: Tensor) -> GraphFacts:
    """Search the graph of a loss.

    Raises:
        CurvatureError: it holds a fused attention or compiled code.
    """
    suspects = set()
    unit = torch.finfo(loss.dtype).eps
    for node in _nodes(loss):
        name = node.name()
        if name.startswith(_FUSED):
            what = f"found {name} in the graph, expected attention by its formula, in eager mode"
            raise CurvatureError(what, "choose no kernel of attention in the model, and do not compile it")
        if name.startswith(_SUSPECTS) or not (name[-1].isdigit() or name.endswith("AccumulateGrad")):
            suspects.add(name)  # torch numbers its own nodes, and a class derived from Function has no number
        known: Any = getattr(node, "_input_metadata", ())
        for one in known if isinstance(known, list | tuple) else [known]:
            if one.dtype.is_floating_point:
                unit = max(unit, torch.finfo(one.dtype).eps)
    return GraphFacts(frozenset(suspects), unit)


def check_deterministic(first: Tensor, second: Tensor) -> None:
    """Compare two evaluations of one loss.

    Raises:
        CurvatureError: they differ, or are not finite.
    """
    one, two = first.item(), second.item()
    if not math.isfinite(one):
        raise CurvatureError(f"found the loss {one}, expected a finite one", "measure weights at which it is finite")
    if abs(one - two) > _ROUNDING * torch.finfo(first.dtype).eps * abs(one):
        what = f"found the losses {one} and {two} of one batch, expected one loss: something in it is random"
        raise CurvatureError(what, RANDOM)


RANDOM = "let it draw in training mode alone, as functional.dropout(x, p, self.training) does"
"""What to do about a forward pass that draws in evaluation mode."""


def check_symmetric(u: Tensor, v: Tensor, hu: Tensor, hv: Tensor, graph: GraphFacts) -> None:
    """Compare ``uᵀ H v`` with ``vᵀ H u``, which differ by as much as H from its transpose.

    For independent entries of u and v of variance 1, rounding in H v moves ``uᵀ H v`` by some units of the last place
    times ``‖H v‖``, for any size of H. It was at most 8 units in encoders of up to 24 layers, and up to 56,000 where
    training had diverged. A difference of more than the square root of a unit, 3e-4 in float32, is refused.
    ``P^-1/2 H P^-1/2`` is tested separately, as P may enlarge an asymmetry that H hides.

    Args:
        u: a vector of independent entries (size,).
        v: another such vector.
        hu: ``H u``.
        hv: ``H v``.
        graph: properties of the graphs of the products.

    Raises:
        CurvatureError: they differ by more than rounding, or are not finite.
    """
    if not (hu.isfinite().all() and hv.isfinite().all()):
        raise CurvatureError("found a product that is not finite, expected a finite one", NOT_FINITE)
    one, other = float(u.double() @ hv), float(v.double() @ hu)
    scale = float(torch.linalg.vector_norm(hu) + torch.linalg.vector_norm(hv))
    if abs(one - other) > graph.unit**0.5 * scale:
        where = f" (nodes of the graph that torch may differentiate wrongly: {', '.join(sorted(graph.suspects))})"
        what = f"found uᵀHv = {one:.4g} and vᵀHu = {other:.4g}, expected one number, as a Hessian is symmetric"
        remedy = "write that operation by its formula in torch, so that autograd differentiates it twice"
        if not graph.suspects and graph.unit > torch.finfo(torch.float64).eps:
            remedy = f"measure in float64, as this may be rounding; if it is not, {remedy}"
        raise CurvatureError(what + (where if graph.suspects else ""), remedy)


def check_difference(
    product: Tensor, difference: Callable[[float], Tensor], unit: float, suspects: set[str], sizes: Sequence[int]
) -> Tensor:
    """Compare ``H v`` with ``(g(θ + s v) - g(θ - s v)) / 2s``, where g is the gradient and v a unit vector.

    The difference between two steps bounds the error of either, including that of kinks, so that a correct product
    passes. Each parameter is compared by itself: an error in a small one would be lost in the norm of all.

    Args:
        product: ``H v`` (size,).
        difference: maps s, in units of the parameters' norm, to the central difference.
        unit: the unit in the last place of the gradients.
        suspects: names of nodes that may be wrong.
        sizes: the entries of each parameter, in their order.

    Returns:
        What the product has more than the difference, or 0 where that is its error.

    Raises:
        CurvatureError: they differ by more than the error of the difference.
    """
    step = unit ** (1 / 3)
    one, other = difference(step), difference(step / 3)
    norm = torch.linalg.vector_norm
    per_root = 4 * norm(one - other) / len(product) ** 0.5  # that of a parameter may be small by chance
    rounding = unit ** (2 / 3) * norm(product)
    for p, x, y in zip(*(torch.split(whole, list(sizes)) for whole in (product, one, other)), strict=True):
        if norm(p - y) > _OFF * norm(y) + 4 * norm(x - y) + per_root * len(p) ** 0.5 + rounding:
            what = (
                f"the Hessian-vector product has norm {norm(p):.4g} in a parameter of {len(p)} entries, finite "
                f"differences of the gradient give {norm(y):.4g} (custom autograd functions: "
                f"{', '.join(sorted(suspects))})"
            )
            raise CurvatureError(what, "write backward of that function by operations of torch, on saved inputs")
    off = product - other
    return off if norm(off) > 4 * norm(one - other) else torch.zeros_like(off)


_OFF = 0.05
"""A product may differ from a difference of gradients by this share of it."""
NOT_FINITE = "look for a norm, a root or a division at 0: its second derivative is infinite there"
"""What to do about a second derivative that is not finite."""


def random_pair(size: int, device: torch.device) -> Tensor:
    """Two vectors of independent normal entries, the same at every call: (2, size), float64."""
    return torch.randn(2, size, generator=Generator().manual_seed(0), dtype=torch.float64).to(device)
