"""``make numbers``: keep the numbers of new entries, and of those whose version was raised.

Numbers that moved although no version did are not kept: they are named, and the program fails.
"""

import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from lnlab.errors import CorpusError
from lnlab.registry import Roots
from tests.catalogue.measured import MEASURES
from tests.catalogue.records import Record, complaint, read, record_of, write
from tests.support.pieces import measurable


def renewed(kept: dict[str, Record], roots: Roots) -> tuple[dict[str, Record], list[str]]:
    """A record of every entry, and what is wrong with those that stay as they were."""
    records, wrong = {}, []
    for entry in (entry for kind in MEASURES for entry in measurable(kind)):
        name = f"{entry.kind} {entry.name}"
        try:
            found = record_of(entry, roots)
        except CorpusError as error:  # its files are not at hand
            wrong += [] if name in kept else [f"{name}: {error}"]
            found = kept.get(name, {})
        said = complaint(entry.kind, kept.get(name), found) if found else ""
        if said.endswith("raise it"):
            wrong, found = [*wrong, f"{name}: {said}"], kept[name]
        elif not said:
            found = kept.get(name, {})
        records |= {name: found} if found else {}
    return records, wrong


if __name__ == "__main__":
    data = tuple(Path(folder).absolute() for folder in os.environ.get("LNLAB_DATA", "").split(os.pathsep) if folder)
    with TemporaryDirectory() as folder:
        records, wrong = renewed(read(), (Path(folder), *data))
    write(records)
    sys.exit("\n".join(wrong) or 0)
