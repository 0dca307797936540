"""Optimizers without torch's compiler, whose import takes a second: torch imports it to exempt their methods from it.

If other code imports the compiler, earlier or later, torch's behaviour is unchanged.
"""

import sys
from collections.abc import Callable
from functools import wraps
from typing import Any

import torch
from torch.optim import Optimizer

_MODULE = sys.modules[Optimizer.__module__]  # torch.optim hides its name
_COMPILER = "torch._dynamo"
_EXEMPTED = "__dynamo_disable"
"""Under this name torch remembers the exempted form of a method, which it makes with the compiler at the first call."""


def leave_compiler_out() -> None:
    """Let optimizers be built, reset, saved and restored without an import of torch's compiler."""
    if _COMPILER in sys.modules:
        return
    for name in ("add_param_group", "zero_grad", "state_dict", "load_state_dict"):
        method = getattr(getattr(Optimizer, name), "__wrapped__", None)
        if method is not None and not hasattr(method, _EXEMPTED):
            setattr(method, _EXEMPTED, _as_it_is(method))


def _as_it_is(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def run(*arguments: Any, **keywords: Any) -> Any:
        if _COMPILER not in sys.modules:
            return method(*arguments, **keywords)
        delattr(method, _EXEMPTED)  # so that torch makes its own exempted form, now that the compiler is there
        return getattr(Optimizer, method.__name__)(*arguments, **keywords)

    return run


def take_step(optimizer: Optimizer) -> None:
    """``optimizer.step()``, without an import of torch's compiler, which torch's own optimizers do at every step."""
    step = type(optimizer).step
    # torch wraps `step` in functions of its own file; below them is what the optimizer itself does.
    wrappers = []
    while getattr(step, "__code__", None) and step.__code__.co_filename == _MODULE.__file__:
        wrappers.append(step.__code__.co_name)
        step = step.__wrapped__  # type: ignore[attr-defined]
    hooks = (
        optimizer._optimizer_step_pre_hooks,
        optimizer._optimizer_step_post_hooks,
        _MODULE._global_optimizer_pre_hooks,
        _MODULE._global_optimizer_post_hooks,
    )
    replaced = "step" in vars(optimizer)  # as some schedulers of torch do
    if _COMPILER in sys.modules or "_use_grad" not in wrappers or replaced or any(hooks):
        optimizer.step()
        return
    # All that the wrapper `_use_grad` does beside asking the compiler to leave the step alone.
    with torch.set_grad_enabled(optimizer.defaults["differentiable"]):
        step(optimizer)
