"""One of two ranks that measure together by gloo, in a process of its own; what each of them saw is a file of JSON.

python two_ranks.py rank folder
"""

import json
import os
import sys
import warnings
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import torch

import lnlab
from lnlab.curvature.ggn import ggn
from lnlab.curvature.hessian import hessian
from lnlab.curvature.ranks import Ranks
from lnlab.errors import LabError

spec = spec_from_file_location("elsewhere", Path(__file__).parent / "conftest.py")
elsewhere = module_from_spec(spec)
spec.loader.exec_module(elsewhere)

PROBES = (
    {"kind": "gradient_norm", "biases": True},
    {"kind": "hessian_spectrum", "draws": 2, "steps": 6, "precision": "float64"},
    {"kind": "sharpness", "coordinates": "adam_at_rest", "moments": 4},
    "parameter_size",
)


def build(seed=1):
    torch.manual_seed(seed)
    return elsewhere.NanoGPT().eval()


def batches(count=5):
    """Of unlike numbers of tokens, so that a mean of means is another number."""
    generator = torch.Generator().manual_seed(3)
    size = (elsewhere.LENGTH, 2)
    return [torch.randint(elsewhere.WORDS, (k % 3 + 1, size[k % 2]), generator=generator) for k in range(count)]


def batch_loss(model, batch):
    logits = model(batch)
    return torch.nn.functional.cross_entropy(logits.flatten(0, 1), batch.flatten(), reduction="sum"), batch.numel()


def products(dtype, kind, own, ranks=None):
    model = build().to(dtype)
    operator = kind(model, batch_loss, own, ranks=ranks)
    block = torch.randn(3, operator.size, generator=torch.Generator().manual_seed(5), dtype=torch.float64)
    return operator.matvec(block)


def rows(measured):
    return {name: frame.drop("run", strict=False).to_dicts() for name, frame in measured.results.tables.items()}


def failing_after(calls):
    """A loss that fails on the second rank alone, at one of its calls."""
    left = [calls if torch.distributed.get_rank() else 10**9]

    def loss(model, batch):
        left[0] -= 1
        if left[0] < 0:
            raise KeyError("planted")
        return batch_loss(model, batch)

    return loss


def told(**changes):
    given = {"build": build(), "batches": dealt(), "loss": batch_loss, "probes": ["gradient_norm"]} | changes
    try:
        lnlab.measure(**given, distributed=True)
    except LabError as error:
        return str(error)
    return "nothing"


def dealt(count=5):
    return batches(count)[torch.distributed.get_rank() :: 2]


def main(rank, folder):
    torch.set_num_threads(1)
    found = {"no group": told_without_group()}
    torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/store", rank=int(rank), world_size=2)
    for word, dtype in (("float64", torch.float64), ("float32", torch.float32)):
        for kind in (hessian, ggn):
            found[f"{kind.__name__} {word}"] = products(dtype, kind, dealt(), Ranks.of_torch()).tolist()
    found["empty rank"] = products(torch.float64, hessian, dealt(1), Ranks.of_torch()).tolist()
    found["rows"] = rows(lnlab.measure(build(), dealt(), batch_loss, probes=PROBES, distributed=True))
    parts = [{"kind": "hessian_spectrum", "draws": 1, "steps": 3, "parts": 2, "batches": 5}]
    found["parts"] = rows(lnlab.measure(build(), dealt(), batch_loss, probes=parts, distributed=True))
    spectrum = [{"kind": "hessian_spectrum", "draws": 1, "steps": 4, "keep": False}]
    for calls in (0, 2, 5, 12):
        found[f"fails after {calls}"] = told(loss=failing_after(calls), probes=spectrum)
    found["same batches"] = told(batches=batches())
    found["other weights"] = told(build=build(int(rank)))
    found["no batches"] = told(batches=batches()[:1] if rank == "0" else [])
    found["other probe"] = told(probes=["attention_logits"])
    found["other calls"] = told(probes=["gradient_norm", *(spectrum if rank == "0" else [])])
    found["still there"] = told()
    Path(f"{folder}/{rank}.json").write_text(json.dumps(found, allow_nan=False))

    def killed(model, batch):
        if rank == "1":
            os._exit(0)
        return batch_loss(model, batch)

    Path(f"{folder}/{rank}-killed.txt").write_text(told(loss=killed))
    # Now and then gloo aborts when it takes down connections to a process that was killed.
    os._exit(0)


def told_without_group():
    try:
        lnlab.measure(build(), batches(), batch_loss, distributed=True)
    except LabError as error:
        return str(error)
    return "nothing"


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(*sys.argv[1:])
