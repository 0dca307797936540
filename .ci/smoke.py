"""Every profile of these specs is right, and the smoke profile runs and has its page; as many at once as cores."""

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
        profiles = lnlab.check(spec)
        outcome = lnlab.run(spec, profile="smoke", workers=1, progress=False)
        page = lnlab.report(spec, profile="smoke")
    except LabError as error:
        return f"{spec}: failed", list(map(str, error.issues))
    broken = [f"section {part.number}: {part.error}" for part in page.failed]
    ends = [f"{failure['run']}: {failure['reason']}" for failure in outcome.failures if not outcome.results.ended]
    empty = [] if Path(page.files[0]).stat().st_size else [f"{page.files[0]} is empty"]
    done = f"{len(profiles)} profiles are right, {outcome.computed} units computed, {len(page.files)} files"
    return f"{spec}: {done}", [f"{spec}: {problem}" for problem in (*ends, *broken, *empty)]


if __name__ == "__main__":
    wrong = []
    with ProcessPoolExecutor(pool.cores(), mp_context=get_context("spawn")) as processes:
        for future in as_completed([processes.submit(smoke, spec) for spec in sys.argv[1:]]):
            done, problems = future.result()
            wrong += problems
            print(done, flush=True)
    sys.exit("\n".join(wrong) or 0)
