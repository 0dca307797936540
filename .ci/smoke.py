"""The smoke profile of each of these specs with its page, in one process: torch and altair are imported once."""

import sys
from pathlib import Path

import lnlab

wrong = []
for spec in sys.argv[1:]:
    outcome = lnlab.run(spec, "smoke", workers=1, progress=False)
    page = lnlab.report(spec, "smoke")
    broken = [f"section {part.number}: {part.error}" for part in page.failed]
    ends = [f"{failure['run']}: {failure['reason']}" for failure in outcome.failures if not outcome.results.ended]
    empty = [] if Path(page.files[0]).stat().st_size else [f"{page.files[0]} is empty"]
    wrong += [f"{spec}: {problem}" for problem in (*ends, *broken, *empty)]
    print(f"{spec}: {outcome.computed} units computed, {len(page.files)} files")
sys.exit("\n".join(wrong) or 0)
