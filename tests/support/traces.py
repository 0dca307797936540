"""What may be left behind on a model, its optimizer and the generators: everything, compared to the last bit."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer


def snapshot(model: nn.Module, optimizer: Optimizer | None = None, **more: Any) -> dict[str, Any]:
    """All that somebody could change, by what it is; ``more`` is kept beside it."""
    modules, parameters = list(model.modules()), list(model.parameters())
    kept = {
        "hooks": [[len(value) for name, value in vars(m).items() if name.endswith("_hooks")] for m in modules],
        "attributes": [sorted(vars(m)) for m in modules],
        "weights": [(id(p), p.requires_grad, p.data_ptr(), p.detach().clone()) for p in parameters],
        "gradients": [None if p.grad is None else (id(p.grad), p.grad.clone()) for p in parameters],
        "gradient hooks": [p._backward_hooks for p in parameters],
        "buffers": [b.clone() for b in model.buffers()],
        "modes": [m.training for m in modules],
        "rng": torch.get_rng_state(),
        "grad mode": torch.is_grad_enabled(),
    }
    if optimizer is not None:
        hooks = optimizer._optimizer_step_pre_hooks, optimizer._optimizer_step_post_hooks
        state = [[k, v.clone()] for kept in optimizer.state.values() for k, v in kept.items() if isinstance(v, Tensor)]
        groups = [
            ([*map(id, g["params"])], {k: v for k, v in g.items() if k != "params"}) for g in optimizer.param_groups
        ]
        kept |= {"optimizer's hooks": [*map(len, hooks)], "optimizer's state": state, "groups": groups}
    return kept | {name: copied(value) for name, value in more.items()}


def copied(value: Any) -> Any:
    """Tensors by name as they are now."""
    return [[name, x.clone()] for name, x in value.items()] if isinstance(value, dict) else value


def changed(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """What is no longer as it was."""
    return [name for name in before if not same(before[name], after[name])]


def same(one: Any, two: Any) -> bool:
    """Equal to the last bit."""
    if isinstance(one, Tensor):
        return torch.equal(one, two)
    if isinstance(one, list | tuple):
        return len(one) == len(two) and all(map(same, one, two))
    return bool(one == two)
