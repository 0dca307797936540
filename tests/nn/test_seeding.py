"""Dropout draws from the generator of its device: that one is seeded, and as before afterwards."""

from contextlib import contextmanager

import pytest
import torch

from lnlab.nn.seeding import restored_generators, seed_dropout


def test_on_the_cpu_the_same_seed_gives_the_same_mask_and_nothing_is_left():
    before = torch.get_rng_state()
    masks = []
    for seed in (7, 7, 8):
        with restored_generators(torch.device("cpu")):
            seed_dropout(seed, torch.device("cpu"))
            masks.append(torch.nn.functional.dropout(torch.ones(64)))
    assert torch.equal(masks[0], masks[1])
    assert not torch.equal(masks[0], masks[2])
    assert torch.equal(before, torch.get_rng_state())


@pytest.mark.parametrize("kind", ["cuda", "mps"])
def test_the_generator_of_the_device_is_seeded_and_put_back(kind, monkeypatch):
    """On a fake device, as no test machine needs one."""
    device = torch.device(kind, 1) if kind == "cuda" else torch.device(kind)
    events = []

    @contextmanager
    def forked(devices):
        events.append(("forked", devices))
        yield

    @contextmanager
    def current(one):
        events.append(("current", one))
        yield

    monkeypatch.setattr(torch.random, "fork_rng", forked)
    monkeypatch.setattr(torch.cuda, "device", current)
    monkeypatch.setattr(torch.cuda, "manual_seed", lambda seed: events.append(("cuda", seed)))
    monkeypatch.setattr(torch.mps, "manual_seed", lambda seed: events.append(("mps", seed)))
    monkeypatch.setattr(torch.mps, "get_rng_state", lambda: "state")
    monkeypatch.setattr(torch.mps, "set_rng_state", lambda state: events.append(("restored", state)))
    with restored_generators(device):
        seed_dropout(5, device)
    if kind == "cuda":
        assert events == [("forked", [device]), ("current", device), ("cuda", 5)]
    else:
        assert events == [("forked", []), ("mps", 5), ("restored", "state")]


@pytest.mark.cuda
def test_on_a_gpu_the_same_seed_gives_the_same_mask():
    if not torch.cuda.is_available():
        pytest.skip("needs a GPU: torch sees no cuda device")
    device = torch.device("cuda", torch.cuda.current_device())
    before = torch.cuda.get_rng_state()
    masks = []
    for _ in range(2):
        with restored_generators(device):
            seed_dropout(7, device)
            masks.append(torch.nn.functional.dropout(torch.ones(64, device=device)))
    assert torch.equal(*masks)
    assert torch.equal(before, torch.cuda.get_rng_state())
