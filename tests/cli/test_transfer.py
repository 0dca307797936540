"""``lnlab export`` and ``lnlab import``: finished units leave a store and enter another, checked as if hostile."""

import gzip
import io
import json
import random
import shutil
import tarfile
from pathlib import Path

import polars as pl
import pytest

from lnlab.errors import StoreError
from lnlab.keys import digest_bytes
from lnlab.store import files
from lnlab.store.archive import open_archive
from lnlab.store.packing import packs_locked
from lnlab.store.read import find_plan
from lnlab.store.records.checksummed import to_checksummed_json
from lnlab.store.results_digest import results_digest
from lnlab.store.store import Store

UNTRUSTED = "nothing was imported; do not trust this archive"


@pytest.fixture(scope="module")
def archive(once, tmp_path_factory):
    """The six finished units of the tiny spec."""
    from lnlab.cli import main

    path = tmp_path_factory.mktemp("archive") / "units.tar"
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(once)
        assert main(["export", "tiny.yaml", "-o", str(path), "-q"]) == 0
    return path


@pytest.fixture
def stranger(once, tmp_path, monkeypatch):
    """An empty folder with the spec, as the working folder."""
    shutil.copy(once / "tiny.yaml", tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def members(path):
    with tarfile.open(path) as tar:
        return [(member.name, tar.extractfile(member).read()) for member in tar]


def pack(entries, path="changed.tar"):
    """An archive of these members: ``(name, content)``, or a ``TarInfo`` without content."""
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as tar:
        for entry in entries:
            if isinstance(entry, tarfile.TarInfo):
                tar.addfile(entry)
            else:
                member = tarfile.TarInfo(entry[0])
                member.size = len(entry[1])
                tar.addfile(member, io.BytesIO(entry[1]))
    return path


def snapshot():
    """Everything that lies in the store, but for the lock that an attempt may leave."""
    return {p: p.read_bytes() for p in Path(".lnlab").rglob("*") if p.is_file() and p.name not in (".lock", "lock")}


def test_what_was_exported_is_not_computed_again_and_gives_the_same_results(lnlab, stranger, archive, once):
    imported = lnlab("import", archive)
    assert (imported.code, imported.out) == (0, "6 units imported, 0 in the store already\n"), imported.err
    ran = lnlab("run", "tiny.yaml", "--json", "-w", 1).json
    assert (ran["computed"], ran["reused"]) == (0, 6)
    stores = [Store((folder / ".lnlab").absolute()) for folder in (once, stranger)]
    here, there = (store.results(find_plan(store.root, Path("tiny.yaml")).digest) for store in stores)
    assert results_digest(here) == results_digest(there)


def test_an_export_has_the_same_bytes_again_and_names_nothing_of_the_machine(lnlab, ran, archive, tmp_path):
    assert lnlab("export", "tiny.yaml", "-o", tmp_path / "again.tar").code == 0
    assert (tmp_path / "again.tar").read_bytes() == archive.read_bytes()
    assert lnlab("export", "tiny.yaml", "-o", tmp_path / "small.tar.gz").code == 0
    assert gzip.decompress((tmp_path / "small.tar.gz").read_bytes()) == archive.read_bytes()
    assert str(ran).encode() not in archive.read_bytes()
    assert not [name for name, _ in members(archive) if "output" in name]


def test_a_second_import_changes_nothing_and_a_part_is_filled_up(lnlab, stranger, archive):
    assert lnlab("run", "tiny.yaml", "-p", "one", "-q", "-w", 1).code == 0
    assert lnlab("import", archive).out == "4 units imported, 2 in the store already\n"
    before = snapshot()
    assert lnlab("import", archive).out == "0 units imported, 6 in the store already\n"
    assert snapshot() == before


def test_only_finished_units_are_exported(lnlab, tiny):
    assert lnlab("run", "tiny.yaml", "-p", "one", "-q", "-w", 1).code == 0
    store = Store(Path(".lnlab").absolute())
    runs = store.results(find_plan(store.root, tiny, "one").digest).runs
    for folder in Path(".lnlab/trajectories").glob(f"??/{runs['trajectory'][0]}"):
        shutil.rmtree(folder)
    exported = lnlab("export", "tiny.yaml", "-p", "one", "-o", "one.tar")
    assert "1 unit left out: not finished" in exported.err
    assert "1 unit, " in exported.err
    for folder in Path(".lnlab/trajectories").glob("??/*"):
        shutil.rmtree(folder)
    nothing = lnlab("export", "tiny.yaml", "-p", "one", "-o", "none.tar")
    assert (nothing.code, Path("none.tar").exists()) == (2, False)
    assert "no unit of it is finished" in nothing.err


def link(name, kind, target="/etc/passwd"):
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, target
    return member


def of_unit(entries, name):
    return next(n for n, (path, _) in enumerate(entries) if path.endswith(name))


def change_rows(entries, change, *, redigest):
    """Rows of the first table ``sites`` changed, and its record with it, if asked."""
    number = of_unit(entries, "sites.parquet")
    path, content = entries[number]
    buffer = io.BytesIO()
    change(pl.read_parquet(content)).write_parquet(buffer)
    entries[number] = path, buffer.getvalue()
    if redigest:
        where = next(n for n, (p, _) in enumerate(entries) if p == path.replace("sites.parquet", "record.json"))
        record = json.loads(entries[where][1])["content"]
        record["files"]["sites.parquet"] = digest_bytes(buffer.getvalue())
        entries[where] = entries[where][0], to_checksummed_json(record)
    return entries


def change_manifest(entries, change):
    fields = json.loads(entries[0][1])["content"]
    change(fields)
    return [(entries[0][0], to_checksummed_json(fields)), *entries[1:]]


def change_records(entries, change):
    changed = []
    for path, content in entries:
        if path.endswith("record.json"):
            record = json.loads(content)["content"]
            change(record)
            content = to_checksummed_json(record)
        changed.append((path, content))
    return changed


HOSTILE = {
    "a path out of the store": lambda e: [e[0], ("../../evil.parquet", b""), *e[1:]],
    "an absolute path": lambda e: [e[0], ("/tmp/evil", b""), *e[1:]],
    "a file that no unit has": lambda e: [*e, (e[1][0].rpartition("/")[0] + "/evil.py", b"")],
    "a symbolic link": lambda e: [e[0], link(e[1][0], tarfile.SYMTYPE), *e[2:]],
    "a hard link": lambda e: [e[0], link(e[1][0], tarfile.LNKTYPE), *e[2:]],
    "a device": lambda e: [e[0], link(e[1][0], tarfile.CHRTYPE), *e[2:]],
    "a folder": lambda e: [e[0], link(e[1][0].rpartition("/")[0], tarfile.DIRTYPE), *e[1:]],
    "an extension header": lambda e: [e[0], link("x", tarfile.XHDTYPE), *e[1:]],
    "a file twice": lambda e: [*e[:2], e[1], *e[2:]],
    "a unit in two places": lambda e: [e[0], *e[2:], e[1]],
    "a unit without files": lambda e: [entry for entry in e if not entry[0].startswith(e[1][0][:64])],
    "a unit without its record": lambda e: [entry for n, entry in enumerate(e) if n != of_unit(e, "record.json")],
    "a table that is missing": lambda e: [entry for n, entry in enumerate(e) if n != of_unit(e, "sites.parquet")],
    "no list of units": lambda e: e[1:],
    "another number in a row": lambda e: change_rows(e, lambda t: t.with_columns(pl.col("value") * 2), redigest=False),
    "rows of another measurement": lambda e: change_rows(
        e, lambda t: t.with_columns(measurement=pl.lit("f" * 64)), redigest=True
    ),
    "a column of another type": lambda e: change_rows(e, lambda t: t.cast({"layer": pl.String}), redigest=True),
    "a column too many": lambda e: change_rows(e, lambda t: t.with_columns(evil=pl.lit(1)), redigest=True),
    "no measurement column": lambda e: change_rows(e, lambda t: t.drop("measurement"), redigest=True),
    "more rows than there are": lambda e: change_rows(
        e, lambda t: pl.concat([t.head(1)] * 3).select(pl.all().repeat_by(700_000).explode()), redigest=True
    ),
    "another setting": lambda e: change_manifest(e, lambda f: f["settings"][0]["init"].update(kind="normal")),
    "another seed": lambda e: change_manifest(e, lambda f: f["units"][0].__setitem__(2, 99)),
    "another probe": lambda e: change_manifest(e, lambda f: f["probes"][0].update(batches=7)),
    "an unknown piece": lambda e: change_manifest(e, lambda f: f["settings"][0]["task"].update(kind="evil")),
    "a setting that is none": lambda e: change_manifest(e, lambda f: f["settings"].__setitem__(0, [1])),
    "a setting that is not there": lambda e: change_manifest(e, lambda f: f["units"][0].__setitem__(1, 10**6)),
    "a list of units that is none": lambda e: change_manifest(e, lambda f: f.update(units={"a": 1})),
    "another key everywhere": lambda e: change_key(e),
    "a measurement that was not declared": lambda e: change_manifest(e, lambda f: f["units"][0][3].pop()),
    "a run that failed": lambda e: change_records(e, lambda r: r["outcome"].update(status="failed")),
    "a run that ends before it begins": lambda e: change_records(e, lambda r: r.update(steps=-1)),
    "a record of other types": lambda e: change_records(e, lambda r: r.update(asked="everything")),
    "an outcome with a long text": lambda e: change_records(e, lambda r: r["outcome"].update(device="x" * 10**6)),
    "an outcome of another run": lambda e: change_records(e, lambda r: r["outcome"].update(parameters=7)),
    "a format of the future": lambda e: change_manifest(e, lambda f: f.update(format=2)),
}


def change_key(entries):
    """A unit under another key, wherever the key stands."""
    old = entries[1][0][:64]
    new = ("0" if old[0] != "0" else "1") + old[1:]
    changed = change_records(
        [(path.replace(old, new), content) for path, content in entries],
        lambda record: record.update(trajectory=new) if record["trajectory"] == old else None,
    )
    return change_manifest(changed, lambda f: [unit.__setitem__(0, new) for unit in f["units"] if unit[0] == old])


@pytest.mark.parametrize("attack", HOSTILE)
def test_a_hostile_archive_is_refused_and_the_store_is_as_it_was(lnlab, stranger, archive, attack):
    entries = HOSTILE[attack](members(archive))
    refused = lnlab("import", pack(entries))
    assert (refused.code, refused.err.count("\n")) == (2, 1), refused.err
    assert refused.err.startswith("changed.tar")
    assert snapshot() == {}
    assert sorted(path.name for path in stranger.iterdir()) in (
        ["changed.tar", "tiny.yaml"],
        [".lnlab", "changed.tar", "tiny.yaml"],
    )


def test_a_bomb_is_refused_before_it_unfolds(lnlab, stranger, archive):
    entries = members(archive)
    bomb = [entries[0], (entries[1][0], bytes(50 * 2**20)), *entries[2:]]
    Path("bomb.tar.gz").write_bytes(gzip.compress(Path(pack(bomb)).read_bytes()))
    assert Path("bomb.tar.gz").stat().st_size < 2**20
    refused = lnlab("import", "bomb.tar.gz", "--limit", "0.01")
    assert refused.code == 2
    assert "bomb.tar.gz: holds more than it may; nothing was imported; allow more with --limit" in refused.err
    with pytest.raises(StoreError, match="and may have 268,435,456"), open_archive(huge(), 2**40) as (_, rest):
        list(rest)


def huge():
    """An archive whose first file says that it has a terabyte."""
    member = tarfile.TarInfo("units.json")
    member.size = 2**40
    Path("huge.tar").write_bytes(member.tobuf(format=tarfile.GNU_FORMAT))
    return Path("huge.tar")


def test_of_random_flips_of_a_byte_none_enters_and_none_crashes(lnlab, stranger, archive):
    content, chance = archive.read_bytes(), random.Random(1)
    length = len(content.rstrip(b"\0"))
    refused = 0
    for _ in range(25):
        place = chance.randrange(length)
        changed = bytearray(content)
        changed[place] ^= 1 << chance.randrange(8)
        Path("flipped.tar").write_bytes(changed)
        result = lnlab("import", "flipped.tar")
        if result.code == 0:  # of the owner or the time in a header, which nobody reads, or of padding
            assert members("flipped.tar") == members(archive), place
            shutil.rmtree(".lnlab")
        else:
            refused += 1
            assert (result.code, result.err.count("\n")) == (2, 1), result.err
            assert snapshot() == {}, place
    assert refused > 15


def test_a_cut_archive_is_refused_wherever_it_was_cut(lnlab, stranger, archive):
    content = archive.read_bytes()
    for share in (0.0, 0.3, 0.9):
        Path("cut.tar").write_bytes(content[: int(len(content.rstrip(b"\0")) * share)])
        assert lnlab("import", "cut.tar").code == 2
    assert snapshot() == {}


def test_interrupted_at_any_operation_the_store_is_as_it_was_or_whole(lnlab, stranger, archive, monkeypatch):
    assert lnlab("run", "tiny.yaml", "-p", "one", "-q", "-w", 1).code == 0
    store, done = Store(Path(".lnlab").absolute()), []

    def arm(last):
        done.clear()

        def before(operation, path):
            done.append(operation)
            if len(done) == last:
                raise KeyboardInterrupt

        monkeypatch.setattr(files, "before", before)

    arm(0)
    one = results_digest(store.results(find_plan(store.root, Path("tiny.yaml"), "one").digest))
    for number in range(1, 100):
        arm(number)
        code = lnlab("import", archive).code
        monkeypatch.setattr(files, "before", files.nothing)
        assert results_digest(store.results(find_plan(store.root, Path("tiny.yaml"), "one").digest)) == one
        names = [path.name for path in Path(".lnlab/packs").iterdir() if path.is_dir() and path.name[0] != "."]
        assert len(store.held()) in (2, 6)
        assert (len(store.held()) == 6) == (len(names) == 1)
        if names:
            break
    assert number > 4
    assert lnlab("import", archive).out.endswith("in the store already\n")
    assert code in (0, 130)


def test_while_packs_are_changed_nothing_is_imported(lnlab, stranger, archive):
    with packs_locked(Path(".lnlab").absolute()):
        refused = lnlab("import", archive)
    assert refused.code == 2
    assert "another lnlab is changing the packs of this store; wait until it is done" in refused.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["export", "tiny.yaml", "-o", "units.zip"],
            "units.zip: an archive ends in .tar or .tar.gz",
        ),
        (["export", "tiny.yaml", "-o", "units.tar"], "tiny.yaml: was never run"),
        (["import", "nothing.tar"], "nothing.tar: there is no such file"),
        (["import", "tiny.yaml"], "tiny.yaml: is"),
    ],
)
def test_a_wrong_command_is_one_line(lnlab, stranger, arguments, message):
    refused = lnlab(*arguments)
    assert (refused.code, refused.err.count("\n")) == (2, 1), refused.err
    assert message in refused.err
