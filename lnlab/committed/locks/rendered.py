"""Level 1: reports drawn again from their committed data, in another folder, and compared byte by byte."""

import re
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from html import unescape
from itertools import zip_longest
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory

from lnlab.committed.committed_report import CommittedReport, read_committed
from lnlab.committed.locks.lock_report import LOCK_SUFFIX, folder_of, read_lock
from lnlab.errors import LabError
from lnlab.issues import Issue
from lnlab.report.folder import NOTEBOOK_FILE, store_files
from lnlab.specfile.load import text_states_results
from lnlab.store.records.layout import sizes_below

_NUMBER = re.compile(r"[-+−]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
_LINK = re.compile(rb'href="([^"#]+)')


def render_all(paths: Sequence[Path], workers: int, on_report: Callable[[Path, list[Issue]], None]) -> None:
    """Draw reports again, the largest first, and call ``on_report`` with what differs of each.

    Args:
        paths: their locks, or the folders of those without one.
        workers: the number of processes. 1 means this process.
        on_report: called in the order in which the reports are done.
    """

    def bytes_of_data(path: Path) -> int:  # with which the time of a drawing grows
        try:
            return sum(sizes_below(folder_of(path) / "data"))
        except (LabError, OSError):
            return 0

    ordered = sorted(paths, key=bytes_of_data, reverse=True)
    if workers == 1 or len(ordered) < 2:
        for path in ordered:
            on_report(path, rendering_differences(path))
        return
    # Spawned: a fork would copy locks that threads of this process hold.
    with ProcessPoolExecutor(min(workers, len(ordered)), mp_context=get_context("spawn")) as pool:
        futures = {pool.submit(rendering_differences, path): path for path in ordered}
        for future in as_completed(futures):
            on_report(futures[future], future.result())


def rendering_differences(path: Path) -> list[Issue]:
    """What differs between the files of a report and those that its data give today.

    Args:
        path: its lock, or its folder. Without a lock the text of the spec in the report is judged.
    """
    locked = path.suffix == LOCK_SUFFIX
    try:
        committed = read_committed(folder_of(path), read_lock(path).tables["files"] if locked else None)
        with TemporaryDirectory() as scratch:
            drawn = _draw(committed, Path(scratch), own_text=not locked)
    except LabError as error:
        return [
            Issue("differs", problem.where or str(path), f"cannot be drawn again: {problem.what}")
            for problem in error.issues
        ]
    files: Mapping[str, bytes] = committed.contents
    if not locked:  # what pages share lies in another place than where it was drawn, or was not sent with the folder
        files, drawn = ({re.sub(r"^(\.\./)+assets/", "", n): c for n, c in of.items()} for of in (files, drawn))
        drawn = {name: content for name, content in drawn.items() if name in files or name not in committed.shared}
    differences = []
    for name in sorted(files.keys() | drawn.keys()):
        old, new = files.get(name), drawn.get(name)
        if old == new:
            continue
        if new is None:
            what = "is not drawn from the data"
        elif old is None:
            what = "is drawn from the data, and missing"
        else:
            what = f"is drawn otherwise: {content_difference(old, new)}"
        differences.append(Issue("differs", (committed.folder / name).as_posix(), what))
    return differences


def _draw(committed: CommittedReport, scratch: Path, *, own_text: bool) -> Mapping[str, bytes]:
    """The files that a report consists of when it is drawn from its data in another folder."""
    from lnlab.committed.asked_today import asked_today
    from lnlab.committed.judged_on_rows import judge_report
    from lnlab.committed.registries import load_registries
    from lnlab.report.drawing import Drawing
    from lnlab.report.write import write_drawn

    facts = committed.parsed[0]
    out = scratch.joinpath("reports", facts.name, *([facts.profile] if facts.profile else []))
    if text_states_results(facts.spec):  # what its files say is read again at level 2
        data = store_files(committed.folder)
    else:
        known = load_registries(())
        asked = asked_today(committed, None, known, own_text=own_text)
        data, _ = judge_report(committed, asked, known)
    has_script = any(name.endswith(".js") for name in committed.shared)
    lean = NOTEBOOK_FILE not in committed.contents
    png = any(name.endswith(".png") for name in committed.contents)
    # the neighbours of a report may come and go: the page is drawn with the links that the committed one has
    links = {unescape(match.decode()) for match in _LINK.findall(committed.contents.get("index.html", b""))}
    write_drawn(out, data, Drawing(single_file=not has_script, lean=lean, png=png, links=frozenset(links)))
    return read_committed(out).contents


def content_difference(old: bytes, new: bytes) -> str:
    """What distinguishes two files, in a few words: numbers and by how much, or the first line that differs."""
    try:
        one, other = old.decode(), new.decode()
    except UnicodeDecodeError:
        return f"{len(new):,} bytes for {len(old):,}"
    if _NUMBER.sub("0", one) == _NUMBER.sub("0", other):
        pairs = list(zip(map(_float, _NUMBER.findall(one)), map(_float, _NUMBER.findall(other)), strict=True))
        relative = [abs(a - b) / max(abs(a), abs(b)) for a, b in pairs if a != b]
        largest = max(relative, default=0.0)
        return f"{len(relative):,} of {len(pairs):,} numbers, by at most {largest:.1e} of themselves"
    lines = zip_longest(one.splitlines(keepends=True), other.splitlines(keepends=True), fillvalue="")
    number, (a, b) = next((n, pair) for n, pair in enumerate(lines, 1) if pair[0] != pair[1])
    column = next((n for n, (c, d) in enumerate(zip(a, b, strict=False)) if c != d), min(len(a), len(b)))
    start = max(0, column - 20)
    return f"line {number}: “{b[start : column + 40].rstrip()}” for “{a[start : column + 40].rstrip()}”"


def _float(text: str) -> float:
    return float(text.replace("−", "-"))
