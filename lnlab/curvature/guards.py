"""The conditions of second derivatives, established and then checked.

Attention on the CPU has no second derivative in its fused kernels, so that its formula is forced, and the graph is
searched for fused nodes all the same. A loss that differs from itself has no Hessian: dropout is off, and every loss
is computed twice.
"""

import copy
import math
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext

import torch
from torch import Tensor, nn
from torch.autograd.graph import Node
from torch.nn.attention import SDPBackend, sdpa_kernel

FUSED = ("ScaledDotProduct", "CompiledFunction")
"""How nodes of the graph begin whose second derivative is missing, or may be wrong."""
_ROUNDING = 16
"""Two evaluations of one loss may differ by so many units of its last place."""


@contextmanager
def twice_differentiable() -> Iterator[None]:
    """Attention by its formula, and no compiled code.

    Both hold for the whole process: enter it in the thread that starts the others, and in one such thread at a time.
    """
    compiled = "torch._dynamo" in sys.modules  # else nothing is, and importing it takes seconds
    with sdpa_kernel(SDPBackend.MATH), torch.compiler.set_stance("force_eager") if compiled else nullcontext():
        yield


def evaluation_copy(model: nn.Module) -> nn.Module:
    """A copy in evaluation mode that shares the parameters.

    What a module sets on itself in a forward pass, a mask or running statistics, is then seen by one thread alone, and
    the model itself is never changed.
    """
    # What the memo of deepcopy holds counts as copied: each parameter stands for itself.
    return copy.deepcopy(model, {id(p): p for p in model.parameters()}).eval()


def validated_scope(model: nn.Module, parameters: Sequence[Tensor] | None) -> list[Tensor]:
    """The parameters of a scope, all that are trained by default; a tied one stands in a scope once.

    Raises:
        ValueError: there is none, one comes twice, is not the model's or is frozen, or their types or devices differ.
    """
    known = {id(p) for p in model.parameters()}
    scope: list[Tensor] = [p for p in model.parameters() if p.requires_grad]
    scope = scope if parameters is None else list(parameters)
    if not scope:
        raise ValueError("found no parameter, expected at least one")
    if len({id(p) for p in scope}) < len(scope):
        raise ValueError("found a parameter twice, expected each once: a tied one is a single tensor")
    if any(id(p) not in known or not p.requires_grad for p in scope):
        raise ValueError("found a tensor that is frozen or not the model's, expected its trained parameters")
    if len({(p.dtype, p.device) for p in scope}) > 1:
        raise ValueError("found parameters of several types or devices, expected one")
    return scope


def graph_root(loss: Tensor) -> Node:
    """Where the graph of a loss begins.

    Raises:
        ValueError: it has none.
    """
    if loss.grad_fn is None:
        raise ValueError("found a loss without a graph, expected one that depends on the parameters")
    return loss.grad_fn


def check_graph(loss: Tensor) -> None:
    """Search the graph of a loss.

    Raises:
        ValueError: it holds a fused attention or compiled code.
    """
    seen = {graph_root(loss)}
    waiting = [graph_root(loss)]
    while waiting:
        node = waiting.pop()
        if node.name().startswith(FUSED):
            raise ValueError(f"found {node.name()} in the graph, expected attention by its formula, in eager mode")
        new = {child for child, _ in node.next_functions if child is not None} - seen
        seen |= new
        waiting.extend(new)


def check_deterministic(first: Tensor, second: Tensor) -> None:
    """Compare two evaluations of one loss.

    Raises:
        ValueError: they differ, or are not finite.
    """
    one, two = first.item(), second.item()
    if not math.isfinite(one):
        raise ValueError(f"found the loss {one}, expected a finite one")
    if abs(one - two) > _ROUNDING * torch.finfo(first.dtype).eps * abs(one):
        raise ValueError(f"found the losses {one} and {two} of one batch, expected one loss: something in it is random")
