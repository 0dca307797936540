"""Copies of any module, including those that ``copy.deepcopy`` refuses.

Torch copies only the leaves of a graph, and a model may keep computed tensors, such as a cached activation or the
weight of torch's old weight norm. Such a tensor is a leaf with the same values in the copy. Objects that Python cannot
copy, such as a lock or an open file, are shared. The wrappers of compiled and of parallel modules are left out.
"""

import copy
from collections.abc import Iterator, Mapping
from functools import partial
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

from torch import Tensor, nn

_ATOMS = (str, bytes, int, float, complex, type(None), type, FunctionType, BuiltinFunctionType, ModuleType)
"""What a deep copy returns as it is."""
_CONTAINERS = (dict, list, tuple, set, frozenset, MethodType, partial)


def module_copy(model: nn.Module, memo: Mapping[int, Any] | None = None) -> nn.Module:
    """A deep copy without wrappers.

    Args:
        model: any module.
        memo: the object that replaces another in the copy, by the ``id`` of that other.
    """
    known = dict(memo or {})
    try:
        return _deep_copy(model, dict(known))
    except Exception:  # a class may refuse with any error
        stand_ins: dict[int, Any] = {}
        for x in _reached(model, known):
            if isinstance(x, Tensor):
                if x.grad_fn is not None:
                    stand_ins[id(x)] = x.detach().clone().requires_grad_()
            elif not (isinstance(x, (nn.Module, *_CONTAINERS)) or hasattr(x, "__deepcopy__")):
                try:
                    x.__reduce_ex__(4)  # by which a deep copy takes any other object apart
                except Exception:  # whatever it is, it cannot be copied
                    stand_ins[id(x)] = x
        if not stand_ins:
            raise
        return _deep_copy(model, known | stand_ins)


def inside_wrappers(model: nn.Module) -> nn.Module:
    """The module itself, below the wrappers of a compiled or parallel one."""
    while (inner := _inside(model)) is not None:
        model = inner
    return model


def kept_tensors(model: nn.Module) -> list[Tensor]:
    """The tensors with a graph that a model has kept from a pass, each once."""
    return [x for x in _reached(model, {}) if isinstance(x, Tensor) and x.grad_fn is not None]


def _deep_copy(model: nn.Module, memo: dict[int, Any]) -> nn.Module:
    """A deep copy, in which the module in a wrapper stands for it."""
    for module in reversed(list(model.modules())):  # from within
        inner = _inside(module)
        if inner is not None:
            memo[id(module)] = copy.deepcopy(inner, memo)
    return copy.deepcopy(model, memo)


def _inside(module: nn.Module) -> nn.Module | None:
    """The module in a wrapper of torch's, or None."""
    if isinstance(module, nn.DataParallel | nn.parallel.DistributedDataParallel):
        return module._modules["module"]
    # The class is in torch._dynamo, which takes seconds to import.
    return module._modules.get("_orig_mod") if type(module).__name__ == "OptimizedModule" else None


def _reached(model: nn.Module, known: Mapping[int, Any]) -> Iterator[Any]:
    """Every object that a deep copy would visit, each once, without those in the memo."""
    seen = set(known)
    waiting: list[Any] = [model]
    while waiting:
        x = waiting.pop()
        if id(x) in seen or isinstance(x, _ATOMS):
            continue
        seen.add(id(x))
        yield x
        if isinstance(x, Mapping):
            waiting += [*x.keys(), *x.values()]
        elif isinstance(x, list | tuple | set | frozenset):
            waiting += x
        elif isinstance(x, MethodType):
            waiting.append(x.__self__)
        elif isinstance(x, partial):
            waiting += [x.func, x.args, x.keywords]
        elif not isinstance(x, Tensor):
            slots = (name for owner in type(x).__mro__ for name in getattr(owner, "__slots__", ()))
            waiting += [getattr(x, name, None) for name in slots if isinstance(name, str)]
            waiting += getattr(x, "__dict__", {}).values()
