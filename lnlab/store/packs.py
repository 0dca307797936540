"""Packs: the stretches of many finished trajectories in one file, so that a run costs bytes and not files.

``packs/<name>/blocks`` is blocks end to end, each a Parquet table of files (``trajectory stretch name content``);
``index.json`` says where each block lies, its digest and what it holds. A block is read and verified by itself, so a
flipped bit costs the runs of one block. The index lies there twice, as it stands for every block.

A pack never changes. It appears under its name at once, by a rename, with everything on the disk, and only then are the
folders removed that it was made of: a reader that looks at a folder first and at the packs afterwards misses nothing.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path

import polars as pl

from lnlab.keys import Json
from lnlab.store.records.checksummed import CorruptFile, from_checksummed_json, read_bytes, read_range, well_formed

PACKS_FOLDER = "packs"
BLOCKS_FILE = "blocks"
INDEX_FILE, INDEX_COPY_FILE = "index.json", "copy.json"
HIDDEN_PREFIX = "."
"""How the names of folders begin that are not yet packs, or no longer."""

_SCHEMA = pl.Schema({"trajectory": pl.String, "stretch": pl.String, "name": pl.String, "content": pl.Binary})

StretchFiles = dict[str, bytes]
"""The files of one stretch of work: name -> content."""


@dataclass(frozen=True)
class PackBlock:
    """Where a block lies in its file, and what it holds: trajectory -> names of stretches."""

    offset: int
    length: int
    sha256: str
    holds: Mapping[str, tuple[str, ...]]

    def to_json(self) -> Json:
        """As the index has it."""
        holds = {trajectory: list(names) for trajectory, names in self.holds.items()}
        return {"offset": self.offset, "length": self.length, "sha256": self.sha256, "holds": holds}


@dataclass(frozen=True)
class Pack:
    """A pack as its index describes it; ``block_numbers``: trajectory -> numbers of the blocks that hold some of it."""

    folder: Path
    blocks: tuple[PackBlock, ...]
    block_numbers: Mapping[str, tuple[int, ...]]


class _PackReplaced(Exception):
    """A pack was replaced by another one while it was read."""


@dataclass
class Packs:
    """Every pack of a store as it is now; the block read last stays in memory.

    Attributes:
        root: the store.
        damaged: one sentence for each pack of which neither index is intact.
    """

    root: Path
    damaged: dict[str, str] = field(default_factory=dict)
    _packs: dict[str, Pack] = field(default_factory=dict)
    _last: tuple[str, int, dict[tuple[str, str], StretchFiles]] | None = None

    def current(self) -> list[Pack]:
        """The packs that lie in the store now, by name."""
        names = _names(self.root)
        for name in self._packs.keys() - names:
            del self._packs[name]
        for name in sorted(names - self._packs.keys() - self.damaged.keys()):
            try:
                self._packs[name] = read_index(self.root / PACKS_FOLDER / name)
            except CorruptFile as error:
                if (self.root / PACKS_FOLDER / name).is_dir():
                    self.damaged[name] = str(error)
        return [self._packs[name] for name in sorted(self._packs)]

    def trajectories(self) -> set[str]:
        """Keys of all trajectories of which a pack holds something."""
        return {key for pack in self.current() for key in pack.block_numbers}

    def place(self, trajectory: str) -> tuple[str, int]:
        """Where a trajectory first occurs; read in this order, each block is read once."""
        for name, pack in sorted(self._packs.items()):
            if trajectory in pack.block_numbers:
                return name, pack.block_numbers[trajectory][0]
        return "", 0

    def stretches(self, trajectory: str) -> tuple[dict[str, StretchFiles], list[str]]:
        """The stretches of a trajectory by name, and one sentence for each block of it that is damaged.

        Raises:
            StoreError: this user may not read them.
        """
        while True:
            try:
                return self._stretches(trajectory)
            except _PackReplaced:
                continue

    def _stretches(self, trajectory: str) -> tuple[dict[str, StretchFiles], list[str]]:
        by_name: dict[str, StretchFiles] = {}
        damaged = []
        for pack in self.current():
            for number in pack.block_numbers.get(trajectory, ()):
                try:
                    block_stretches = self._block(pack, number)
                except CorruptFile as error:
                    if not pack.folder.is_dir():
                        raise _PackReplaced from error
                    damaged.append(str(error))
                    continue
                names = pack.blocks[number].holds[trajectory]
                by_name |= {name: block_stretches[trajectory, name] for name in names}
        return by_name, damaged

    def _block(self, pack: Pack, number: int) -> dict[tuple[str, str], StretchFiles]:
        if self._last is None or self._last[:2] != (pack.folder.name, number):
            self._last = pack.folder.name, number, decode_block(read_block(pack, number))
        return self._last[2]


def _names(root: Path) -> set[str]:
    try:
        with os.scandir(root / PACKS_FOLDER) as entries:
            return {entry.name for entry in entries if not entry.name.startswith(HIDDEN_PREFIX)}
    except (FileNotFoundError, NotADirectoryError):
        return set()


def read_index(folder: Path) -> Pack:
    """What a pack holds, from whichever index is intact.

    Raises:
        Damaged: neither is.
        StoreError: this user may not read it.
    """
    try:
        blocks = _blocks(folder / INDEX_FILE)
    except CorruptFile:
        blocks = _blocks(folder / INDEX_COPY_FILE)
    block_numbers: dict[str, tuple[int, ...]] = {}
    for number, block in enumerate(blocks):
        for trajectory in block.holds:
            block_numbers[trajectory] = (*block_numbers.get(trajectory, ()), number)
    return Pack(folder, blocks, block_numbers)


def _blocks(path: Path) -> tuple[PackBlock, ...]:
    entries = from_checksummed_json(read_bytes(path), path)
    with well_formed(path):
        return tuple(PackBlock(**{**block, "holds": _tuples(block["holds"])}) for block in entries)


def _tuples(holds: Mapping[str, list[str]]) -> dict[str, tuple[str, ...]]:
    return {trajectory: tuple(names) for trajectory, names in holds.items()}


def read_block(pack: Pack, number: int) -> bytes:
    """The bytes of a block, verified.

    Raises:
        Damaged: they are not what was packed.
        StoreError: this user may not read them.
    """
    block = pack.blocks[number]
    return read_range(pack.folder / BLOCKS_FILE, (block.offset, block.length), block.sha256)


def encode_block(files: list[tuple[str, str, str, bytes]]) -> bytes:
    """A block of files, each with its trajectory, stretch and name."""
    buffer = BytesIO()
    table = pl.DataFrame(files, schema=_SCHEMA, orient="row")
    table.write_parquet(buffer, compression="zstd", compression_level=9, statistics=False)
    return buffer.getvalue()


def decode_block(content: bytes) -> dict[tuple[str, str], StretchFiles]:
    """The stretches of a block: (trajectory, name of the stretch) -> its files."""
    by_stretch: dict[tuple[str, str], StretchFiles] = {}
    for trajectory, stretch, name, file_content in pl.read_parquet(BytesIO(content)).iter_rows():
        by_stretch.setdefault((trajectory, stretch), {})[name] = file_content
    return by_stretch
