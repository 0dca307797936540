"""A GPU that is not there: numbers are the CPU's, and operations that mix devices are refused as on a real one.

A tensor is on the GPU unless it was made inside the context by a call without ``device``, or moved by ``Tensor.cpu`` or
``Tensor.to``, or follows from such tensors alone.
"""

from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

GPU = torch.device("cpu")
"""What stands for it."""
MADE = {
    *(torch.tensor, torch.from_numpy, torch.zeros, torch.ones, torch.full, torch.empty, torch.eye, torch.arange),
    *(torch.linspace, torch.rand, torch.randn, torch.randint, torch.randperm),
}
TAKES_BOTH = {"copy_", "_to_copy", "index", "index_put_", "_index_put_impl_"}
"""Copies, and indices that the CPU has."""
COUNTS_NUMBERS = {"stack", "cat"}
"""A tensor without dimensions goes with any other, but not here."""


class FakeGpu(TorchFunctionMode):
    """Refuses what a GPU would while the context is open."""

    def __init__(self) -> None:
        super().__init__()
        self._storages: dict[int, torch.UntypedStorage] = {}
        self._refusal = _Refusal(self)

    def __enter__(self) -> "FakeGpu":
        self._refusal.__enter__()
        super().__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        self._refusal.__exit__(*error)

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        out = function(*args, **kwargs)
        if function in MADE and "device" not in kwargs:
            self.keep(out)
        devices = [x for x in (*args[1:], *kwargs.values()) if isinstance(x, torch.device | Tensor)]
        if function is Tensor.cpu:
            out = out.clone()
            self.keep(out)
        elif function is Tensor.to and devices:
            out = out.clone()
            self.keep(out, here=self.has(devices[0]))
        return out

    def keep(self, *tensors: Tensor, here: bool = True) -> None:
        """Say of tensors on which side they are."""
        for x in tensors:
            storage = x.untyped_storage()
            if here:
                self._storages[storage._cdata] = storage  # so that no other gets its number
            else:
                self._storages.pop(storage._cdata, None)

    def has(self, x: Any) -> bool:
        """Whether it is a tensor of the CPU."""
        return isinstance(x, Tensor) and x.untyped_storage()._cdata in self._storages


class _Refusal(TorchDispatchMode):
    def __init__(self, sides: FakeGpu) -> None:
        super().__init__()
        self._sides = sides

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = function.name().removeprefix("aten::").partition(".")[0]
        tensors = [x for x in tree_leaves((args, kwargs)) if isinstance(x, Tensor)]
        here = [x for x in tensors if self._sides.has(x)]
        mixed = 0 < len(here) < len(tensors)
        if mixed and name not in TAKES_BOTH and any(x.dim() or name in COUNTS_NUMBERS for x in here):
            raise RuntimeError(f"{name}: expected all tensors to be on the same device")
        out = function(*args, **(kwargs or {}))
        made = [x for x in tree_leaves(out) if isinstance(x, Tensor) and not any(x is y for y in tensors)]
        number = name == "scalar_tensor"  # a Python number among tensors
        self._sides.keep(*made, here=number or (bool(here) and not mixed))
        return out
