"""How long a whole spectrum takes, and what memory: 90 steps of Lanczos from one start vector, two threads.

    python benchmarks/curvature_spectrum.py [pairs] [d_model] [vocabulary] [steps] [threads]

To be held against 12 minutes and 12 GiB at the sizes that stand as defaults. Printed by hand, asserted nowhere.
"""

import resource
import sys
from time import perf_counter

import torch
from pairs import by_length, size_of, state_of

from lnlab.curvature.hessian import hessian
from lnlab.curvature.spectrum import spectrum


def main(pairs: int, width: int, vocabulary: int, steps: int, threads: int) -> None:
    torch.set_num_threads(1)
    state = state_of(width, vocabulary)
    batches = by_length(state, pairs)
    print(f"{pairs} pairs, {sum(b.tokens for b in batches):,} target tokens in {len(batches)} shards", flush=True)
    begun = perf_counter()
    operator = hessian(state.model, state.task.loss, batches, keep=True, threads=threads)
    linearized = perf_counter() - begun
    found = spectrum(operator, [torch.Generator().manual_seed(1)], steps=steps)
    whole, peak = perf_counter() - begun, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    nodes = found.quadratures[0].nodes
    print(
        f"{steps} steps over {size_of(state):,} parameters by {threads} threads: {whole / 60:.1f} min, of which "
        f"{linearized:.0f} s for the graphs; {(whole - linearized) / steps:.2f} s a step; {peak:.1f} GiB at the peak; "
        f"from {float(nodes.min()):.3g} to {float(nodes.max()):.3g}"
    )


if __name__ == "__main__":
    given = [int(word) for word in sys.argv[1:]]
    main(*(given + [1000, 128, 8000, 90, 2][len(given) :]))
