"""Packs as they were written before 2026-11-26: files in blocks. They are read, and are not written any more.

``packs/<name>/blocks`` is blocks end to end, each a Parquet table of files (``trajectory stretch name content``).
``index.json`` says where each block lies, its digest and what it holds. A block is read and verified by itself, so a
flipped bit costs the runs of one block.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path

import polars as pl

from lnlab.keys import Json
from lnlab.store.records.checksummed import CorruptFile, read_range
from lnlab.store.records.layout import OUTPUT_FILE, RECORD_FILE, trajectory_folder
from lnlab.store.records.record import parse_record
from lnlab.store.stretch import PackReplaced, Stretch

BLOCKS_FILE = "blocks"


@dataclass(frozen=True)
class _Block:
    offset: int
    length: int
    sha256: str
    holds: Mapping[str, list[str]]


@dataclass
class BlockPack:
    """A pack of blocks. The block read last stays in memory.

    Attributes:
        folder: of the pack.
        holds: trajectory -> names of its stretches.
    """

    folder: Path
    blocks: tuple[_Block, ...]
    holds: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _last: tuple[int, dict[tuple[str, str], dict[str, bytes]]] | None = None

    @classmethod
    def of_index(cls, folder: Path, index: Json) -> "BlockPack":
        """The pack that an index describes: a list of blocks."""
        pack = cls(folder, tuple(_Block(**block) for block in index))
        for block in pack.blocks:
            for trajectory, names in block.holds.items():
                pack.holds[trajectory] = (*pack.holds.get(trajectory, ()), *names)
        return pack

    @property
    def is_small(self) -> bool:
        """Whether it is joined with others: never, as it would have to be written anew."""
        return False

    def place(self, trajectory: str) -> int:
        """The number of the first block that holds some of a trajectory."""
        return next(number for number, block in enumerate(self.blocks) if trajectory in block.holds)

    def read(self, trajectories: Collection[str]) -> tuple[list[Stretch], dict[str, list[str]]]:
        """The stretches of these trajectories, and for each the sentences on what of it is damaged.

        Raises:
            PackReplaced: the pack is gone.
            StoreError: this user may not read them.
        """
        stretches = []
        damaged: dict[str, list[str]] = {}
        root = self.folder.parent.parent
        for number, block in enumerate(self.blocks):
            wanted = [trajectory for trajectory in trajectories if trajectory in block.holds]
            if not wanted:
                continue
            try:
                files_of = self._files(number)
            except CorruptFile as error:
                # Gone, and not damaged: another pack holds the same.
                if not self.folder.is_dir():
                    raise PackReplaced from error
                for trajectory in wanted:
                    damaged.setdefault(trajectory, []).append(str(error))
                continue
            for trajectory in wanted:
                for name in block.holds[trajectory]:
                    files = files_of[trajectory, name]
                    record = parse_record(trajectory_folder(root, trajectory) / name, files[RECORD_FILE])
                    contents = {file: files[file] for file in record.files}
                    stretches.append(Stretch(record, contents, files.get(OUTPUT_FILE, b"")))
        return stretches, damaged

    def _files(self, number: int) -> dict[tuple[str, str], dict[str, bytes]]:
        """Trajectory and name of a stretch -> its files, of one block."""
        if self._last is None or self._last[0] != number:
            block = self.blocks[number]
            content = read_range(self.folder / BLOCKS_FILE, (block.offset, block.length), block.sha256)
            files: dict[tuple[str, str], dict[str, bytes]] = {}
            for trajectory, stretch, name, file_content in pl.read_parquet(BytesIO(content)).iter_rows():
                files.setdefault((trajectory, stretch), {})[name] = file_content
            self._last = number, files
        return self._last[1]

    def sizes(self) -> dict[str, float]:
        """Trajectory -> its share of the bytes: a block's are divided by the number of its stretches."""
        sizes: dict[str, float] = {}
        for block in self.blocks:
            share = block.length / sum(map(len, block.holds.values()))
            for trajectory, names in block.holds.items():
                sizes[trajectory] = sizes.get(trajectory, 0) + share * len(names)
        return sizes
