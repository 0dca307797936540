"""A registry of each kind whose pieces cost nothing; some of them misbehave. Workers import it by name."""

import ctypes
import os
import random
import resource
import signal
import sys
import time
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import torch
from torch import nn

from lnlab.catalogue import REGISTRIES as LNLAB
from lnlab.errors import CorpusError, LabError
from lnlab.issues import Issue
from lnlab.registry import Registry

TASKS = Registry("task", LNLAB["task"].facts)
MODELS = Registry("model", LNLAB["model"].facts)
INITS = Registry("init", LNLAB["init"].facts)
PROBES = Registry("probe", LNLAB["probe"].facts)
OPTIMIZERS = Registry("optimizer", LNLAB["optimizer"].facts)
INTERVENTIONS = Registry("intervention", LNLAB["intervention"].facts)
REGISTRIES = {registry.kind: registry for registry in (TASKS, MODELS, INITS, PROBES, OPTIMIZERS, INTERVENTIONS)}


def load():
    return REGISTRIES


@TASKS.register("toy")
class Toy:
    """``x``: vectors."""

    def __init__(self, draw, roots, *, width: int = 3, absent: bool = False, wrong: bool = False):
        self.draw, self.size, self.absent, self.wrong = draw, width, absent, wrong

    def batches(self, split, purpose, epoch=0):
        if self.absent:
            raise CorpusError(Issue("wrong-value", "corpus 'toy'", "is absent", "fetch it with 'lnlab data fetch toy'"))
        if self.wrong:
            raise ValueError("this corpus is no corpus")
        for n in range(3):
            generator = torch.Generator().manual_seed(self.draw(purpose, split, epoch, n))
            yield torch.randn(2, self.size, generator=generator)


@MODELS.register("linear")
class Linear(nn.Module):
    """``x A^n``: a chain of matrices and one number that no init touches."""

    def __init__(self, size, parts, *, layers: int = 1, flaw: str = ""):
        if flaw:
            raise ValueError(flaw)
        super().__init__()
        self.encoder, self.output = nn.Module(), nn.Module()
        self.encoder.layers = nn.ModuleList(nn.ModuleDict({"map": nn.Linear(size, size)}) for _ in range(layers))
        self.encoder.final_norm = nn.BatchNorm1d(size)
        self.output.extra = nn.Parameter(torch.rand(()))
        self.double()

    @property
    def extra(self):
        return self.output.extra

    def forward(self, x):
        for layer in self.encoder.layers:
            x = layer["map"](x)
        return self.encoder.final_norm(x)


