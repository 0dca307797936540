"""``lnlab lock``: the lock of a committed report, written beside its spec."""

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lnlab import __version__
from lnlab.committed.comparison.numbers import MARGINS
from lnlab.committed.locks.folder_contents import derived_tables, read_committed
from lnlab.committed.locks.lock_text import LockTables, lock_text, parse_lock
from lnlab.compile.digests import source_digest
from lnlab.errors import CorpusError, LabError, ReportError
from lnlab.files import replacing
from lnlab.issues import Issue
from lnlab.keys import Json, digest
from lnlab.portable_names import why_unportable
from lnlab.report.contents import is_report
from lnlab.specfile.load import read_spec_text, text_states_results
from lnlab.userfiles import read_user_file

if TYPE_CHECKING:
    from lnlab.compile.resolve.choices import Registries

LOCK_FORMAT = 1
LOCK_SUFFIX = ".lock"
UNCONFIRMED = ("code", "corpora", "margins")
"""Tables that nothing in the folder of a report confirms. A lock holds a digest of them."""
LARGEST_LOCK = 4 * 1024 * 1024
_DRAW = "draw it again: lnlab report --from {folder}"


@dataclass(frozen=True)
class Lock:
    """A lock as it was read or made.

    Attributes:
        path: of its file.
        tables: its content.
        text: as it stands in the file.
    """

    path: Path
    tables: LockTables
    text: str

    @property
    def folder(self) -> Path:
        """The folder of the report."""
        return Path(os.path.normpath(self.path.parent / self.tables["report"]))

    @property
    def spec(self) -> Path:
        """The file of the spec."""
        return self.path.with_name(f"{self.tables['name']}.yaml")

    @property
    def profile(self) -> str | None:
        """The profile of the spec, or None for the default."""
        return self.tables["profile"] or None


@dataclass(frozen=True)
class WrittenLock:
    """A lock that was written.

    Attributes:
        lock: the lock.
        changed: whether the file is another one than before.
        absent: corpora that are not at hand, so that their digests are not in the lock.
    """

    lock: Lock
    changed: bool
    absent: tuple[str, ...]


def write_lock(spec: Path, profile: str | None, known: "Registries", *, folder: Path | None = None) -> WrittenLock:
    """Lock the committed report of a spec: ``<spec>.lock`` beside it.

    Args:
        spec: the file of the spec.
        profile: of the report. None means the default one.
        known: the registries of both wings, for the digests of corpora.
        folder: of the report. None means ``reports/<name>/<profile>`` in the working folder or in one that holds the
            spec.

    Raises:
        ReportError: there is no such report, it was drawn from another text of the spec, or a table is unreadable.
        LabError: the lock of another profile stands there.
    """
    folder = folder or report_of_spec(spec, profile)
    report = read_committed(folder)
    facts = report.facts()
    if facts.spec != read_spec_text(spec):
        what = f"was drawn from another text of {spec.as_posix()}"
        raise ReportError(Issue("differs", str(folder), what, _DRAW.format(folder=folder.as_posix())))
    path = spec.with_suffix(LOCK_SUFFIX)
    locked = facts.profile
    with suppress(LabError):  # a lock that cannot be read is replaced
        locked = read_lock(path).profile
    if locked != facts.profile:
        what = f"locks profile {locked or 'default'}, not {facts.profile or 'default'}"
        raise LabError(Issue("no-effect", str(path), what, "remove it first if that is meant"))
    if text_states_results(facts.spec):
        from lnlab.own_model.table_spec import read_table_spec

        corpora: dict[str, Json] = {f"file {name}": sha for name, sha in read_table_spec(spec).inputs.items()}
        absent: tuple[str, ...] = ()
    else:
        corpora, absent = _corpora(report.parsed[1].runs["setting"].unique().sort(), known, spec)
    recorded = {
        "code": {"lnlab": __version__, "sha256": source_digest()},
        "corpora": corpora,
        "margins": dict(MARGINS),
    }
    location = Path(os.path.relpath(folder.resolve(), path.resolve().parent)).as_posix()
    tables = {"format": LOCK_FORMAT, "report": location, **derived_tables(report), **recorded}
    tables["recorded"] = recorded_digest(tables)
    text = lock_text(tables)
    changed = not path.is_file() or path.read_bytes() != text.encode()
    if changed:
        with replacing(path) as file:
            file.write(text.encode())
    return WrittenLock(Lock(path, tables, text), changed, absent)


