"""The looks that a report and the lock of its spec remember."""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from lnlab.committed.locks.lock_text import parse_lock
from lnlab.errors import LabError
from lnlab.report.contents import EXPERIMENT_FILE, read_file
from lnlab.report.folder import read_facts
from lnlab.store.looks import question_of_looks

LooksByClaim = Mapping[str, Sequence[Mapping[str, Any]]]


def known_looks(
    folder: Path, spec: Path, profile: str | None, overrides: Sequence[str] = ()
) -> tuple[LooksByClaim, LooksByClaim]:
    """The looks that the report in a folder remembers, and those of the lock beside a spec.

    Either is empty if the report or lock is of another spec, profile or setting, or cannot be read.
    """
    of_report: LooksByClaim = {}
    question = question_of_looks(profile, overrides)
    with suppress(LabError):
        facts = read_facts(folder, read_file(folder, EXPERIMENT_FILE))
        same = facts.name == spec.stem and question_of_looks(facts.profile, facts.overrides) == question
        of_report = facts.looks if same else {}
    lock = spec.with_suffix(".lock")
    of_lock: LooksByClaim = {}
    with suppress(OSError, ValueError, TypeError, AttributeError, LabError):
        tables = parse_lock(lock.read_text(encoding="utf-8"), str(lock))
        if (tables.get("profile"),) == question:
            of_lock = {claim: json.loads(text) for claim, text in tables.get("looks", {}).items()}
    return of_report, of_lock
