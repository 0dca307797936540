"""What a committed report says, read from its folder without drawing anything: the part of a lock that can be checked.

Nothing heavy is imported, so that all reports of a repository are read in seconds.
"""

import json
import os
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import polars as pl

from lnlab.claims.claim import Verdict
from lnlab.committed.locks.lock_text import LockTables
from lnlab.committed.looks import locked_looks
from lnlab.errors import LabError, ReportError
from lnlab.folders import leftovers_beside
from lnlab.issues import Issue
from lnlab.keys import Json, canonical, digest_bytes
from lnlab.report.contents import EXPERIMENT_FILE, is_report, list_files, read_file
from lnlab.report.facts import ReportFacts, facts_from_json
from lnlab.report.folder import parse_report, read_facts
from lnlab.report.rounding import rounded
from lnlab.row_digests import DIGITS, digests_by_variant
from lnlab.tables import Results

_LEFT = "was left by a report that was not finished, and goes with the next one"
_SHARED = re.compile(rb"vega-[0-9a-f]{16}\.js|page-[0-9a-f]{16}\.css")
_UNREADABLE = (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError, pl.exceptions.PolarsError)


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

    def facts(self) -> ReportFacts:
        """What no table says.

        Raises:
            ReportError: the file is absent or cannot be read.
        """
        where = str(self.folder / EXPERIMENT_FILE)
        try:
            return facts_from_json(read_facts(self.folder, self.contents.get(EXPERIMENT_FILE)), where)
        except _UNREADABLE as error:
            raise _unreadable(where, error) from error

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
    # The script and the style that pages share lie in the folder assets beside the report or its parent.
    for shared in sorted({match.decode() for match in _SHARED.findall(contents.get("index.html", b""))}):
        places = [parent / "assets" / shared for parent in (folder.parent, folder.parent.parent)]
        for path in [place for place in places if place.is_file()][:1]:
            contents[Path(os.path.relpath(path, folder)).as_posix()] = read_file(path.parent, path.name) or b""
    return CommittedReport(folder, contents, foreign, unread)


def derived_tables(report: CommittedReport) -> LockTables:
    """The tables of a lock that follow from the folder.

    Raises:
        ReportError: a table is absent or cannot be read. The error has all such problems.
    """
    problems: list[Issue] = []
    tables: dict[str, Json] = {"files": report.digests}
    for read in (_facts_tables, _group_table, _verdict_table):
        try:
            tables |= read(report)
        except LabError as error:
            problems += error.issues
    if problems:
        raise ReportError(*dict.fromkeys(problems))
    return tables


def _facts_tables(report: CommittedReport) -> dict[str, Json]:
    facts = report.facts()
    decisions: dict[str, Json] = {}
    for decision in facts.decisions:
        texts = {name: canonical(decision[name]) for name in ("about", "value")}
        entry = {"path": decision["path"], "met": decision["met"], "rows": str(decision["rows"])[:DIGITS], **texts}
        decisions[str(decision["key"])[:DIGITS]] = entry
    return {
        "name": facts.name,
        "profile": facts.profile or "",
        "plan": facts.digest,
        "spec": digest_bytes(facts.spec.encode()),
        "decisions": decisions,
        **({"looks": locked_looks(facts.looks)} if facts.looks else {}),
        **({"frozen": facts.frozen} if facts.frozen else {}),
    }


def _group_table(report: CommittedReport) -> dict[str, Json]:
    """The runs of every variant, with a digest of its rows in each table, and the machines that the runs name."""
    _, results, _ = report.parsed
    runs = results.runs
    try:
        groups: dict[str, dict[str, Json]] = {
            variant: {"setting": "", "seeds": seeds_text(seeds)}
            for variant, seeds in runs.group_by("variant", maintain_order=True).agg("seed").iter_rows()
        }
        tables = {"runs": runs, "axes": results.axes}
        tables |= {name: rows for name, rows in results.tables.items() if name != "needs" and not rows.is_empty()}
        axes = tables["axes"].join(runs.select("run", "variant"), on="run", how="left", maintain_order="left")
        for variant, name, label in (
            axes.unique(["variant", "axis"], maintain_order=True).select("variant", "axis", "label").iter_rows()
        ):
            if variant in groups:
                groups[variant]["setting"] = f"{groups[variant]['setting']} {name}={label}".lstrip()
        for name, table in tables.items():
            variants = axes["variant"] if name == "axes" else table["variant"]
            for variant, digest in digests_by_variant(table, variants).items():
                groups.setdefault(variant, {"setting": "rows without a run", "seeds": ""})[name] = str(digest)
        machines: Counter[str] = Counter()
        for versions, device in runs.select("versions", "device").iter_rows():
            programs = sorted(json.loads(versions).items()) if versions is not None else []
            words = [str(device), *(f"{name} {version}" for name, version in programs)]
            machines["not run" if versions is None else ", ".join(words)] += 1
    except _UNREADABLE as error:
        raise _unreadable(str(report.folder / "data"), error) from error
    return {"groups": {str(variant)[:DIGITS]: group for variant, group in groups.items()}, "machines": dict(machines)}


def _verdict_table(report: CommittedReport) -> dict[str, Json]:
    entries: dict[str, Json] = {}
    for verdict in report.parsed[2]:
        numbers = {name: getattr(verdict, name) for name in ("estimate", "low", "high")}
        estimates = {name: None if value is None else rounded(value) for name, value in numbers.items()}
        entries[verdict.claim] = {"verdict": verdict.verdict, "n": verdict.n, **estimates}
    return {"verdicts": entries}


def seeds_text(seeds: Sequence[int]) -> str:
    """``1-10`` or ``1 3 5-7``: seeds in order, consecutive ones joined."""
    ordered = sorted(seeds)
    starts = [seed for seed in ordered if seed - 1 not in ordered]
    ends = [seed for seed in ordered if seed + 1 not in ordered]
    return " ".join(str(a) if a == b else f"{a}-{b}" for a, b in zip(starts, ends, strict=False))


def _unreadable(where: str, error: BaseException) -> ReportError:
    reason = "is missing" if isinstance(error, KeyError) else f"cannot be read: {str(error).splitlines()[0][:160]}"
    return ReportError(Issue("missing", where, reason, "restore it, or draw the report again"))
