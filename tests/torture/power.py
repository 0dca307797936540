"""What a disk holds after a loss of power: POSIX promises of a file what was synced, of a name its folder's sync.

A recorded session is played back on a model of inodes. Each inode has what processes see and what is on the disk: the
bytes of a file are there once it was synced, a name once its folder was. A crash leaves of all that came later nothing,
the names without the bytes, or any part of it in any order.
"""

import base64
import json
import random
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from tests.support.interposer import Call, Interposer, Recorder
from tests.torture.session import PLAN, heal, live, prepare

Tree = dict[str, str | None]
"""Path below the root -> bytes of a file as base64; None: a folder."""


@dataclass
class Inode:
    """A file or a folder.

    Attributes:
        entries: name -> inode, as processes see it; None of a file.
        content: bytes as processes see them.
        synced: what of these is on the disk.
    """

    entries: "dict[str, Inode] | None" = None
    content: bytes = b""
    synced: "bytes | dict[str, Inode]" = b""

    @classmethod
    def folder(cls) -> "Inode":
        """An empty folder."""
        return cls(entries={}, synced={})


@dataclass
class Disk:
    """The folder that holds the store; it and what lay there before are on the disk."""

    top: str
    root: Inode = field(default_factory=Inode.folder)

    def _find(self, path: str) -> tuple[Inode, str]:
        """The folder that holds a path, and its name there."""
        *above, name = Path(path).relative_to(self.top).parts
        inode = self.root
        for part in above:
            inode = inode.entries[part]
        return inode, name

    def _inode(self, path: str) -> Inode:
        if path == self.top:
            return self.root
        folder, name = self._find(path)
        return folder.entries[name]

    def play(self, call: Call) -> None:
        """Do what a call did."""
        if call.name == "fsync":
            inode = self._inode(call.path)
            inode.synced = inode.content if inode.entries is None else copy(inode.entries)
        elif call.name == "write":
            self._inode(call.path).content += call.content
        elif call.name in ("create", "mkdir"):
            folder, name = self._find(call.path)
            inode = Inode() if call.name == "create" else Inode.folder()
            folder.entries.setdefault(name, inode)
        elif call.name == "rename":
            (folder, name), (there, target) = self._find(call.path), self._find(call.target)
            there.entries[target] = folder.entries.pop(name)
        elif call.name in ("unlink", "rmdir"):
            folder, name = self._find(call.path)
            del folder.entries[name]

    def after(self, how: str, rng: random.Random) -> Tree:
        """What is left: ``nothing``, ``names`` or ``any part`` of what was not synced."""
        tree: Tree = {}
        _leave(self.root, "", how, rng, tree)
        return tree


def _leave(inode: Inode, path: str, how: str, rng: random.Random, tree: Tree) -> None:
    if inode.entries is None:
        contents = {
            "nothing": [inode.synced],
            "names": [inode.synced],
            "any part": [
                inode.synced,
                inode.content,
                inode.content[: len(inode.content) // 2],
                bytes(len(inode.content)),
            ],
        }[how]
        content = inode.synced if inode.synced == inode.content else rng.choice(contents)
        tree[path] = base64.b64encode(content).decode()
        return
    if path:
        tree[path] = None
    for name in sorted(inode.entries.keys() | inode.synced.keys()):
        choices = {"nothing": [inode.synced], "names": [inode.entries], "any part": [inode.synced, inode.entries]}[how]
        child = rng.choice(choices).get(name)
        if child is not None:
            _leave(child, f"{path}/{name}", how, rng, tree)


def recorded_job(folder: str, recording: str) -> int:
    """Record a session; how many calls it has."""
    root, recorder = Path(folder) / "store", Recorder()
    prepare(root)
    Interposer(root.parent, recorder).install()
    live(root, recorder.mark)
    calls = [[c.name, c.path, c.target, base64.b64encode(c.content).decode()] for c in recorder.calls]
    Path(recording).write_text(json.dumps({"top": str(root.parent), "calls": calls}))
    return len(calls)


def crashes(recording: Path, prefixes: Sequence[int], draws: int) -> Iterator[tuple[str, Tree, dict[str, int]]]:
    """Each different disk after these prefixes of a recorded session: name, tree, what was committed by then."""
    record = json.loads(recording.read_text())
    disk, rng, promised = Disk(record["top"]), random.Random(5), {}
    keys, seen, due = {unit.key for unit in PLAN.trajectories}, set(), set(prefixes)
    for number, (name, path, target, content) in enumerate(record["calls"], 1):
        call = Call(name, path, target, base64.b64decode(content))
        disk.play(call)
        if name == "commits":
            key, step = path.split()
            promised |= {key: int(step)} if key in keys else {}
        if number in due:
            for n, how in enumerate(["nothing", "names", *["any part"] * draws]):
                tree = disk.after(how, rng)
                image = sha256(json.dumps([tree, promised], sort_keys=True).encode()).hexdigest()
                if image not in seen:
                    seen.add(image)
                    yield f"after call {number}, {how} of the rest, {n}", tree, dict(promised)


def survived_job(folder: str, tree: Tree, promised: dict[str, int], expected: str) -> list[str]:
    """What is lost when a store is opened on such a disk."""
    root = Path(folder) / "store"
    prepare(root)
    for path, content in tree.items():
        place = Path(f"{folder}{path}")
        if content is None:
            place.mkdir(exist_ok=True)
        else:
            place.write_bytes(base64.b64decode(content))
    return heal(root, expected, promised)
