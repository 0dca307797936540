"""How long the commands take that people type all day: `--help`, and a rerun with nothing to do.

python tests/benchmarks/commands.py [repeats]
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter

LNLAB = Path(sys.executable).parent / "lnlab"
SPEC = Path(__file__).parents[2] / "specs" / "xiong_fig3.yaml"


def seconds(*arguments: str, cwd: str) -> float:
    start = perf_counter()
    subprocess.run([LNLAB, *arguments], cwd=cwd, check=True, capture_output=True)
    return perf_counter() - start


def main(repeats: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        spec = shutil.copy(SPEC, folder)
        first = seconds("run", spec, "--profile", "smoke", cwd=folder)
        print(f"first run, smoke profile: {first:.1f} s")
        for name, arguments in {"--help": ["--help"], "rerun": ["run", spec, "--profile", "smoke"]}.items():
            times = [seconds(*arguments, cwd=folder) for _ in range(repeats)]
            print(f"{name}: median {median(times):.2f} s of {repeats}, from {min(times):.2f} to {max(times):.2f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10)
