"""A live state as bytes, and back: parameters, buffers and what the optimizer remembers, to the last bit.

Tensors go into safetensors under ``model.<name>`` (a shared one once) and ``optimizer.<number>.<name>``, numbers and
the optimizer's groups into a JSON value. The state of random generators is in neither: every draw has an address.
"""

from collections.abc import Iterator
from typing import Any

import torch
from safetensors.torch import load, save
from torch import Tensor, nn

from lnlab.keys import Json
from lnlab.probes.probe import State

_MODEL = "model."


def to_bytes(state: State) -> tuple[bytes, Json]:
    """The tensors of a state as safetensors, and everything else of it as a JSON value."""
    tensors = {f"{_MODEL}{name}": tensor for name, tensor in _tensors(state.model)}
    facts: dict[str, Any] = {"step": state.step}
    if state.optimizer is not None:
        optimizer_state = state.optimizer.state_dict()
        facts |= {"groups": optimizer_state["param_groups"], "numbers": {}}
        for number, values in optimizer_state["state"].items():
            for name, value in values.items():
                if isinstance(value, Tensor):
                    tensors[f"optimizer.{number}.{name}"] = value
                else:
                    facts["numbers"].setdefault(str(number), {})[name] = value
    return save({name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}), facts


def from_bytes(state: State, content: bytes, facts: Json) -> None:
    """Make a freshly built state the one that was saved."""
    tensors = load(content)
    with torch.no_grad():
        for name, tensor in _tensors(state.model):
            tensor.copy_(tensors.pop(f"{_MODEL}{name}"))
    state.step = facts["step"]
    if state.optimizer is not None:
        remembered: dict[int, dict[str, Any]] = {int(n): dict(v) for n, v in facts["numbers"].items()}
        for address, tensor in tensors.items():
            _, number, name = address.split(".", 2)
            remembered.setdefault(int(number), {})[name] = tensor
        state.optimizer.load_state_dict({"state": remembered, "param_groups": facts["groups"]})


def only_weights(content: bytes) -> bytes:
    """Reduce a saved state to its parameters and buffers, under the same names."""
    return save({name: tensor for name, tensor in load(content).items() if name.startswith(_MODEL)})


def weights_of(content: bytes) -> dict[str, Tensor]:
    """The parameters and buffers of a saved state by name."""
    return {name.removeprefix(_MODEL): tensor for name, tensor in load(content).items() if name.startswith(_MODEL)}


def _tensors(model: nn.Module) -> Iterator[tuple[str, Tensor]]:
    yield from model.named_parameters()
    yield from model.named_buffers()
