"""How long a plan takes: 1,000 and 100,000 runs, of many variants, of many seeds, and of both.

python benchmarks/planning.py [repeats]
"""

import sys
from pathlib import Path
from statistics import median
from time import perf_counter

from lnlab.compile.plan import compile_plan
from lnlab.specfile.load import parse_spec
from tests.compile import conftest as toys

SHAPES = {  # (values of three axes, seeds)
    "1,000 runs": ((10, 5, 2), 10),
    "100,000 runs: 100,000 variants": ((100, 50, 20), 1),
    "100,000 runs: 1,000 variants, 100 seeds": ((10, 10, 10), 100),
    "100,000 runs: 1 variant": ((1, 1, 1), 100_000),
}


def main(repeats: int) -> None:
    for name, ((vocabularies, widths, layers), seeds) in SHAPES.items():
        grid = {
            "task.vocabulary": list(range(1, vocabularies + 1)),
            "model.d_model": [4 * n for n in range(1, widths + 1)],
            "model.layers": list(range(1, layers + 1)),
        }
        document = parse_spec(
            toys.BASE.replace("seeds: 2", f"seeds: {seeds}") + f"sweep: [{grid}]\n", Path("spec.yaml")
        )
        times = []
        for _ in range(repeats):
            start = perf_counter()
            plan = compile_plan(document, toys.toys(), ())
            times.append(perf_counter() - start)
        print(f"{name}: {median(times):.2f} s ({len(plan.runs):,} runs, {len(plan.settings):,} variants)")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3)
