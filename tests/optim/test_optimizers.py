"""What every optimizer owes: to go on to the last bit where it was left, groups, hooks, and values that can be."""

import json

import pytest
import torch
from safetensors.torch import load, save
from torch import Tensor
from torch.optim import Optimizer

from lnlab.errors import LabError
from lnlab.optim.optimizers import optimizers
from tests.optim.quadratic import made, start, take

SMALL = {"adam_2k": {"freeze": 10}, "restarted_adam": {"after": 10}, "sgd": {"momentum": 0.9}}
OF_MATRICES = ("muon", "by_group")
"""These need matrices, or groups that are told apart: test_muon.py."""
EVERY = [(entry.name, SMALL.get(entry.name, {})) for entry in optimizers if entry.name not in OF_MATRICES]
STEPS = 30


@pytest.fixture(params=EVERY, ids=lambda case: case[0])
def case(request) -> tuple[str, dict]:
    return request.param


def stored(optimizer: Optimizer) -> tuple[bytes, str]:
    """What it remembers as flat tensors, and beside them the numbers as JSON."""
    state = optimizer.state_dict()
    tensors = {f"{i}.{name}": v for i, m in state["state"].items() for name, v in m.items() if isinstance(v, Tensor)}
    numbers = {i: {name: v for name, v in m.items() if f"{i}.{name}" not in tensors} for i, m in state["state"].items()}
    assert all(isinstance(v, int | float) for m in numbers.values() for v in m.values())
    return save(tensors), json.dumps({"numbers": numbers, "groups": state["param_groups"]}, allow_nan=False)


def restored(optimizer: Optimizer, tensors: bytes, text: str) -> None:
    known = json.loads(text)
    state = {int(i): dict(m) for i, m in known["numbers"].items()}
    for name, tensor in load(tensors).items():
        i, word = name.split(".")
        state[int(i)][word] = tensor
    optimizer.load_state_dict({"state": state, "param_groups": known["groups"]})


@pytest.mark.parametrize("left", [0, 1, 7, 10, 19])
def test_restored_from_flat_tensors_and_numbers_it_goes_on_to_the_last_bit(case, left):
    kind, options = case
    parameters = start()
    optimizer = made(kind, parameters, lr=0.1, weight_decay=0.1, **options)
    path = []
    for t in range(1, STEPS + 1):
        if t == left + 1:
            kept, values = stored(optimizer), [p.detach().clone() for p in parameters]
        path.append(take(optimizer, parameters, t, 0.1))
    again = start()
    for p, value in zip(again, values, strict=True):
        p.data.copy_(value)
    resumed = made(kind, again, lr=0.1, weight_decay=0.1, **options)
    restored(resumed, *kept)
    for t in range(left + 1, STEPS + 1):
        assert torch.equal(take(resumed, again, t, 0.1), path[t - 1])
    assert not torch.equal(path[-1], path[left])


def test_a_group_of_its_own_does_not_decay(case):
    """Under gradients of 0 nothing moves but by decay; gates are handed over so."""
    kind, options = case
    weights, gates = start()
    groups = [{"params": [weights]}, {"params": [gates], "weight_decay": 0.0}]
    optimizer = made(kind, groups, lr=0.1, weight_decay=0.5, **options | ({"freeze": 0} if kind == "adam_2k" else {}))
    before = [p.detach().clone() for p in (weights, gates)]
    for p in (weights, gates):
        p.grad = torch.zeros_like(p)
    optimizer.step()
    assert torch.equal(gates, before[1])
    assert (weights.abs() < before[0].abs()).all()


def test_what_has_no_gradient_stays_and_nothing_is_remembered_of_it(case):
    kind, options = case
    still, moving = start()
    optimizer = made(kind, [still, moving], lr=0.1, weight_decay=0.5, **options)
    before, remembered = still.detach().clone(), json.dumps(memory(optimizer, still))
    moving.grad = torch.ones_like(moving)
    optimizer.step()
    assert torch.equal(still, before)
    assert json.dumps(memory(optimizer, still)) == remembered


def memory(optimizer: Optimizer, p: Tensor) -> dict:
    return {name: v.tolist() if isinstance(v, Tensor) else v for name, v in optimizer.state.get(p, {}).items()}


def test_hooks_on_a_step_run_once(case):
    """Also where torch's Adam has been hooked before, of which some of ours are kin."""
    kind, options = case
    torch.optim.Adam(start()).step()
    parameters, ran = start(), []
    optimizer = made(kind, parameters, lr=0.1, **options)
    optimizer.register_step_pre_hook(lambda *_: ran.append("before"))
    optimizer.register_step_post_hook(lambda *_: ran.append("after"))
    take(optimizer, parameters, 1, 0.1)
    assert ran == ["before", "after"]


def test_a_closure_is_called_with_gradients_and_its_loss_is_returned(case):
    kind, options = case
    parameters = start()
    optimizer = made(kind, parameters, lr=0.1, **options)

    def closure() -> Tensor:
        optimizer.zero_grad()
        loss = sum(p.square().sum() for p in parameters)
        loss.backward()
        return loss

    expected = sum(p.detach().square().sum() for p in parameters)
    assert torch.equal(optimizer.step(closure), expected)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_precision_is_that_of_the_parameter(case, dtype):
    kind, options = case
    p = torch.nn.Parameter(torch.ones(3, dtype=dtype))
    optimizer = made(kind, [p], lr=0.1, **options)
    p.grad = torch.ones_like(p)
    optimizer.step()
    tensors = {name: v for name, v in optimizer.state[p].items() if isinstance(v, Tensor) and v.ndim}
    assert tensors
    assert {p.dtype, *(v.dtype for v in tensors.values())} == {dtype}


def test_nesterov_without_momentum_is_refused_in_a_line(golden):
    with golden.raises(LabError):
        made("sgd", start(), nesterov=True)
