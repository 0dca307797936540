"""One of two processes that train together by gloo; a fresh one, as a fork of a process with threads may stand still.

python two_processes.py ddp|fsdp|dying-0|dying-1 rank port folder
"""

import os
import sys
import warnings
from datetime import timedelta
from functools import partial
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import torch
from torch import nn

import lnlab


def _ddp(rank, port, folder, build, loss, batches):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), OMP_NUM_THREADS="1")
    torch.distributed.init_process_group("gloo", rank=rank, world_size=2)
    torch.manual_seed(1)
    model = nn.parallel.DistributedDataParallel(build())
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    rec = lnlab.Recorder(
        folder,
        settings={"lr": 0.1},
        seed=1,
        probes=["gradient_norm"],
        batches=batches,
        loss=loss,
        every=1,
        hooks_every=1,
    )
    rec.attach(model, opt)
    total, count = loss(model, batches[rank])
    (total / count).backward()
    if rank == 0:
        torch.save({n: p.grad for n, p in model.module.named_parameters()}, f"{folder}-gradients")
    opt.step()
    rec(model, 1, loss=total / count)
    rec.close()
    torch.distributed.destroy_process_group()


def _dying(rank, port, folder, build, loss, batches, *, dying):
    """One rank dies in its fifth update, before its gradients are there."""
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), OMP_NUM_THREADS="1")
    torch.distributed.init_process_group("gloo", rank=rank, world_size=2, timeout=timedelta(seconds=20))
    model = nn.parallel.DistributedDataParallel(build())
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    with lnlab.Recorder(folder, settings={"lr": 0.1}, seed=1, hooks_every=1) as rec:
        rec.attach(model, opt)
        for step in range(1, 9):
            total, count = loss(model, batches[rank])
            if step == 5 and rank == dying:
                os._exit(9)
            (total / count).backward()
            opt.step()
            opt.zero_grad()
            rec(model, loss=total / count)


def _fsdp(rank, port, folder, build, loss, batches):
    from torch.distributed.fsdp import fully_shard

    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), OMP_NUM_THREADS="1")
    torch.distributed.init_process_group("gloo", rank=rank, world_size=2)
    mesh = torch.distributed.init_device_mesh("cpu", (2,))
    torch.manual_seed(1)
    model = build()
    for block in model.blocks:
        fully_shard(block, mesh=mesh)
    fully_shard(model, mesh=mesh)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    probing = {"probes": ["gradient_norm"], "batches": batches, "loss": loss}
    refusing = lnlab.Recorder(f"{folder}-probes", settings={"lr": 0.1}, seed=1, **probing)
    for call in (lambda: refusing.attach(model, opt), lambda: refusing(model, 1)):
        try:
            call()
        except lnlab.errors.LabError as error:
            with Path(f"{folder}-refused-{rank}").open("a") as file:
                file.write(f"{error}\n")
    of_updates = {**probing, "probes": ["update_size"], "build": build}
    try:
        lnlab.Recorder(f"{folder}-updates", settings={"lr": 0.1}, seed=1, **of_updates).attach(model, opt)
    except lnlab.errors.LabError as error:
        Path(f"{folder}-refused-updates-{rank}").write_text(f"{error}\n")
    probing["probes"] = ["gradient_norm", "displacement", "parameter_size"]
    rec = lnlab.Recorder(folder, settings={"lr": 0.1}, seed=1, hooks_every=1, every=1, build=build, **probing)
    rec.attach(model, opt)
    rec(model, 0)
    total, count = loss(model, batches[0])
    (total / count).backward()
    before = {n: p.detach().full_tensor().clone() for n, p in model.named_parameters()}
    gradients = {n: p.grad.full_tensor().clone() for n, p in model.named_parameters()}
    opt.step()
    random_state = torch.get_rng_state()
    rec(model, 1, loss=total / count)
    assert torch.equal(random_state, torch.get_rng_state())
    after = {n: p.detach().full_tensor().clone() for n, p in model.named_parameters()}
    rec.close()
    if rank == 0:
        torch.save((gradients, before, after), f"{folder}-truth")

    def failing(model, batch):  # rank 0 alone measures
        raise KeyError("planted")

    def other():
        return nn.Linear(2, 2)

    wrong = {"loss": {"loss": failing}, "build": {"build": other}, "scalar": {}}
    for name, change in wrong.items():
        given = {"probes": ["gradient_norm"], "batches": batches, "loss": loss, "build": build} | change
        failed = lnlab.Recorder(f"{folder}-{name}", settings={"lr": 0.1}, seed=1, every=1, **given)
        try:
            failed.attach(model, opt)
            failed(model, 0, other=torch.ones(3) if name == "scalar" else 1.0)
        except lnlab.errors.LabError as error:
            Path(f"{folder}-failed-{name}-{rank}").write_text(str(error))
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    kind, rank, port, folder = sys.argv[1:]
    spec = spec_from_file_location("models", Path(__file__).parent / "conftest.py")
    models = module_from_spec(spec)
    spec.loader.exec_module(models)
    small = models.elsewhere
    work, build = {
        "ddp": (_ddp, lambda: small.NanoGPT().eval()),
        "dying-0": (partial(_dying, dying=0), small.NanoGPT),
        "dying-1": (partial(_dying, dying=1), small.NanoGPT),
        "fsdp": (_fsdp, small.NanoGPT),
    }[kind]
    work(int(rank), int(port), folder, build, small.token_loss, models.batches_of(3, 1 if kind == "fsdp" else 2))
