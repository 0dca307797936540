"""How much faster two workers train a small sweep than one does. Printed by hand, asserted nowhere.

python benchmarks/training_workers.py [steps] [seeds]
"""

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

SPEC = """\
lnlab: 2
title: A sweep that trains
task: {{kind: translation, corpus: toy_german_english, vocabulary: 500, batch_tokens: 512}}
model: {{kind: encoder_decoder, layers: 2, d_model: 64, heads: 4, d_ff: 128}}
placement: post
optimizer: {{kind: adam, lr: 1e-3}}
train: {{steps: {steps}}}
seeds: {seeds}
"""


def seconds(spec: Path, store: Path, workers: int) -> float:
    start = perf_counter()
    command = [sys.executable, "-m", "lnlab", "run", str(spec), "--store", str(store), "-q", "-w", str(workers)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env={**os.environ, "OMP_NUM_THREADS": "1"})
    return perf_counter() - start


def main(steps: int, seeds: int) -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "sweep.yaml").write_text(SPEC.format(steps=steps, seeds=seeds))
        one, two = (seconds(folder / "sweep.yaml", folder / str(n), n) for n in (1, 2))
    print(f"{seeds} runs of {steps} updates: one worker {one:.1f} s, two {two:.1f} s: {one / two:.2f} times as fast")


if __name__ == "__main__":
    main(*([int(word) for word in sys.argv[1:3]] or [200, 6]))
