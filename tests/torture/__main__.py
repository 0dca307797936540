"""``python -m tests.torture``: every fault at full size, and the table of docs/faults.md.

python -m tests.torture [--small] [--about runs|specs] [--only WORDS ...] [--write docs/faults.md]
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

from tests.torture.catalogue import FAULTS, GROUPS_OF_SPECS
from tests.torture.faults import suffer
from tests.torture.page import page_with


def main() -> int:
    """Inject, print, and write; 1 if anything was lost."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", action="store_true", help="the size of the test suite")
    parser.add_argument("--about", choices=["runs", "specs"], help="one half: stores and processes, or texts of specs")
    parser.add_argument("--only", default=[""], nargs="+", help="faults whose name holds one of these words")
    parser.add_argument("--write", type=Path, help="a page; its rows of these faults are replaced")
    chosen = parser.parse_args()
    begun, rows = time.monotonic(), []
    with tempfile.TemporaryDirectory(prefix="torture ") as scratch:
        for n, fault in enumerate(FAULTS.values()):
            about = "specs" if fault.group in GROUPS_OF_SPECS else "runs"
            if chosen.about in (None, about) and any(words in fault.name for words in chosen.only):
                row = suffer(fault, Path(scratch) / str(n), full=not chosen.small)
                rows.append(row)
                print(f"{row.seconds:6.1f} s  {' | '.join(row.cells())}", flush=True)
                for loss in row.tally.lost[:20]:
                    print(f"          {loss}", flush=True)
                if chosen.write:
                    chosen.write.write_text(page_with(chosen.write.read_text(), FAULTS, [row]))
    print(f"{sum(row.tally.injected for row in rows):,} faults in {time.monotonic() - begun:.0f} s")
    return int(any(row.tally.lost for row in rows))


if __name__ == "__main__":
    sys.exit(main())
