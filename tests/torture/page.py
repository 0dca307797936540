"""The tables of docs/faults.md: one for each group of faults, with the rows of the last run of each."""

import re
from collections.abc import Mapping, Sequence

from tests.torture.faults import Fault, Row

BEGIN, END = "<!-- faults -->\n", "<!-- end of faults -->\n"
HEAD = ("fault", "injected", "lost", "further counts")
NOT_YET = ("0", "not run", "")


def rows_of(page: str) -> dict[str, tuple[str, ...]]:
    """Fault -> the other cells of its row."""
    table = page.partition(BEGIN)[2].partition(END)[0]
    lines = re.findall(r"^\| (.*) \|$", table, flags=re.MULTILINE)
    cells = (tuple(line.split(" | ")) for line in lines)
    return {first: others for first, *others in cells if first != HEAD[0] and len(others) == len(HEAD) - 1}


def page_with(page: str, faults: Mapping[str, Fault], rows: Sequence[Row]) -> str:
    """The page with the rows of these runs; rows of other faults stay, and those of none go."""
    written = rows_of(page) | {row.fault.name: row.cells()[1:] for row in rows}
    parts = []
    for group in dict.fromkeys(fault.group for fault in faults.values()):
        members = [fault for fault in faults.values() if fault.group == group]
        lines = [f"| {' | '.join(HEAD)} |", "|---|--:|---|---|"]
        lines += [f"| {' | '.join((fault.name, *written.get(fault.name, NOT_YET)))} |" for fault in members]
        promises = "; or: ".join(dict.fromkeys(fault.promise for fault in members))
        parts.append(f"## {group}\n\nPromised: {promises}.\n\n" + "\n".join(lines) + "\n")
    before, _, after = page.partition(BEGIN)
    return before + BEGIN + "\n".join(parts) + END + after.partition(END)[2]
