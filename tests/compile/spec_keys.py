"""What every shipped spec would compute, as digests: ``make keys`` writes tests/fixtures/keys.json, the suite compares.

A change of the grammar, the compiler or the registries that is meant to leave all results as they are leaves this file
as it is. A key that moves means that a committed number would be computed again.
"""

import hashlib
import json
import os
import sys
from pathlib import Path

from lnlab.catalogue import REGISTRIES
from lnlab.compile.plan import compile_plan
from lnlab.compile.work import Plan
from lnlab.errors import LabError
from lnlab.report.registries import FRAME_REGISTRIES
from lnlab.specfile.load import load_spec

ROOT = Path(__file__).parents[2]
KEPT = ROOT / "tests/fixtures/keys.json"


def digest_of(keys: set[str]) -> str:
    """How many keys there are and one digest of all of them, whatever their order."""
    return f"{len(keys)} {hashlib.sha256(chr(10).join(sorted(keys)).encode()).hexdigest()[:16]}"


def keys_of(plan: Plan) -> dict[str, str]:
    """The keys of a plan, and of the runs of other specs that it begins with."""
    plans = (plan, *plan.sources)
    measurements = {m.key for p in plans for t in p.trajectories for m in t.measurements}
    return {
        "runs": digest_of({run.key for p in plans for run in p.runs}),
        "trajectories": digest_of({t.key for p in plans for t in p.trajectories}),
        "measurements": digest_of(measurements | {need[3] for p in plans for need in p.needs}),
    }


def spec_keys(path: Path, data: tuple[Path, ...]) -> dict[str, dict[str, str] | str]:
    """The keys of a spec by profile; a sentence where its corpora are not at hand, so that it has none."""
    document = load_spec(path)
    registries = {**REGISTRIES, **FRAME_REGISTRIES}
    found: dict[str, dict[str, str] | str] = {}
    for profile in (None, *document.data.get("profiles", {})):
        try:
            plan = compile_plan(document, registries, data, profile=profile, memory=2**50)
        except LabError as error:
            found[profile or "default"] = f"no plan here: {type(error).__name__}"
        else:
            found[profile or "default"] = keys_of(plan)
    return found


if __name__ == "__main__":
    roots = tuple(Path(folder) for folder in os.environ.get("LNLAB_DATA", "").split(os.pathsep) if folder)
    if not any((root / "multi30k").is_dir() for root in roots):
        sys.exit("LNLAB_DATA has to name the folder of the real corpora, or keys of plans that read them would be lost")
    specs = [Path(name) for name in sys.argv[1:]] or sorted((ROOT / "specs").glob("*.yaml"))
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    for spec in specs:
        kept[spec.stem] = spec_keys(spec, roots)
        KEPT.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n")
