"""Put the stretches of finished trajectories into packs, and drop the ones that add nothing.

It may be killed at any point, and may happen while others read and work: a committed stretch never changes, it is
removed from its folder only when a pack that holds it is on the disk, and where it lies twice it counts once.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from lnlab.keys import digest_bytes
from lnlab.store import files
from lnlab.store.leases import acquire_lease
from lnlab.store.packs import (
    BLOCKS_FILE,
    HIDDEN_PREFIX,
    INDEX_COPY_FILE,
    INDEX_FILE,
    PACKS_FOLDER,
    Pack,
    PackBlock,
    Packs,
    encode_block,
    read_block,
)
from lnlab.store.plans import in_plan_order
from lnlab.store.records.checksummed import CorruptFile, to_checksummed_json
from lnlab.store.records.coverage import superseded_records
from lnlab.store.records.layout import (
    LEASE_FILE,
    LOCK_FILE,
    OUTPUT_FILE,
    RECORD_FILE,
    stretch_name,
    stretches,
    trajectory_folder,
)
from lnlab.store.records.records import Record, StoreReader, read_record

MIN_LOOSE_TRAJECTORIES = 64
"""With fewer finished trajectories outside of packs, there is no pack made of them."""

BLOCK_BYTES = 256 * 1024
"""Bytes of files after which a block is full: what is lost where a bit flips."""

PACK_BYTES = 64 * 1024 * 1024
"""Bytes of blocks after which a pack is full; smaller ones are joined."""

MAX_SMALL_PACKS = 16
"""With more packs than this that are not full, they are joined."""


@contextmanager
def packs_locked(root: Path) -> Iterator[bool]:
    """Inside, no other process changes packs; what it yields is whether this process has the lock.

    Packs that a killed process left half written are gone then.

    Raises:
        StoreError: the store cannot be written.
    """
    files.make_folder(root / PACKS_FOLDER)
    with files.locked(root / PACKS_FOLDER / f"{HIDDEN_PREFIX}lock", wait=False) as acquired:
        if acquired:
            for leftover in (root / PACKS_FOLDER).glob(f"{HIDDEN_PREFIX}*-*"):
                files.remove(leftover)
        yield acquired


def pack_store(root: Path) -> None:
    """Tidy a store; where another process does so, or there is little to do, do nothing.

    Raises:
        StoreError: the store cannot be written; what was finished is kept.
    """
    if not (root / "trajectories").is_dir():
        return
    with packs_locked(root) as acquired:
        if not acquired:
            return
        loose = list(_loose(root))
        for trajectory, records in loose:
            _prune(root, trajectory, records)
        if len(loose) >= MIN_LOOSE_TRAJECTORIES:
            _pack(root, in_plan_order(root, {trajectory for trajectory, _ in loose}))
        _join(root)


def _loose(root: Path) -> Iterator[tuple[str, list[Record]]]:
    """Trajectories with stretches in folders, on which nobody works and which are not to be gone on with."""
    reader = StoreReader(root)
    for folder in sorted((root / "trajectories").glob("??/*"), key=lambda folder: folder.name):
        if not stretches(folder) or (folder / LEASE_FILE).exists():
            files.remove_empty(folder)
            continue
        records = reader.read(folder.name).records
        if records and records[-1].outcome["status"] != "interrupted":
            yield folder.name, records


def _prune(root: Path, trajectory: str, records: list[Record]) -> None:
    """Remove the stretches whose rows others hold as well, damaged ones too."""
    folder = trajectory_folder(root, trajectory)
    damaged = [record for record in _readable(folder) if record.folder not in {intact.folder for intact in records}]
    surplus = [record for record in superseded_records(records, damaged) if record.folder.is_dir()]
    if not surplus:
        return
    lease = acquire_lease(folder / LEASE_FILE, root / LOCK_FILE)
    if lease is None:
        return
    try:
        for record in surplus:
            remove_stretch(record.folder)
    finally:
        lease.release()


def _readable(folder: Path) -> Iterator[Record]:
    for stretch in stretches(folder):
        with suppress(CorruptFile, FileNotFoundError):
            yield read_record(stretch)


def remove_stretch(stretch: Path) -> None:
    """Remove a stretch; the record first, so that nobody takes what is left for damaged."""
    files.remove(stretch / RECORD_FILE)
    files.remove(stretch)


@dataclass
class PackWriter:
    """Blocks that become a pack, and the folders that they replace."""

    root: Path
    blocks: list[bytes] = field(default_factory=list)
    entries: list[PackBlock] = field(default_factory=list)
    replaced: list[Path] = field(default_factory=list)

    @property
    def size(self) -> int:
        """Bytes of all blocks."""
        return sum(map(len, self.blocks))

    def add(self, content: bytes, holds: dict[str, tuple[str, ...]]) -> None:
        """Add a block."""
        self.entries.append(PackBlock(self.size, len(content), digest_bytes(content), holds))
        self.blocks.append(content)

    def close(self) -> None:
        """Make the pack visible, then remove what it replaces."""
        if not self.blocks:
            return
        name = stretch_name(0)
        hidden = self.root / PACKS_FOLDER / f"{HIDDEN_PREFIX}{name}"
        index = to_checksummed_json([entry.to_json() for entry in self.entries])
        files.make_folder(hidden)
        for file, content in ((BLOCKS_FILE, b"".join(self.blocks)), (INDEX_FILE, index), (INDEX_COPY_FILE, index)):
            files.write(hidden / file, content)
        files.sync_folder(hidden)
        files.rename(hidden, self.root / PACKS_FOLDER / name)
        for folder in self.replaced:
            remove_stretch(folder)
            files.remove_empty(folder.parent)
        self.blocks = []
        self.entries = []
        self.replaced = []


def _pack(root: Path, trajectories: list[str]) -> None:
    """Put the stretches of these trajectories into packs, in this order."""
    writer = PackWriter(root)
    pending_files: list[tuple[str, str, str, bytes]] = []
    folders: list[Path] = []
    for trajectory in trajectories:
        for folder in stretches(trajectory_folder(root, trajectory)):
            with suppress(CorruptFile, FileNotFoundError):
                contents = _contents(folder)
                pending_files += [(trajectory, folder.name, name, content) for name, content in contents.items()]
                folders.append(folder)
        if sum(len(content) for *_, content in pending_files) >= BLOCK_BYTES:
            _flush(writer, pending_files, folders)
            pending_files = []
            folders = []
    if pending_files:
        _flush(writer, pending_files, folders)
    writer.close()


def _flush(writer: PackWriter, pending_files: list[tuple[str, str, str, bytes]], folders: list[Path]) -> None:
    holds: dict[str, tuple[str, ...]] = {}
    for folder in folders:
        holds[folder.parent.name] = (*holds.get(folder.parent.name, ()), folder.name)
    writer.add(encode_block(pending_files), holds)
    writer.replaced += folders
    if writer.size >= PACK_BYTES:
        writer.close()


def _contents(folder: Path) -> dict[str, bytes]:
    """The files of a committed stretch, verified, and what was printed, which has no digest.

    Raises:
        Damaged: it is not what was committed.
        FileNotFoundError: nothing was committed there.
    """
    record = read_record(folder)
    contents = {RECORD_FILE: record.content(), **{name: record.read(name) for name in record.files}}
    with suppress(OSError):
        contents[OUTPUT_FILE] = (folder / OUTPUT_FILE).read_bytes()
    return contents


def _join(root: Path) -> None:
    """Make one pack of many that are not full. One with a damaged block stays as it is."""
    small = [
        source for source in Packs(root).current() if sum(block.length for block in source.blocks) < PACK_BYTES // 2
    ]
    if len(small) <= MAX_SMALL_PACKS:
        return
    writer = PackWriter(root)
    joined = []
    for source in small:
        try:
            blocks = [read_block(source, number) for number in range(len(source.blocks))]
        except CorruptFile:
            continue
        for content, block in zip(blocks, source.blocks, strict=True):
            writer.add(content, dict(block.holds))
        joined.append(source)
        if writer.size >= PACK_BYTES:
            replace_packs(writer, joined)
            joined = []
    replace_packs(writer, joined)


def replace_packs(writer: PackWriter, joined: Sequence[Pack]) -> None:
    """Make what was written visible, then remove the packs that it replaces.

    Raises:
        StoreError: the store cannot be written; what was finished is kept.
    """
    writer.close()
    for source in joined:
        hidden = source.folder.with_name(f"{HIDDEN_PREFIX}{source.folder.name}")
        files.rename(source.folder, hidden)
        files.remove(hidden)
