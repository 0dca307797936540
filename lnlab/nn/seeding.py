"""The generators that dropout draws from, seeded and restored: a GPU has its own."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch


def seed_dropout(seed: int, device: torch.device) -> None:
    """Seed the generators that dropout draws from: that of the CPU and, on a GPU, its own."""
    # Not `torch.manual_seed`, which would seed every GPU as well.
    torch.default_generator.manual_seed(seed)
    if device.type == "cuda":
        with torch.cuda.device(device):
            torch.cuda.manual_seed(seed)
    if device.type == "mps":
        torch.mps.manual_seed(seed)


@contextmanager
def restored_generators(device: torch.device) -> Iterator[None]:
    """Restore the generators of the CPU and of a device on leaving the block."""
    mps = torch.mps.get_rng_state() if device.type == "mps" else None
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        yield
    if mps is not None:
        torch.mps.set_rng_state(mps)
