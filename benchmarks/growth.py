"""How time and memory of the commands grow with the store: two sizes, and the exponent between them.

Processor seconds of the command and its children, as the load of the machine hardly changes them, and the peak of the
largest process. The sizes are multiples of 2,000 runs, of at least 4,000. A store that is there is used. Printed by
hand, asserted nowhere.

python benchmarks/growth.py FOLDER [runs runs]
"""

import os
import subprocess
import sys
from collections.abc import Sequence
from math import log
from pathlib import Path

COMMANDS = (
    ("check", "large_store.yaml"),
    ("plan", "large_store.yaml", "--store", "store"),
    ("ls", "--store", "store"),
    ("status", "large_store.yaml", "--store", "store"),
    ("gc", "--store", "store"),
    ("run", "large_store.yaml", "--store", "store"),
    ("results", "large_store.yaml", "--quantity", "loss", "--out", "loss.parquet", "--store", "store"),
)


def usage(command: tuple[str, ...], folder: Path) -> tuple[float, float]:
    """Processor seconds and peak MiB of a call of Python, which has to succeed."""
    with (folder / "output.txt").open("wb") as output:
        process = subprocess.Popen([sys.executable, *command], cwd=folder, stdout=output, stderr=output)
        _, status, spent = os.wait4(process.pid, 0)
    if os.waitstatus_to_exitcode(status):
        sys.exit((folder / "output.txt").read_text())
    return spent.ru_utime + spent.ru_stime, spent.ru_maxrss / 1024


def main(folder: Path, sizes: tuple[int, int]) -> None:
    """Fill a store of each size, and print a line for each command."""
    for runs in sizes:
        if not (folder / str(runs) / "store").exists():
            # in a process of its own: a command inherits the peak of the process that starts it
            filler = Path(__file__).with_name("large_store.py")
            subprocess.run([sys.executable, filler, folder / str(runs), str(runs), "10"], check=True)
    for command in COMMANDS:
        called = ("-m", "lnlab", *command)
        usage(called, folder / str(sizes[0]))  # what the first call remembers is not measured
        used = [usage(called, folder / str(runs)) for runs in sizes]
        print(growth_line(command[0], sizes, used), flush=True)


def growth_line(name: str, sizes: tuple[int, int], used: Sequence[tuple[float, float]]) -> str:
    """Both sizes with seconds and MiB, and the exponents between them."""
    (seconds, memory), (more_seconds, more_memory) = used
    few, many = sizes
    times, memories = (log(more / less) / log(many / few) for less, more in zip(*used, strict=True))
    return (
        f"{name:8} {few:,}: {seconds:.1f} s, {memory:,.0f} MiB; {many:,}: {more_seconds:.1f} s, "
        f"{more_memory:,.0f} MiB; grows as n^{times:.2f} and n^{memories:.2f}"
    )


if __name__ == "__main__":
    os.nice(5)
    given = [int(size) for size in sys.argv[2:]]
    main(Path(sys.argv[1]).resolve(), (given[0], given[1]) if given else (4_000, 16_000))