@INITS.register("normal")
def normal(model, draw) -> None:
    """``N(0, 1)``: each parameter."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name != "output.extra":
                parameter.normal_(generator=torch.Generator().manual_seed(draw("init", name)))


@INITS.register("looks")
def looks(model, draw, batches) -> None:
    """``x / x``: an init that needs data."""
    raise AssertionError("a data-dependent init has no data here")


@INITS.register("sums", reads=lambda params: params["n"], passes=lambda _: 0.0)
def sums(model, draw, batches, *, n: int | None = None) -> None:
    """``sum x``: the number that no other init touches, from data."""
    with torch.no_grad():
        model.extra.fill_(sum(batch.sum() for batch in batches(n)))


@INITS.register("doubles")
def doubles(model, draw, *, of: Annotated[Callable[..., None], INITS]) -> None:
    """``2 x``: of an init that it knows nothing of."""
    of(model, draw)
    with torch.no_grad():
        model.extra.mul_(2)


@OPTIMIZERS.register("sgd")
def sgd(parameters, *, lr: float = 0.1):
    """``x - lr g``: a step down."""
    return torch.optim.SGD(parameters, lr=lr)


@INTERVENTIONS.register("times", acts_on="function")
@contextmanager
def times(model, optimizer, *, factor: float = 2.0, reaches: bool = True):
    """``c A x``: what the model answers, times a factor."""
    if not reaches:
        raise LabError(Issue("wrong-value", "interventions.where", "no activation there", "there is one elsewhere"))
    handle = model.register_forward_hook(lambda _m, _x, y: factor * y)
    try:
        yield
    finally:
        handle.remove()


@INTERVENTIONS.register("halve", acts_on="update")
@contextmanager
def halve(model, optimizer):
    """``g / 2``: what the optimizer is shown."""
    assert optimizer is not None
    handle = model.register_forward_hook(lambda *_: None)
    yield
    handle.remove()


def process_of(_):
    return os.getpid()


def row(quantity, value):
    return {"quantity": quantity, "layer": 1, "value": value}


@PROBES.register("norm", table="sites", passes=lambda _: 1.0)
def norm(state, *, batches: int = 1):
    """``|x A|``: of some batches."""
    for index, batch in enumerate(state.batches(batches)):
        yield row("norm", state.model(batch).norm().item()) | {"index": index}
    yield row("extra", state.model.extra.item())


@PROBES.register("sleep", table="sites", passes=lambda _: 1.0)
def sleep(state, *, seconds: float = 0.01):
    """``t``: takes its time."""
    time.sleep(seconds)
    yield row("slept", seconds)


@PROBES.register("note", table="sites", passes=lambda _: 1.0)
def note(state, *, file: str, seconds: float = 0.0, spin: float = 0.0, after: int = 0):
    """``1``: leaves a line in a file, so that a test can count; waits a minute at most for ``after`` lines."""
    until = time.perf_counter() + spin
    while time.perf_counter() < until:
        pass
    time.sleep(seconds)
    give_up = time.monotonic() + 60
    while after and len(Path(file).read_text().splitlines() if Path(file).exists() else []) < after:
        if time.monotonic() > give_up:
            raise CorpusError(Issue("value", file, f"has no {after} lines after a minute"))
        time.sleep(0.02)
    with Path(file).open("a") as notes:
        notes.write(f"{os.getpid()} {state.draw.seed} {os.environ.get('OMP_NUM_THREADS')} {torch.get_num_threads()}\n")
    yield row("noted", 1.0)


@PROBES.register("die", table="sites", passes=lambda _: 1.0)
def die(state, *, how: str = "SIGKILL", file: str = "", times: int = 99):
    """``0``: takes its worker with it, the first ``times`` times."""
    sys.stdout.write("last words\n")
    notes = Path(file) if file else None
    before = len(notes.read_text()) if notes and notes.exists() else 0
    if before < times:
        if notes:
            notes.write_text("x" * (before + 1))
        if how == "segfault":
            ctypes.string_at(0)
        if how == "exit":
            os._exit(3)
        os.kill(os.getpid(), getattr(signal, how))
        time.sleep(10)
    yield row("survived", float(before))


@PROBES.register("fail", table="sites", passes=lambda _: 1.0)
def fail(state, *, how: str = "value"):
    """``1/0``: fails."""
    sys.stdout.writelines(f"line {n}\n" for n in range(80))
    if how == "memory":
        raise MemoryError
    if how == "torch_memory":
        raise RuntimeError("[enforce fail at alloc_cpu.cpp:117] DefaultCPUAllocator: can't allocate memory: 99 bytes.")
    if how == "exit":
        sys.exit(4)
    if how == "corpus":
        raise CorpusError(Issue("wrong-value", "corpus", "is damaged"))
    if how == "column":
        yield {"quantity": "x", "colour": "red"}
        return
    if how == "batches":
        yield row("many", len(state.batches(99)))
    raise ValueError("two\nlines")


@PROBES.register("flood", table="sites", passes=lambda _: 1.0)
def flood(state, *, how: str = "lines", megabytes: int = 1):
    """``1``: prints without end, without lines, or what is no text; or closes what it prints to."""
    block = {"lines": b"a line\n" * 149_797, "one line": b"x" * 2**20, "binary": bytes(range(256)) * 4096}.get(how, b"")
    for _ in range(megabytes * bool(block)):
        os.write(1, block)
    if how == "text":
        sys.stdout.write("\udc80 ☃ \0\n")
        sys.stdout.buffer.write(b"\xff\xfe\n")
    if how == "closed":
        os.close(1)
        os.close(2)
    yield row("flooded", float(megabytes))


@PROBES.register("allocate", table="sites", passes=lambda _: 1.0)
def allocate(state, *, gigabytes: float = 64.0, limit: float = 2.0):
    """``1``: takes more memory than its process may have."""
    resource.setrlimit(resource.RLIMIT_AS, (int(limit * 2**30) + _address_space(), resource.RLIM_INFINITY))
    try:
        torch.zeros(int(gigabytes * 2**27), dtype=torch.float64)
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    yield row("allocated", gigabytes)


def _address_space() -> int:
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


@PROBES.register("trace", table="sites", passes=lambda _: 1.0)
def trace(state, *, what: str):
    """``x``: touches what it may not, or may."""
    parameter = next(state.model.parameters())
    if what == "parameter":
        parameter.data.view(-1)[0].add_(1e-7)
    if what == "buffer":
        norm = state.model.encoder.final_norm
        norm.train()(torch.ones(2, norm.num_features))
    if what == "harmless":
        state.model.train()
        parameter.requires_grad_(False)
        parameter.grad = torch.ones_like(parameter)
        torch.rand(3)
        random.random()
    yield row("touched", 1.0)
