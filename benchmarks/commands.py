"""CPU seconds of the commands that people type all day: help, a list, a mistake, a check, a rerun and its report.

python benchmarks/commands.py [repeats]
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

LNLAB = Path(sys.executable).parent / "lnlab"
SPEC = Path(__file__).parents[1] / "specs" / "xiong_fig3.yaml"
COMMANDS = {
    "--help": ["--help"],
    "list": ["list"],
    "check, a key misspelt": ["check", "misspelt.yaml"],
    "check": ["check", "xiong_fig3.yaml"],
    "run with nothing to do": ["run", "xiong_fig3.yaml", "--profile", "smoke", "--quiet"],
    "report of the smoke profile": ["report", "xiong_fig3.yaml", "--profile", "smoke"],
}


def cpu_seconds(arguments: list[str], folder: str) -> float:
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPYCACHEPREFIX": str(Path(folder, "compiled"))}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # a user's Python keeps the modules that it has compiled
    with subprocess.Popen(
        [LNLAB, *arguments], cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        _, _, used = os.wait4(process.pid, 0)
        process.returncode = 0
    return used.ru_utime + used.ru_stime


def main(repeats: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(SPEC, folder)
        Path(folder, "misspelt.yaml").write_text(SPEC.read_text().replace("\ntitle:", "\ntitel:", 1))
        cpu_seconds(COMMANDS["run with nothing to do"], folder)  # everything is computed once
        for name, arguments in COMMANDS.items():
            cpu_seconds(arguments, folder)  # once unmeasured, as it compiles modules
            times = [cpu_seconds(arguments, folder) for _ in range(repeats)]
            print(f"{name}: median {median(times):.2f} CPU s of {repeats}, {min(times):.2f} to {max(times):.2f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
