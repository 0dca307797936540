"""Whether runs computed again at level 2 differ where torch has other threads and instructions than the report had.

python benchmarks/verification_threads.py LOCK...
"""

import json
import os
import re
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

from lnlab.app.recomputed import recomputation
from lnlab.app.run_options import RunOptions
from lnlab.consoles import stderr_console

THREADS = (1, 2, 4)
CAPABILITIES = ("default", "avx2")
_UNEQUAL = re.compile(r"([\d,]+) of ([\d,]+) numbers not equal to the last bit")
_EQUAL = re.compile(r"(0)? ?([\d,]+) numbers, all equal to the last bit")
_SHARE = re.compile(r" by ([\d.e+-]+) of their margin")


def row(lock: Path, threads: int, capability: str) -> str:
    """A row of the table: how many numbers were computed again, how many moved and how far, and the alarms."""
    environment = os.environ | {"LNLAB_THREADS": str(threads), "ATEN_CPU_CAPABILITY": capability}
    command = [sys.executable, __file__, "--one", str(lock)]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    again = json.loads(done.stdout)
    note = again["notes"][0]
    match = _UNEQUAL.search(note) or _EQUAL.search(note)
    farthest = max(map(float, _SHARE.findall(note)), default=0.0)
    cells = (lock.stem, capability, threads, match[2], match[1] or 0, f"{farthest:.2g}", len(again["differences"]))
    return f"| {' | '.join(map(str, cells))} |"


def print_one(lock: Path) -> None:
    """Compute a sample again in this process's environment, and print what came of it."""
    options = RunOptions(console=stderr_console(), quiet=True, workers=1)
    print(json.dumps(asdict(recomputation(lock, options, every_run=False)), default=str))


def main(locks: list[Path]) -> None:
    print("| spec | instructions | threads | numbers | not equal to the last bit | of their margin | alarms |")
    print("|---|---|--:|--:|--:|--:|--:|")
    for lock in locks:
        for capability in CAPABILITIES:
            for threads in THREADS:
                print(row(lock, threads, capability), flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "--one":
        print_one(Path(sys.argv[2]))
    else:
        main([Path(name) for name in sys.argv[1:]])
