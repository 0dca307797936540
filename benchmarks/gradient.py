"""What a worker's gradient costs beside bare PyTorch on the same model and batches.

Ten alternating blocks; the median ratio is printed with the ratio of bare against itself, which is the noise floor.

    python benchmarks/gradient.py [blocks]
"""

import os
import sys
from pathlib import Path
from statistics import median
from time import perf_counter

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("MKL_NUM_THREADS", "1")

import torch
from torch.nn import functional

from lnlab.catalogue import REGISTRIES
from lnlab.compile.plan import compile_plan
from lnlab.corpora.files.fetch import data_roots
from lnlab.execute.measure import measure
from lnlab.execute.program import build
from lnlab.report.registries import FRAME_REGISTRIES
from lnlab.specfile.load import load_spec

SPEC = Path(__file__).parents[1] / "specs" / "xiong_fig3.yaml"
BATCHES = 6


def bare(model: torch.nn.Module, batches: list) -> None:
    """The loop that anyone would write: mean of the loss, backward, the norm of every accumulated gradient."""
    tokens = sum(int((batch.target_out != 0).sum()) for batch in batches)
    for batch in batches:
        logits = model(batch)
        loss = functional.cross_entropy(
            logits.flatten(0, 1), batch.target_out.flatten(), ignore_index=0, label_smoothing=0.1, reduction="sum"
        )
        (loss / tokens).backward()
    torch.stack([parameter.grad.norm() for parameter in model.parameters()]).tolist()
    model.zero_grad(set_to_none=True)


def main(blocks: int) -> None:
    torch.set_num_threads(1)
    plan = compile_plan(
        load_spec(SPEC), {**REGISTRIES, **FRAME_REGISTRIES}, data_roots(SPEC.parent), overrides=("seeds=1",)
    )
    first = next(t for t in plan.trajectories if t.setting["decoder"]["layers"] == 6)
    gradient = next(m for m in first.measurements if m.probe["kind"] == "gradient_norm")
    state = build(first, REGISTRIES, data_roots(SPEC.parent))
    batches = state.batches(BATCHES)

    def timed(work) -> float:
        start = perf_counter()
        work()
        return perf_counter() - start

    worker = lambda: list(measure(state, gradient, REGISTRIES)[1])  # noqa: E731
    plain = lambda: bare(state.model, batches)  # noqa: E731
    for warm in (worker, plain):
        warm()
    ratios, noise = [], []
    for _ in range(blocks):
        a, b, c = timed(plain), timed(worker), timed(plain)
        ratios.append(2 * b / (a + c))
        noise.append(c / a)
    print(f"worker / bare: median {median(ratios):.3f} of {blocks} blocks of {BATCHES} gradients")
    print(f"bare / bare:   median {median(noise):.3f}, range {min(noise):.3f} to {max(noise):.3f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10)
