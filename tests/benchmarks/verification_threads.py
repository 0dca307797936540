"""Whether ``lnlab verify --level 2`` raises a false alarm with other threads and instructions than those of the report.

python tests/benchmarks/verification_threads.py SPEC...
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

THREADS = (1, 2, 4)
CAPABILITIES = ("default", "avx2")
_UNEQUAL = re.compile(r"([\d,]+) of ([\d,]+) numbers not equal to the last bit")
_EQUAL = re.compile(r"([\d,]+) numbers, all equal to the last bit")
_SHARE = re.compile(r" by ([\d.e+-]+) of their margin")


def row(spec: Path, threads: int, capability: str) -> str:
    """A row of the table: how many numbers were computed again, how many moved and how far, and the alarms."""
    environment = os.environ | {"LNLAB_THREADS": str(threads), "ATEN_CPU_CAPABILITY": capability}
    command = [sys.executable, "-m", "lnlab", "verify", str(spec), "--level", "2", "--json", "--workers", "2"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    (report,) = json.loads(done.stdout)["reports"]
    note = report["notes"][0]
    moved, numbers = _UNEQUAL.search(note).groups() if _UNEQUAL.search(note) else ("0", _EQUAL.search(note)[1])
    farthest = max(map(float, _SHARE.findall(note)), default=0.0)
    cells = (spec.stem, threads, capability, numbers, moved, f"{farthest:.2g}", len(report["differences"]))
    return f"| {' | '.join(map(str, cells))} |"


def main(specs: list[Path]) -> None:
    print("| spec | threads | instructions | numbers compared | not equal to the last bit | of their margin | alarms |")
    print("|---|--:|---|--:|--:|--:|--:|")
    for spec in specs:
        for capability in CAPABILITIES:
            for threads in THREADS:
                print(row(spec, threads, capability), flush=True)


if __name__ == "__main__":
    main([Path(name) for name in sys.argv[1:]])
