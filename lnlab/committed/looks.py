"""The looks that a report and the lock of its spec remember, and how looks of the past enter them."""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from lnlab.claims.look_book import LookBook
from lnlab.committed.locks.lock_text import parse_lock
from lnlab.errors import LabError
from lnlab.files import replacing
from lnlab.keys import Json
from lnlab.report.contents import EXPERIMENT_FILE, read_file
from lnlab.report.facts import ReportFacts, facts_from_json, facts_text
from lnlab.report.folder import read_facts
from lnlab.store.looks import question_of_looks

LooksByClaim = Mapping[str, Sequence[Mapping[str, Any]]]
LOOKS_TABLE = "looks"
"""The table of a lock: claim -> its looks, as JSON."""


def known_looks(
    folder: Path, spec: Path, profile: str | None, overrides: Sequence[str] = ()
) -> tuple[LooksByClaim, LooksByClaim]:
    """The looks that the report in a folder remembers, and those of the lock beside a spec.

    Either is empty if the report or lock is of another spec, profile or setting, or cannot be read.
    """
    of_report: LooksByClaim = {}
    question = question_of_looks(profile, overrides)
    with suppress(LabError):
        facts = facts_of_report(folder)
        same = facts.name == spec.stem and question_of_looks(facts.profile, facts.overrides) == question
        of_report = facts.looks if same else {}
    lock = spec.with_suffix(".lock")
    of_lock: LooksByClaim = {}
    with suppress(OSError, ValueError, TypeError, AttributeError, LabError):
        tables = parse_lock(lock.read_text(encoding="utf-8"), str(lock))
        if (tables.get("profile"),) == question:
            of_lock = {claim: json.loads(text) for claim, text in tables.get(LOOKS_TABLE, {}).items()}
    return of_report, of_lock


def add_past_looks(folder: Path, past: LooksByClaim) -> None:
    """Write looks of the past into a report, in front of those that it remembers: claim -> [{seeds, date, commit}].

    ``lnlab report --from`` then judges each claim at the level of its look, and keeps the record. ``lnlab lock`` copies
    the record into the lock. A set of seeds that the report remembers already is not another look. Looks that name no
    criterion belong to the claim as it is today.

    Raises:
        ReportError: the report cannot be read.
        OSError: it cannot be written.
    """
    facts = facts_of_report(folder)
    book = LookBook.from_json(past, facts.looks)
    with replacing(folder / EXPERIMENT_FILE) as file:
        file.write(facts_text(replace(facts, looks=book.to_json())).encode())


def locked_looks(looks: LooksByClaim) -> dict[str, Json]:
    """The table of a lock."""
    return {claim: json.dumps([dict(look) for look in entries], sort_keys=True) for claim, entries in looks.items()}


def facts_of_report(folder: Path) -> ReportFacts:
    """The facts of a report alone, without its tables.

    Raises:
        ReportError: they cannot be read.
    """
    content = read_file(folder, EXPERIMENT_FILE)
    return facts_from_json(read_facts(folder, content), str(folder / EXPERIMENT_FILE))
