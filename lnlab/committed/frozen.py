"""Criteria that were frozen before a run: ``<spec>.criteria`` beside the spec, a table for each profile.

    [real]
    shrinks = { commit = "1f0c...", digest = "68fa47418db3", date = "2026-11-28", seeds = "1-5" }

An entry has the digest of what the claim tests (``claims.criterion_digest``) of the runs that the spec plans, the day
and the commit. Where something is chosen on tuning seeds, the plan is that of the first candidate, and the digest has
the question as well. ``seeds`` are those on which it was to be judged. A claim that had been looked at says so:
``after = "a look"``, or ``"a run"``.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from lnlab.claims.criterion_digest import RESTRICTION_MARK, covers, criterion_digest
from lnlab.committed.commits import head_commit
from lnlab.committed.locks.lock_text import lock_text, parse_lock
from lnlab.compile.decisions import assumed_decision
from lnlab.compile.plan import compile_plan
from lnlab.errors import LabError
from lnlab.files import replacing
from lnlab.issues import Issue
from lnlab.keys import Json, digest
from lnlab.report.facts import ReportFacts
from lnlab.report.question import claims_with_choices
from lnlab.specfile.load import parse_spec
from lnlab.specfile.seeds import seeds_text
from lnlab.store.plans import plan_frames
from lnlab.tables import Results
from lnlab.userfiles import read_user_file

if TYPE_CHECKING:
    from lnlab.compile.resolve.choices import Registries
    from lnlab.registry import Roots
    from lnlab.specfile.load import SpecDocument

FROZEN_SUFFIX = ".criteria"
DEFAULT = "default"
"""The table of the spec as it stands, which has no profile."""
_REQUIRED = {"digest", "date"}
_FIELDS = {*_REQUIRED, "commit", "seeds", "after"}
_HEAD = "# Written by `lnlab lock --claims` before a run. Commit it: its dates are compared with those of the looks.\n"
_LARGEST = 4 * 1024 * 1024


FrozenCriterion = Mapping[str, str]
"""The criterion of a claim as it was frozen: ``digest date``, and what there is of ``commit seeds after``."""


def frozen_path(spec: Path) -> Path:
    """The file of the frozen criteria of a spec."""
    return spec.with_suffix(FROZEN_SUFFIX)


def read_frozen(spec: Path, profile: str | None) -> dict[str, FrozenCriterion]:
    """The frozen criteria of a spec in one of its profiles, by claim. Empty if none are frozen.

    Raises:
        LabError: the file cannot be read, or is not what lnlab writes.
    """
    return _tables(frozen_path(spec)).get(profile or DEFAULT, {})


def _tables(path: Path) -> dict[str, dict[str, FrozenCriterion]]:
    if not path.is_file():
        return {}
    remedy = "restore it from the repository"
    try:
        tables = parse_lock(read_user_file(path, "criteria", _LARGEST).decode(), str(path))
        for entry in (entry for entries in tables.values() for entry in entries.values()):
            if not (_REQUIRED <= entry.keys() <= _FIELDS and all(isinstance(value, str) for value in entry.values())):
                raise TypeError("no criterion")
    except (UnicodeDecodeError, TypeError, AttributeError) as error:
        raise LabError(Issue("damaged", str(path), "is not as lnlab lock --claims writes it", remedy)) from error
    return tables


def freeze_criteria(
    spec: Path,
    profile: str | None,
    criteria: Mapping[str, tuple[str, str]],
    *,
    looked: Iterable[str] = (),
    ran: bool = False,
) -> dict[str, FrozenCriterion]:
    """Freeze the criteria of a spec in one of its profiles. One that is frozen already keeps its date.

    Args:
        spec: its file.
        profile: of the criteria.
        criteria: as ``planned_criteria`` has them.
        looked: the claims that have been looked at.
        ran: whether a run of the spec has ended.

    Raises:
        LabError: the file there cannot be read.
        OSError: it cannot be written.
    """
    path = frozen_path(spec)
    tables = _tables(path)
    before = tables.get(profile or DEFAULT, {})
    today, commit, seen = date.today().isoformat(), head_commit(path.parent), set(looked)
    frozen: dict[str, FrozenCriterion] = {}
    for claim, (criterion, seeds) in criteria.items():
        earlier = before.get(claim)
        if earlier is not None and covers(earlier["digest"], criterion):
            frozen[claim] = earlier
            continue
        after = "a look" if claim in seen else "a run" if ran else ""
        entry = {"digest": criterion, "date": today, "commit": commit, "seeds": seeds, "after": after}
        frozen[claim] = {name: text for name, text in entry.items() if text}
    tables[profile or DEFAULT] = frozen
    with replacing(path) as file:
        file.write(lock_text(tables, _HEAD).encode())
    return frozen


def frozen_facts(
    spec: Path,
    profile: str | None,
    criteria: Mapping[str, tuple[str, str]],
) -> dict[str, dict[str, Json]]:
    """What a report keeps of the frozen criteria of its claims: each with ``state``, ``kept`` or ``changed``."""
    return {
        claim: {**entry, "state": "kept" if covers(entry["digest"], criteria[claim][0]) else "changed"}
        for claim, entry in read_frozen(spec, profile).items()
        if claim in criteria
    }


def planned_criteria(
    document: "SpecDocument", known: "Registries", profile: str | None, overrides: Sequence[str] = ()
) -> dict[str, tuple[str, str]]:
    """The digest of what each claim of a spec tests of its planned runs, by id, and its seeds.

    Where something is chosen on tuning seeds, the plan is that of the first candidate, and the digest covers the
    question. No corpus is read, as the digest must be the same on every machine.

    Raises:
        SpecError: every problem of the spec.
    """
    roots: Roots = ()
    plan = compile_plan(document, known, roots, profile=profile, overrides=overrides, assume_data=True)
    questions = sorted(question.key for question in plan.undecided)
    if plan.undecided:
        assumed = [assumed_decision(question) for question in plan.undecided]
        plan = compile_plan(
            document, known, roots, profile=profile, overrides=overrides, decisions=assumed, assume_data=True
        )
    frames = plan_frames(replace(plan, needs=()))
    results = Results(frames["runs"], frames["axes"], {})
    criteria = {}
    for claim in claims_with_choices(plan.experiment, zip(plan.experiment.claims, plan.claims, strict=True)):
        core, *restrictions = criterion_digest(claim, results).split(RESTRICTION_MARK)
        core = digest([core, claim.get("looks"), questions])[: len(core)]
        criteria[claim["id"]] = (
            RESTRICTION_MARK.join([core, *restrictions]),
            seeds_text(claim.get("seeds") or plan.experiment.seeds),
        )
    return criteria


def with_frozen_criteria(facts: ReportFacts, spec: Path, known: "Registries") -> ReportFacts:
    """The facts of a report with the criteria that were frozen beside its spec, each held against that of today.

    Raises:
        LabError: the file cannot be read, or the text of the spec in the facts is wrong.
    """
    criteria = planned_criteria(parse_spec(facts.spec, spec), known, facts.profile, facts.overrides)
    return replace(facts, frozen=frozen_facts(spec, facts.profile, criteria))
