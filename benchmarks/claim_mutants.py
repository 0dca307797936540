"""Mistakes in claims of shipped specs, fixtures and guides: how many ``lnlab check`` refuses, and where it says so.

Each mutant is a spec with one claim and one mistake in it, of ten kinds. Other claims, sections and profiles are left
out, as nothing in them was changed. A spec that is not sound like that is skipped. A mutant that passes is compared
with its sound spec on made-up rows (``still_sound``): one that reads the same rows, or one number a run, is sound.

python benchmarks/claim_mutants.py [mutants] [seed]
"""

import json
import sys
from collections import Counter
from collections.abc import Iterator
from copy import deepcopy
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from lnlab.app.planning.checks import check_request
from lnlab.app.rehearsal.judgeable import Rehearsals, judged_plan_of
from lnlab.app.rehearsal.made_up_rows import rehearse
from lnlab.app.request import Request
from lnlab.committed.registries import load_registries
from lnlab.errors import LabError
from lnlab.report.question import claims_with_choices
from lnlab.specfile.load import parse_leniently
from tests.app.rehearsal.claim_mutants import KINDS, Mutant, claims_in, still_sound

ROOT = Path(__file__).parents[1]
FOLDERS = ("specs", "tests/fixtures", "tests/fixtures/own", "tests/fixtures/guide", "docs/examples")
EACH = 5
"""Claims that are drawn of each spec."""
KNOWN = load_registries(())


def of_one_claim(data: dict[str, Any], number: int) -> dict[str, Any]:
    """A spec with one of its claims, those that it requires by id, and the section that it inherits from."""
    data = deepcopy(data)
    claim = list(claims_in(data))[number][0]
    stated = claim.get("requires") or ()
    needed = {claim["id"], *(one for one in ([stated] if isinstance(stated, str) else stated) if isinstance(one, str))}
    for owner in (data, *(data.get("report") or ())):
        owner["claims"] = [one for one in owner.get("claims") or () if one.get("id") in needed]
        owner.pop("while", None)
    data["report"] = [section for section in data.get("report") or () if section["claims"]]
    own_seeds = {name: seeds for name, seeds in (data.pop("claim_seeds", None) or {}).items() if name in needed}
    left = {key: value for key, value in data.items() if key not in ("answer", "dropped", "profiles")}
    return left | ({"claim_seeds": own_seeds} if own_seeds else {})


def mutants_of(path: Path, seed: int) -> Iterator[Mutant]:
    """A mutant of every kind for each of some claims of a spec."""
    document, _ = parse_leniently(path.read_text(encoding="utf-8"), path)
    stated = [claim for claim, _ in claims_in(document.data)] if isinstance(document.data, dict) else []
    random = Random(f"{seed} {path.stem}")
    for number in random.sample(range(len(stated)), min(EACH, len(stated))):
        sound = of_one_claim(document.data, number)
        if issues_of(path, json.dumps(sound)):
            continue
        for kind, change in KINDS.items():
            data = deepcopy(sound)
            claim, inherited = next((c, i) for c, i in claims_in(data) if c.get("id") == stated[number].get("id"))
            before = deepcopy(claim)
            key = change(claim, random)
            if key is not None and claim != before:
                yield Mutant(path.stem, kind, str(claim["id"]), key, json.dumps(data), before, claim, inherited)


@cache
def rehearsals(_path: Path) -> Rehearsals:
    """Those of one spec: its models are built once for all its mutants."""
    return Rehearsals(KNOWN)


def issues_of(path: Path, text: str) -> list[str]:
    """What ``check`` says of a text, without its place in the file."""
    try:
        check_request(Request(path, text=text), KNOWN, rehearsals(path), other_profiles=False)
    except LabError as error:
        return [issue.what for issue in error.issues]
    return []


def why_sound(path: Path, mutant: Mutant) -> str:
    """Why a mutant that passes is a sound spec, or "" where it is none."""
    plan, document = judged_plan_of(Request(path), KNOWN)
    claims = claims_with_choices(plan.experiment, list(zip(plan.experiment.claims, plan.claims, strict=True)))
    places = rehearsals(path).models.build(document, plan)
    return still_sound(mutant, rehearse(plan, claims, places, KNOWN).results)


def is_there(mutant: Mutant, said: str) -> bool:
    """Whether a message names the mutated key, what stands below it, or what it stands in."""
    named, changed = said.partition(": ")[0], f"claims.{mutant.claim}.{mutant.key}".rstrip(".")
    return named.startswith(changed) or (changed.startswith(named) and len(named) >= len(f"claims.{mutant.claim}"))


def main(number: int, seed: int) -> None:
    """Try mutants of all specs in turn, and print a row for each kind."""
    paths = [path for folder in FOLDERS for path in sorted((ROOT / folder).glob("*.yaml"))]
    made, refused, placed, sound = Counter[str](), Counter[str](), Counter[str](), Counter[str]()
    drawn = ((path, mutant) for path in Random(seed).sample(paths, len(paths)) for mutant in mutants_of(path, seed))
    for count, (path, mutant) in zip(range(number), drawn, strict=False):
        if count % 100 == 0:
            print(f"{count} tried", flush=True)
        made[mutant.kind] += 1
        said = issues_of(path, mutant.text)
        refused[mutant.kind] += bool(said)
        placed[mutant.kind] += any(is_there(mutant, one) for one in said)
        if not said:
            reason = why_sound(path, mutant)
            sound[mutant.kind] += bool(reason)
            print(f"passes: {path.stem} {mutant.kind} {mutant.claim} {mutant.key}: {reason or 'MISSED'}", flush=True)
        elif not any(is_there(mutant, one) for one in said):
            print(f"elsewhere: {path.stem} {mutant.kind} {mutant.claim} {mutant.key}: {said}", flush=True)
    print(f"\n{'kind':10} {'made':>6} {'sound':>6} {'refused':>8} {'there':>6} {'missed':>7}")
    for kind in (*KINDS, "all"):
        m, s, r, p = (sum(c.values()) if kind == "all" else c[kind] for c in (made, sound, refused, placed))
        print(f"{kind:10} {m:6} {s:6} {r:8} {p:6} {m - s - r:7}")
    wrong = sum(made.values()) - sum(sound.values())
    print(f"refused: {sum(refused.values()) / wrong:.1%} of {wrong} that are mistakes")


if __name__ == "__main__":
    main(*(int(word) for word in (sys.argv[1:3] + ["1000", "2"][len(sys.argv) - 1 :])[:2]))
