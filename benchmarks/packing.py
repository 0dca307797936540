"""What finished runs cost on the disk, and how long ``status`` takes, before they are packed and after.

python benchmarks/packing.py [runs]
"""

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

from lnlab import files as whole_files
from lnlab.store.store import Store
from tests.support.store_toys import outcome_of, plan_of, rows_of

STATUS = "import sys; from lnlab.cli import main; sys.exit(main(['status', '--store', sys.argv[1]]))"


def main(runs: int) -> None:
    whole_files.sync = lambda path, flags=0: None  # the disk is not what is measured
    with tempfile.TemporaryDirectory() as folder:
        store, plan = Store(Path(folder) / "store"), plan_of(variants=runs // 50, seeds=50)
        spec = Path(folder) / "toy.yaml"
        spec.write_text("")
        store.save_plan(plan, spec)
        for unit in plan.trajectories:
            opened = store.open_unit(unit.key)
            for each in unit.measurements:
                opened.write("sites", rows_of(each))
            opened.commit([each.key for each in unit.measurements], outcome_of(unit))
        show("in folders", store)
        begun = perf_counter()
        store.pack()
        print(f"packing: {perf_counter() - begun:.1f} s, {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10} MB")
        show("packed", store)


def show(name: str, store: Store) -> None:
    number, size = store.size()
    disk = sum(path.lstat().st_blocks * 512 for path in store.root.rglob("*"))
    print(f"{name}: {number:,} files, {size / 1e6:.1f} MB in them, {disk / 1e6:.1f} MB on the disk")
    for which in ("first", "second"):
        begun = perf_counter()
        done = subprocess.Popen([sys.executable, "-c", STATUS, str(store.root)], stdout=subprocess.DEVNULL)
        _, code, used = os.wait4(done.pid, 0)
        took = perf_counter() - begun
        print(
            f"  {which} status: {took:.2f} s ({used.ru_utime + used.ru_stime:.2f} s of CPU), {used.ru_maxrss >> 10} MB"
        )
        assert code == 0


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5000)