def read_lock(path: Path) -> Lock:
    """A lock.

    Raises:
        LabError: it cannot be read, or is not a lock that this lnlab knows.
    """
    content = read_user_file(path, "lock", LARGEST_LOCK)
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        raise LabError(Issue("not-text", str(path), "is not UTF-8", "make it again with lnlab lock")) from error
    tables = parse_lock(text, str(path))
    if tables.get("format") != LOCK_FORMAT:
        what = f"is a lock of format {tables.get('format')}, and this lnlab reads {LOCK_FORMAT}"
        raise LabError(Issue("damaged", str(path), what, "make it again with lnlab lock"))
    texts = ("name", "profile", "report", "recorded", "plan", "spec")
    wrong = [name for name in texts if not isinstance(tables.get(name), str)]
    named = ("files", "groups", "verdicts", "decisions", "machines", *UNCONFIRMED)
    wrong += [name for name in named if not isinstance(tables.get(name), dict)]
    if wrong:
        raise LabError(Issue("missing", str(path), f"lacks {', '.join(wrong)}", "make it again with lnlab lock"))
    for name in ("name", "profile"):  # a report is drawn again into folders of these names
        if (value := str(tables[name])) and (why := why_unportable(value)):
            raise LabError(Issue("damaged", str(path), f"its {name} {why}", "make it again with lnlab lock"))
    return Lock(path, tables, text)


def recorded_digest(tables: LockTables) -> str:
    """The digest of what nothing in the folder confirms."""
    return digest([tables[name] for name in UNCONFIRMED])


def report_of_spec(spec: Path, profile: str | None) -> Path:
    """The folder of the committed report of a spec: below the working folder, or below one that holds the spec.

    Raises:
        ReportError: there is none.
    """
    name = Path("reports", spec.stem, *([profile] if profile else []))
    places = [Path(), *(Path(os.path.relpath(parent)) for parent in spec.resolve().parents)]
    for place in places:
        if is_report(place / name):
            return place / name
    flag = f" --profile {profile}" if profile else ""
    remedy = f"lnlab report {spec.as_posix()}{flag} first"
    others = sorted(
        {path.name for place in places for path in (place / "reports" / spec.stem).glob("*") if is_report(path)}
    )
    if others:
        remedy = f"the report of profile {others[0]} is there: lnlab lock {spec.as_posix()} --profile {others[0]}"
    raise ReportError(Issue("not-found", name.as_posix(), "there is no such report", remedy))


def specs_with_reports(folder: Path, profile: str | None) -> Iterator[Path]:
    """The specs of a folder that have a committed report of a profile."""
    for spec in sorted(folder.glob("*.yaml")):
        try:
            report_of_spec(spec, profile)
        except ReportError:
            continue
        yield spec


def _corpora(settings: Iterable[str], known: "Registries", spec: Path) -> tuple[dict[str, Json], tuple[str, ...]]:
    """The content keys of the corpora and vocabularies that the settings name, and those that are not at hand."""
    from lnlab.corpora.files.fetch import data_roots

    choices: dict[str, tuple[str, Json]] = {}
    for setting in settings:
        task = json.loads(setting)["task"]
        for name, registry in known["task"][task["kind"]].nested.items():
            choices.setdefault(f"{registry.kind} {digest(task[name])[:8]}", (name, task))
    keys = {}
    absent = []
    for name, task in choices.values():
        registry = known["task"][task["kind"]].nested[name]
        choice = task[name]
        try:
            key = registry.key(choice, data_roots(spec.parent))
            keys[f"{registry.kind} {choice['kind']} {digest(choice)[:8]}"] = key
        except CorpusError:
            absent.append(str(choice["kind"]))
    return keys, tuple(sorted(set(absent)))
