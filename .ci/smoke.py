"""Every profile of these specs is right, and the smoke profile runs and has its page; as many at once as cores."""

import os
import sys
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path

import lnlab
from lnlab.errors import LabError
from lnlab.execute import pool

# A worker for each of these short runs would take longer to import lnlab than to do its units.
pool.PRELOADED.extend(["lnlab.execute.worker", "lnlab.execute.registry_loader"])


def smoke(spec: str) -> tuple[str, list[str]]:
    """What was done, and what is wrong."""
    try:
        right = _sound_profiles(spec)
        outcome = lnlab.run(spec, profile="smoke", workers=1, progress=False)
        page = lnlab.report(spec, profile="smoke")
    except LabError as error:
        return f"{spec}: failed", list(map(str, error.issues))
    broken = [f"section {part.number}: {part.error}" for part in page.failed]
    ends = [f"{failure['run']}: {failure['reason']}" for failure in outcome.failures if not outcome.results.ended]
    empty = [] if Path(page.files[0]).stat().st_size else [f"{page.files[0]} is empty"]
    done = f"{right}, {outcome.computed} units computed, {len(page.files)} files"
    return f"{spec}: {done}", [f"{spec}: {problem}" for problem in (*ends, *broken, *empty)]


def _sound_profiles(spec: str) -> str:
    """How many profiles are right: all of them, or smoke alone where the real text of another is not at hand."""
    try:
        return f"{len(lnlab.check(spec))} profiles are right"
    except LabError as error:
        if os.environ.get("LNLAB_DATA") or not all("LNLAB_DATA" in str(issue) for issue in error.issues):
            raise
        lnlab.check(spec, profile="smoke")
        return "smoke is right, and another profile needs real text"


if __name__ == "__main__":
    wrong = []
    with ProcessPoolExecutor(pool.cores(), mp_context=get_context("spawn")) as processes:
        for future in as_completed([processes.submit(smoke, spec) for spec in sys.argv[1:]]):
            done, problems = future.result()
            wrong += problems
            print(done, flush=True)
    sys.exit("\n".join(wrong) or 0)
