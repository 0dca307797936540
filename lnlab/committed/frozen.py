"""Criteria that were frozen before a run: ``<spec>.criteria`` beside the spec, a table for each profile.

    [real]
    shrinks = { commit = "1f0c...", digest = "68fa47418db3", date = "2026-11-28", seeds = "1-5" }

An entry has the digest of what the claim tests (``claims.criterion_digest``) of the runs that the spec plans, the day
and the commit. Where something is chosen on tuning seeds, the plan is that of the first candidate, and the digest has
the question as well. A claim that had been looked at says so: ``after = "a look"``, or ``"a run"``.
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path

from lnlab.claims.criterion_digest import covers
from lnlab.committed.commits import head_commit
from lnlab.committed.locks.lock_text import lock_text, parse_lock
from lnlab.errors import LabError
from lnlab.files import replacing
from lnlab.issues import Issue
from lnlab.keys import Json
from lnlab.userfiles import read_user_file

FROZEN_SUFFIX = ".criteria"
DEFAULT = "default"
"""The table of the spec as it stands, which has no profile."""
LOOKED, RAN = "a look", "a run"
"""What had been before a criterion was frozen."""
_HEAD = "# Written by `lnlab lock --claims` before a run. Commit it: its dates are compared with those of the looks.\n"
_LARGEST = 4 * 1024 * 1024


@dataclass(frozen=True, kw_only=True)
class FrozenCriterion:
    """The criterion of a claim as it was frozen.

    Attributes:
        digest: of what is tested of the planned runs.
        date: the day.
        commit: of the repository at that time, or nothing.
        seeds: on which it was to be judged.
        after: what of this claim there was before, or nothing.
    """

    digest: str
    date: str
    commit: str = ""
    seeds: str = ""
    after: str = ""


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
        return {
            profile: {claim: FrozenCriterion(**_texts(entry)) for claim, entry in entries.items()}
            for profile, entries in tables.items()
        }
    except (UnicodeDecodeError, TypeError, AttributeError) as error:
        raise LabError(Issue("damaged", str(path), "is not as lnlab lock --claims writes it", remedy)) from error


def _texts(entry: Mapping[str, Json]) -> dict[str, str]:
    if not all(isinstance(value, str) for value in entry.values()):
        raise TypeError("texts alone")
    return dict(entry)


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
        after = LOOKED if claim in seen else RAN if ran else ""
        earlier = before.get(claim)
        frozen[claim] = (
            earlier
            if earlier is not None and covers(earlier.digest, criterion)
            else FrozenCriterion(digest=criterion, date=today, commit=commit, seeds=seeds, after=after)
        )
    tables[profile or DEFAULT] = frozen
    values = {
        name: {claim: {k: v for k, v in asdict(entry).items() if v} for claim, entry in entries.items()}
        for name, entries in tables.items()
    }
    with replacing(path) as file:
        file.write(lock_text(values, _HEAD).encode())
    return frozen


def frozen_facts(
    spec: Path,
    profile: str | None,
    criteria: Mapping[str, tuple[str, str]],
) -> dict[str, dict[str, Json]]:
    """What a report keeps of the frozen criteria of its claims: each with ``state``, ``kept`` or ``changed``."""
    return {
        claim: {
            **{name: value for name, value in asdict(entry).items() if value},
            "state": "kept" if covers(entry.digest, criteria[claim][0]) else "changed",
        }
        for claim, entry in read_frozen(spec, profile).items()
        if claim in criteria
    }
