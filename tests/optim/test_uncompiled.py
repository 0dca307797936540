"""Optimizers are built and step without torch's compiler, and to the last bit as torch has it."""

import subprocess
import sys

import pytest

from tests.support.toy_specs import TRAINED, toy_spec

IN_A_FRESH_PROCESS = """
import sys
import torch
from torch import nn
from torch.optim.optimizer import register_optimizer_step_post_hook
from lnlab.optim.uncompiled import leave_compiler_out, take_step

def train(kind):
    torch.manual_seed(1)
    layer = nn.Linear(3, 2)
    optimizer = kind(layer.parameters(), lr=0.1)
    for _ in range(3):
        layer(torch.ones(4, 3)).square().sum().backward()
        take_step(optimizer)
        optimizer.zero_grad()
    optimizer.load_state_dict(optimizer.state_dict())
    return layer.weight.detach()

kinds = (torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW, torch.optim.RAdam, torch.optim.Adagrad)
leave_compiler_out()
before = [train(kind) for kind in kinds]
assert "torch._dynamo" not in sys.modules

def optimizer():
    return torch.optim.SGD(nn.Linear(2, 2).parameters(), lr=0.1)

seen = []
hooked, replaced = optimizer(), optimizer()
replaced.step = lambda: seen.append("replaced")
take_step(replaced)
hooked.register_step_pre_hook(lambda *_: seen.append("before"))
hooked.register_step_post_hook(lambda *_: seen.append("after"))
take_step(hooked)
handle = register_optimizer_step_post_hook(lambda *_: seen.append("any"))
take_step(optimizer())
handle.remove()
assert seen == ["replaced", "before", "after", "any"], seen

import torch._dynamo
after = [train(kind) for kind in kinds]
assert all(map(torch.equal, before, after))
method = torch.optim.Optimizer.zero_grad.__wrapped__
assert vars(method)["__dynamo_disable"].__module__ != "lnlab.optim.uncompiled", "torch's own form of it again"
"""
PROBES = "[{kind: gradient_norm, at: [init, end]}, {kind: hessian_spectrum, at: end, batches: 1, draws: 1, steps: 2}]"
SPEC = toy_spec(TRAINED, f"probes: {PROBES}\n", train={"steps": 2, "clip": 1, "evaluate": {"every": 1}}, seeds=1)


@pytest.mark.nightly
def test_the_compiler_is_left_out_until_something_else_imports_it():
    done = subprocess.run([sys.executable, "-c", IN_A_FRESH_PROCESS], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


@pytest.mark.nightly
def test_no_run_imports_the_compiler(forked, tmp_path):
    """It checks its spec first, as `lnlab check` does."""
    (tmp_path / "spec.yaml").write_text(SPEC)
    assert forked("imports_compiler", ["run", "spec.yaml", "--quiet"], str(tmp_path)) == (0, [0, False])
