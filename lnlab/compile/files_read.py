"""What the keys of a plan hold of files, so that it can be compiled again where none of these files is at hand."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from lnlab.keys import Json, canonical
from lnlab.registry import Choice, Flawed, Registry


@dataclass(frozen=True)
class FilesRead:
    """What was read when a plan was compiled, by the canonical text of the resolved choice that asked for it.

    Attributes:
        tasks: key of a task, with the content of its files.
        epochs: batches of an epoch of a task, or None where its data have no end. Only where it was asked for.
        continued: content of the run that an init continues.
    """

    tasks: dict[str, str] = field(default_factory=dict)
    epochs: dict[str, int | None] = field(default_factory=dict)
    continued: dict[str, list[Json]] = field(default_factory=dict)

    def entries(self, tasks: Iterable[Choice], inits: Iterable[Choice]) -> tuple[dict[str, Json], ...]:
        """Plain entries on these choices, each once: ``{task, key, epoch}`` and ``{init, run}``."""
        entries: dict[str, dict[str, Json]] = {}
        for task in tasks:
            text = canonical(task)
            epoch = {"epoch": self.epochs[text]} if text in self.epochs else {}
            entries[text] = {"task": task, "key": self.tasks[text], **epoch}
        for init in inits:
            if run := self.continued.get(canonical(init)):
                entries[canonical(init)] = {"init": init, "run": run}
        return tuple(entries.values())


def files_of_entries(entries: Iterable[Mapping[str, Json]], registries: Mapping[str, Registry[Any]]) -> FilesRead:
    """What entries say, each of its choice as it is resolved today. A choice that is refused today has none."""
    files = FilesRead()
    for entry in entries:
        kind = "task" if "task" in entry else "init"
        with suppress(Flawed):
            text = canonical(registries[kind].resolve(entry[kind]))
            if kind == "init":
                files.continued[text] = entry["run"]
                continue
            files.tasks[text] = entry["key"]
            if "epoch" in entry:
                files.epochs[text] = entry["epoch"]
    return files
