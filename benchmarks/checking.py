"""CPU seconds of ``lnlab check``: of a misspelt key, until it is told; of xiong_fig3; and of specs with 1,000 variants.

python benchmarks/checking.py [repeats]
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

LNLAB = Path(sys.executable).parent / "lnlab"
SPEC = Path(__file__).parents[1] / "specs" / "xiong_fig3.yaml"
TOY = """\
lnlab: 2
title: a sweep
task: {{kind: random_tokens, vocabulary: 1000, sentences: 4, length: 16}}
model: {{kind: encoder, layers: 6, d_model: 128, heads: 4, d_ff: 256, tied: none}}
norm: layer
placement: post
init: xavier_normal
optimizer: adam
schedule: constant
train: {{steps: 10}}
seeds: 1
probes: [{{kind: gradient_norm, at: init, batches: 1}}]
sweep: [{sweep}]
"""
RATES = ", ".join(f"{1e-5 * n:.5g}" for n in range(1, 1001))
SWEEPS = {
    "1,000 learning rates": f"{{optimizer.lr: [{RATES}]}}",
    "10 vocabularies, 10 widths and 10 depths": (
        f"{{task.vocabulary: {list(range(1000, 1010))}, model.d_model: {list(range(64, 144, 8))}, "
        f"model.layers: {list(range(1, 11))}}}"
    ),
    "1,000 widths": f"{{model.d_model: {list(range(32, 4032, 4))}}}",
}


def cpu_seconds(spec: Path) -> tuple[float, float]:
    """CPU time of a check until it says something, and of all of it."""
    ticks = os.sysconf("SC_CLK_TCK")
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    command = [LNLAB, "check", spec]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment) as process:
        process.stdout.readline()
        fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
        first = (int(fields[11]) + int(fields[12])) / ticks
        process.stdout.read()
        _, _, used = os.wait4(process.pid, 0)
        process.returncode = 0
    return first, used.ru_utime + used.ru_stime


def main(repeats: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        specs = {"xiong_fig3": SPEC}
        for name, sweep in SWEEPS.items():
            specs[name] = Path(folder, f"{len(specs)}.yaml")
            specs[name].write_text(TOY.format(sweep=sweep))
        for name, text in {
            "xiong_fig3, its title misspelt": SPEC.read_text().replace("\ntitle:", "\ntitel:", 1),
            "100,000 variants, a key misspelt": TOY.format(
                sweep=f"{{optimizer.lr: [{RATES}], task.vocabulary: {list(range(1000, 1100))}}}"
            ).replace("\nnorm:", "\nnormm:"),
        }.items():
            specs[name] = Path(folder, f"{len(specs)}.yaml")
            specs[name].write_text(text)
        for name, spec in specs.items():
            first, whole = zip(*(cpu_seconds(spec) for _ in range(repeats)), strict=True)
            print(f"{name}: told after {median(first):.2f} CPU s, done after {median(whole):.2f}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3)
