"""A small language model, its batches, and a plain loop that may be recorded."""

import importlib.util
from pathlib import Path

import pytest
import torch

spec = importlib.util.spec_from_file_location("elsewhere", Path(__file__).parent.parent / "own_model" / "conftest.py")
elsewhere = importlib.util.module_from_spec(spec)
spec.loader.exec_module(elsewhere)


def batches_of(seed, count):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randint(elsewhere.WORDS, (4, elsewhere.LENGTH), generator=generator) for _ in range(count)]


def adam(model):
    return torch.optim.AdamW(model.parameters(), lr=1e-2)


def train(rec=None, *, seed=1, steps=12, build=elsewhere.NanoGPT, optimizer=adam, after=None, model=None):
    """A plain loop; dropout is on."""
    torch.manual_seed(seed)
    model = build() if model is None else model
    opt = optimizer(model)
    if rec is not None:
        rec.attach(model, opt)
        rec(model, 0)
    for step, batch in enumerate(batches_of(seed, steps), 1):
        total, count = elsewhere.token_loss(model, batch)
        (total / count).backward()
        if after is not None:
            after(model, opt)
        opt.step()
        if rec is not None:
            rec(model, step, loss=total / count)
        opt.zero_grad()
    return model, opt


@pytest.fixture(scope="session")
def loop():
    return train


@pytest.fixture(scope="session")
def some_batches():
    return batches_of


@pytest.fixture(scope="session")
def small():
    """The module with the model, its sites, sizes and loss."""
    return elsewhere
