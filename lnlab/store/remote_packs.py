"""Packs at a remote: ``packs/<digest>.tables`` has the tables of a pack end to end, ``packs/<digest>.json`` its index.

The digest is that of the index, which has those of all tables. Nothing there ever changes, so that several people may
push at once. The index is sent last, and a pack whose tables are missing or cut off counts as none.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from lnlab.keys import digest_bytes
from lnlab.store import files
from lnlab.store.packs import INDEX_FILE, PACKS_FOLDER, RECORDS, Pack
from lnlab.store.records.checksummed import CorruptFile, from_checksummed_json, to_checksummed_json, well_formed
from lnlab.store.remote import Remote, untrusted
from lnlab.tables import WRITTEN_BY_WORKERS

INDEX, TABLES = ".json", ".tables"
LARGEST_INDEX = 2 * 1024 * 1024
LARGEST_TABLES = 128 * 1024 * 1024
MOST_PACKS = 10_000


def send_pack(remote: Remote, contents: Mapping[str, bytes]) -> int:
    """Send the files of a pack, and return their bytes.

    Raises:
        StoreError: the place cannot be written.
    """
    index = contents[INDEX_FILE]
    tables = b"".join(content for name, content in sorted(contents.items()) if name != INDEX_FILE)
    name = f"{PACKS_FOLDER}/{digest_bytes(index)}"
    remote.write(f"{name}{TABLES}", tables)
    remote.write(f"{name}{INDEX}", index)
    return len(tables) + len(index)


def packs_at(remote: Remote, folder: Path, count: Callable[[int], None]) -> Iterator[tuple[Pack, int]]:
    """The packs of a remote as their indices say, which may be a lie, each with the bytes of its index.

    Args:
        remote: the place.
        folder: where the packs would lie on this machine, each in a folder with its digest as name.
        count: called with the bytes of indices that are about to be read.

    Raises:
        Untrusted: an index is not what its name says, or none.
        StoreError: it cannot be read.
    """
    sizes = remote.sizes(PACKS_FOLDER)
    names = sorted(name for name in sizes if name.endswith(INDEX))
    if len(names) > MOST_PACKS:
        raise untrusted(remote.url, f"has more than {MOST_PACKS:,} packs", "clear this place")
    for name in names:
        if not 0 < sizes[name] <= LARGEST_INDEX:
            what = f"has {sizes[name]:,} bytes, and the index of a pack has at most {LARGEST_INDEX:,}"
            raise untrusted(remote.place(f"{PACKS_FOLDER}/{name}"), what)
    at_once = remote.transfers_at_once
    with ThreadPoolExecutor(at_once) as threads:
        for first in range(0, len(names), at_once):
            some = names[first : first + at_once]
            count(sum(sizes[name] for name in some))
            for pack, size in threads.map(partial(_read_index, remote, folder, sizes), some):
                if sizes.get(f"{pack.folder.name}{TABLES}") == pack.length:
                    yield pack, size


def _read_index(remote: Remote, folder: Path, sizes: Mapping[str, int], name: str) -> tuple[Pack, int]:
    place = f"{PACKS_FOLDER}/{name}"
    content = remote.read(place, sizes[name])
    digest = digest_bytes(content)
    if name != f"{digest}{INDEX}":
        raise untrusted(remote.place(place), "is not what its name says")
    try:
        index = from_checksummed_json(content, Path(place))
        with well_formed(Path(place)):
            pack = Pack.of_index(folder / digest, index)
            if type(pack.length) is not int:
                raise ValueError("sizes that are none")
    except CorruptFile as error:
        raise untrusted(remote.place(place), "is no index of a pack that this lnlab knows") from error
    return pack, len(content)


def fetch_packs(remote: Remote, packs: Sequence[Pack], report: Callable[[int], None]) -> None:
    """Put packs of a remote into their folders, unless they are there already.

    ``report`` is called with the bytes of each.

    Raises:
        Untrusted: the files of one are no tables, or too large.
        StoreError: one cannot be read, or the folder cannot be written.
    """
    threads = ThreadPoolExecutor(remote.transfers_at_once)
    try:
        for size in threads.map(partial(_fetch_pack, remote), packs):
            report(size)
    finally:
        # After a failure nothing more is fetched; what has arrived stays for the next time.
        threads.shutdown(cancel_futures=True)


def _fetch_pack(remote: Remote, pack: Pack) -> int:
    name = f"{PACKS_FOLDER}/{pack.folder.name}{TABLES}"
    if not pack.length <= LARGEST_TABLES or not {RECORDS} <= pack.tables.keys() <= {RECORDS, *WRITTEN_BY_WORKERS}:
        raise untrusted(remote.place(name), "has other tables than a pack, or larger ones")
    if not (pack.folder / INDEX_FILE).exists():
        content = remote.read(name, pack.length)
        files.make_folder(pack.folder)
        start = 0
        for _, table in sorted(pack.tables.items()):
            files.replace(table.path, content[start : start + table.length])
            start += table.length
        files.replace(pack.folder / INDEX_FILE, to_checksummed_json(pack.to_index()))
    return pack.length
