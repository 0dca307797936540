"""What lies in the folder of a committed report, and what a lock says of it. Nothing is drawn."""

import json
import os
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from lnlab.claims.claim import Verdict
from lnlab.committed.locks.lock_text import LockTables
from lnlab.errors import ReportError
from lnlab.folders import leftovers_beside
from lnlab.issues import Issue
from lnlab.keys import Json, digest_bytes
from lnlab.report.contents import EXPERIMENT_FILE, is_report, list_files, read_file
from lnlab.report.facts import ReportFacts
from lnlab.report.folder import parse_report
from lnlab.report.rounding import rounded
from lnlab.tables import Results

_LEFT = "was left by a report that was not finished, and goes with the next one"
_SHARED = re.compile(rb"vega-[0-9a-f]{16}\.js")


@dataclass(frozen=True)
class CommittedReport:
    """A report as it lies in its folder.

    Attributes:
        folder: of the report.
        contents: every file by its path below the folder. The path of a file that pages share starts with ``..``.
        foreign: what lies there and belongs to no report, by its path, and why.
        unread: files that were not asked for.
    """

    folder: Path
    contents: Mapping[str, bytes]
    foreign: Mapping[str, str] = field(default_factory=dict)
    unread: tuple[str, ...] = ()

    @property
    def digests(self) -> dict[str, str]:
        """The SHA-256 of every file."""
        return {name: digest_bytes(content) for name, content in self.contents.items()}

    @property
    def shared(self) -> list[str]:
        """The script and the style that its page takes from the folder ``assets``, by their names."""
        return sorted({match.decode() for match in _SHARED.findall(self.contents.get("index.html", b""))})

    @cached_property
    def parsed(self) -> tuple[ReportFacts, Results, list[Verdict]]:
        """What its data say.

        Raises:
            ReportError: a file of them is absent or cannot be read.
        """
        return parse_report(self.contents, self.folder)


def read_committed(folder: Path, names: Collection[str] | None = None) -> CommittedReport:
    """A report as it lies in its folder.

    Args:
        folder: of the report.
        names: the files that are read. None means all of them, and then nothing else may lie there.

    Raises:
        ReportError: there is no such folder, it cannot be listed, or something lies there that no report writes.
    """
    if not is_report(folder):
        raise ReportError(Issue("missing", str(folder), f"is not the folder of a report: it lacks {EXPERIMENT_FILE}"))
    found, entries = list_files(folder)
    foreign = {entry.name: f"is {entry.what}, and no file of a report" for entry in entries}
    foreign |= {
        name: "is hidden, and no file of a report" for name in found if any(p.startswith(".") for p in name.split("/"))
    }
    foreign |= {f"../{path.name}": _LEFT for path in leftovers_beside(folder)}
    contents: dict[str, bytes] = {}
    for name in found:
        if name not in foreign and (names is None or name in names):
            try:
                contents[name] = read_file(folder, name) or b""
            except ReportError as error:
                foreign[name] = error.issues[0].what
    if names is None and foreign:
        where = {name: os.path.normpath(folder / name) for name in foreign}
        raise ReportError(
            *(Issue("no-effect", where[name], what, "remove it") for name, what in sorted(foreign.items()))
        )
    unread = tuple(name for name in found if name not in contents and name not in foreign)
    report = CommittedReport(folder, contents, foreign, unread)
    # What pages share lies in the folder assets beside the report or its parent.
    for shared in report.shared:
        places = [parent / "assets" / shared for parent in (folder.parent, folder.parent.parent)]
        for path in [place for place in places if place.is_file()][:1]:
            contents[Path(os.path.relpath(path, folder)).as_posix()] = read_file(path.parent, path.name) or b""
    return report


def locked_tables(report: CommittedReport) -> LockTables:
    """What a lock says of a report: the SHA-256 of its files, its verdicts, and the looks that led to them, as JSON.

    Raises:
        ReportError: a file of its data is absent or cannot be read.
    """
    facts, _, verdicts = report.parsed
    looks = {
        claim: json.dumps([dict(look) for look in of_claim], sort_keys=True) for claim, of_claim in facts.looks.items()
    }
    said: dict[str, Json] = {}
    for one in verdicts:
        numbers = {name: getattr(one, name) for name in ("estimate", "low", "high")}
        estimates = {name: None if value is None else rounded(value) for name, value in numbers.items()}
        said[one.claim] = {"verdict": one.verdict, "n": one.n, **estimates}
    return {
        "name": facts.name,
        "profile": facts.profile or "",
        "plan": facts.digest,
        "spec": digest_bytes(facts.spec.encode()),
        "files": report.digests,
        "verdicts": said,
        **({"looks": looks} if looks else {}),
    }
