"""``lnlab push`` and ``lnlab pull``: finished units leave a store for another place and enter another store from there,
checked as if hostile."""

import asyncio
import errno
import io
import json
import os
import random
import re
import shutil
import signal
import time
from dataclasses import replace
from pathlib import Path

import fsspec
import polars as pl
import pytest
from fsspec.asyn import AsyncFileSystem
from fsspec.implementations.memory import MemoryFileSystem

from lnlab.errors import StoreError
from lnlab.issues import Issue
from lnlab.keys import digest_bytes
from lnlab.store import files, remote
from lnlab.store.packing import packs_locked
from lnlab.store.packs import Pack, PackedTable
from lnlab.store.parquet_sizes import parquet_sizes
from lnlab.store.plans import find_plan
from lnlab.store.records.checksummed import to_checksummed_json
from lnlab.store.store import Store
from tests.support.folders import contents
from tests.support.results_digest import results_digest


def pulled(lnlab, *more, spec="tiny.yaml", place="remote"):
    """How many units a pull brought, and how many were in the store already."""
    said = lnlab("pull", spec, place, *more)
    assert (said.code, said.out.count("\n")) == (0, 1), said.err
    return tuple(map(int, re.findall(r"\d+", said.out)))


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Packs of one unit."""
    monkeypatch.setattr("lnlab.app.stores.pushing.FULL", 1)


@pytest.fixture(scope="module")
def pushed(once, tmp_path_factory):
    """A folder with the six finished units of the tiny spec, each a pack."""
    from lnlab.cli import main

    path = tmp_path_factory.mktemp("pushed") / "remote"
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(once)
        patch.setattr("lnlab.app.stores.pushing.FULL", 1)
        assert main(["push", "tiny.yaml", str(path), "-q"]) == 0
    return path


@pytest.fixture
def stranger(once, pushed, tmp_path, monkeypatch):
    """A folder with the spec and a copy of what was pushed, as the working folder."""
    shutil.copy(once / "tiny.yaml", tmp_path)
    shutil.copytree(pushed, tmp_path / "remote")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def snapshot():
    """Everything that lies in the store, but for the locks that an attempt may leave."""
    return {name: content for name, content in contents(".lnlab").items() if Path(name).name != ".lock"}


def results_of(folder):
    store = Store((folder / ".lnlab").absolute())
    return results_digest(store.results(find_plan(store.root, folder / "tiny.yaml").digest))


@pytest.mark.parametrize("place", ["another", "memory://another/place", "file://{}/another"])
def test_what_was_pushed_is_not_computed_again_and_gives_the_same_results(lnlab, monkeypatch, stranger, once, place):
    place = place.format(stranger)
    monkeypatch.chdir(once)
    first = lnlab("push", "tiny.yaml", stranger / place if place == "another" else place)
    assert first.code == 0, first.err
    assert "; 6 packs (" in first.out
    again = lnlab("push", "tiny.yaml", stranger / place if place == "another" else place)
    assert again.out.endswith("; nothing sent\n")
    monkeypatch.chdir(stranger)
    assert pulled(lnlab, place=place) == (6, 0)
    ran = lnlab("run", "tiny.yaml", "--json", "-w", 1).json
    assert (ran["computed"], ran["reused"]) == (0, 6)
    assert results_of(once) == results_of(stranger)
    assert not Path(".lnlab/arrivals").exists()


def test_a_report_needs_no_run_after_a_pull(lnlab, stranger):
    assert lnlab("pull", "tiny.yaml", "remote").code == 0
    assert lnlab("report", "tiny.yaml").code == 0


def test_names_there_are_digests_of_indices_and_nothing_is_of_the_machine(once, pushed):
    for name, content in contents(pushed).items():
        if name.endswith(".json"):
            assert name == f"packs/{digest_bytes(content)}.json"
        assert str(once).encode() not in content
    assert len(contents(pushed)) == 12


def test_a_second_pull_changes_nothing_and_a_part_is_filled_up(lnlab, stranger):
    assert lnlab("run", "tiny.yaml", "-p", "one", "-q", "-w", 1).code == 0
    assert pulled(lnlab) == (4, 2)
    before = snapshot()
    assert pulled(lnlab) == (0, 6)
    assert snapshot() == before


def test_another_profile_or_text_finds_the_units_that_it_has_in_common(lnlab, console, stranger):
    assert pulled(lnlab, "-p", "one") == (2, 0)
    Path("renamed.yaml").write_text(Path("tiny.yaml").read_text().replace("Does it run?", "Does it?"))
    assert pulled(lnlab, spec="renamed.yaml") == (4, 2)
    console("pull", "tiny.yaml", "remote", "-s", "seeds=4")


def test_units_that_were_computed_otherwise_stay_there(console, stranger):
    console.refused("pull", "tiny.yaml", "remote", "-s", "model.d_ff=64")
    assert snapshot() == {}


def test_only_finished_units_are_pushed(lnlab, console, tiny):
    assert lnlab("run", "tiny.yaml", "-p", "one", "-q", "-w", 1).code == 0
    store = Store(Path(".lnlab").absolute())
    runs = store.results(find_plan(store.root, tiny, "one").digest).runs
    for folder in Path(".lnlab/trajectories").glob(f"??/{runs['trajectory'][0]}"):
        shutil.rmtree(folder)
    console("push", "tiny.yaml", "there", "-p", "one")
    for folder in Path(".lnlab/trajectories").glob("??/*"):
        shutil.rmtree(folder)
    console.refused("push", "tiny.yaml", "nowhere", "-p", "one")
    assert not Path("nowhere").exists()


def test_a_push_that_was_killed_goes_on_and_sends_nothing_twice(once, stranger, lnlab, forked, monkeypatch):
    """Killed as the system kills, at every file: what lies there afterwards is whole, or no file of a push."""
    monkeypatch.chdir(once)
    for sent in (0, 3, 11):
        there = stranger / f"there-{sent}"
        words = ["push", "tiny.yaml", str(there), "-q"]
        killed = forked("push_until", words, str(once), dict(os.environ), str(stranger), sent)
        assert killed[0] == -signal.SIGKILL, killed
        pushed = lnlab("push", "tiny.yaml", there)
        assert pushed.code == 0, pushed.err
        assert pushed.out.startswith(f"6 units at {there}; ")
        assert f"; {6 - sent // 2} pack" in pushed.out
        assert contents(there) == contents(stranger / "remote")


def test_a_pull_that_was_cut_off_goes_on_where_it_was(lnlab, stranger, monkeypatch):
    read, asked, arrived = remote.Remote.read, [], []

    def reads(self, name, size):
        if name.endswith(".json"):
            return read(self, name, size)
        asked.append(name)
        if len(asked) == 4:
            raise StoreError(Issue("unreachable", "remote", "the line was cut"))
        arrived.append(name)
        return read(self, name, size)

    monkeypatch.setattr("lnlab.store.remote.TRANSFERS", 1)
    monkeypatch.setattr(remote.Remote, "read", reads)
    assert lnlab("pull", "tiny.yaml", "remote").code == 2
    assert [path.name for path in Path(".lnlab/packs").iterdir()] == [".lock"]
    assert {path.name for path in Path(".lnlab/arrivals/packs").iterdir()} == {Path(name).stem for name in arrived}
    assert len(arrived) >= 3
    assert pulled(lnlab) == (6, 0)
    assert len(arrived) == len(set(arrived)) == 6


def test_what_arrived_from_one_place_is_not_taken_as_from_another(lnlab, stranger, monkeypatch):
    write, arrived = files.replace, []

    def writes(path, content):
        write(path, content)
        arrived.append(path)
        if len([path for path in arrived if path.name == "index.json"]) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(files, "replace", writes)
    assert lnlab("pull", "tiny.yaml", "remote").code == 130
    monkeypatch.setattr(files, "replace", write)
    assert len(list(Path(".lnlab/arrivals/packs").iterdir())) >= 2
    Path("other").mkdir()
    assert lnlab("pull", "tiny.yaml", "other").code == 2
    assert snapshot() == {}


def one(folder, kind):
    return sorted((folder / "packs").glob(f"*.{kind}"))[0]


def resealed(folder, index, tables):
    """The first pack with this index and these tables, under the name that it then has."""
    for kind in ("json", "tables"):
        one(folder, kind).unlink()
    for kind, content in (("json", index), ("tables", tables)):
        (folder / "packs" / f"{digest_bytes(index)}.{kind}").write_bytes(content)


def change_index(folder, change):
    tables = one(folder, "tables").read_bytes()
    index = json.loads(one(folder, "json").read_bytes())["content"]
    change(index)
    resealed(folder, to_checksummed_json(index), tables)


def change_pack(folder, change, *, follows=True):
    """The first pack's tables changed, and an index that follows from them or has the digests of before."""
    before = Pack.of_index(Path(), json.loads(one(folder, "json").read_bytes())["content"])
    content, parts = one(folder, "tables").read_bytes(), {}
    for name, table in sorted(before.tables.items()):
        parts[name], content = content[: table.length], content[table.length :]
    change(parts)
    tables = {}
    for name, part in parts.items():
        if part.startswith(b"PAR1PAR1"):  # no Parquet
            after = PackedTable(Path(), [7], [], part)
        else:
            after = PackedTable.of(Path(), [parquet_sizes(part).rows], part)
        groups = zip(after.groups, before.tables[name].groups, strict=False)
        tables[name] = after if follows else replace(after, groups=[(*new[:3], old[3]) for new, old in groups])
    records = pl.read_parquet(parts["records"]) if "records" in parts else pl.DataFrame(before.stretches, orient="row")
    pack = Pack(Path(), list(records.select(pl.nth(0, 1)).iter_rows()), tables)
    resealed(folder, to_checksummed_json(pack.to_index()), b"".join(part for _, part in sorted(parts.items())))


def change_rows(folder, change, *, table="sites", follows=True, **options):
    def changed(parts):
        buffer = io.BytesIO()
        change(pl.read_parquet(parts[table])).write_parquet(buffer, **options)
        parts[table] = buffer.getvalue()

    change_pack(folder, changed, follows=follows)


def change_record(folder, **changed):
    """The first pack's record with other values; of ``outcome`` those that are named."""

    def change(records):
        row = records.row(0, named=True)
        outcome = json.loads(row["outcome"]) | changed.pop("outcome", {})
        return pl.DataFrame(
            [{**row, "outcome": json.dumps(outcome, sort_keys=True, separators=(",", ":")), **changed}],
            schema=records.schema,
        )

    change_rows(folder, change, table="records")


def damaged_page(content):
    """A table whose last page is not compressed as its header says."""
    before, magic, after = content.rpartition(b"\x28\xb5\x2f\xfd")
    assert magic
    return before + bytes(4) + after


def instead(put):
    """Something else in place of a pack."""

    def attack(folder):
        path = one(folder, "tables")
        path.unlink()
        put(path)

    return attack


def huge(folder, size=2**30):
    """A pack that is as large as its index says."""
    index = json.loads(one(folder, "json").read_bytes())["content"]
    sizes_of_first(index, size)
    os.truncate(one(folder, "tables"), Pack.of_index(Path(), index).length)
    name = one(folder, "tables").rename(folder / "packs" / f"{digest_bytes(to_checksummed_json(index))}.tables")
    one(folder, "json").unlink()
    name.with_suffix(".json").write_bytes(to_checksummed_json(index))


def flipped(folder, kind):
    path = one(folder, kind)
    path.write_bytes(path.read_bytes()[:-40] + bytes([path.read_bytes()[-40] ^ 1]) + path.read_bytes()[-39:])


def rename_table(folder, name):
    """Padded as the sizes of the index want it."""
    change_index(folder, lambda i: i["tables"].__setitem__(name, i["tables"].pop("sites")))


def sizes_of_first(index, size):
    index["tables"]["sites"][1][0][1] = size


def moved_boundary(index):
    """A byte of one table to the next."""
    index["tables"]["records"][1][0][1] += 1
    index["tables"]["sites"][1][0][1] -= 1


def index_of(content):
    return lambda folder: resealed(folder, content, one(folder, "tables").read_bytes())


BOMB = {"tensor": pl.lit("x" * 140_000_000)}
HOSTILE = {
    "a byte of a pack": lambda f: flipped(f, "tables"),
    "a byte of an index": lambda f: flipped(f, "json"),
    "an index of a terabyte": lambda f: os.truncate(one(f, "json"), 2**40),
    "a pack of a gigabyte": huge,
    "an empty index": index_of(b""),
    "an index of brackets": index_of(b"[" * 100_000),
    "an index that is a list": index_of(b"[]"),
    "an index with a number of a million digits": index_of(b'{"content":' + b"1" * 10**6 + b"}"),
    "an index of numbers": index_of(to_checksummed_json({"stretches": 7, "tables": 7})),
    "100,000 stretches of one name": lambda f: change_index(f, lambda i: i["stretches"].extend(i["stretches"] * 10**5)),
    "100,000 rows more than there are": lambda f: change_index(
        f, lambda i: i["tables"]["sites"][0].__setitem__(0, 10**5)
    ),
    "a number of rows that is true": lambda f: change_index(
        f, lambda i: i["tables"]["records"][0].__setitem__(0, True)
    ),
    "a stretch that leads out of the store": lambda f: change_record(f, stretch="../../evil"),
    "a stretch that the tables have not": lambda f: change_index(
        f, lambda i: i["stretches"][0].__setitem__(1, "0-" + "a" * 24)
    ),
    "a table that leads out of the store": lambda f: rename_table(f, "../../evil"),
    "a table that no pack has": lambda f: rename_table(f, "evil.py"),
    "a size that is a word": lambda f: change_index(f, lambda i: sizes_of_first(i, "1")),
    "a size that is a number with a point": lambda f: change_index(f, lambda i: sizes_of_first(i, 1.0)),
    "another boundary between tables": lambda f: change_index(f, moved_boundary),
    "a stretch twice": lambda f: change_rows(f, lambda t: pl.concat([t, t]), table="records"),
    "no records": lambda f: change_pack(f, lambda parts: parts.pop("records")),
    "another number in a row": lambda f: change_rows(f, lambda t: t.with_columns(pl.col("value") * 2), follows=False),
    "rows of another unit": lambda f: change_rows(f, lambda t: t.with_columns(trajectory=pl.lit("f" * 20))),
    "rows of another unit between others": lambda f: change_rows(
        f, lambda t: t.with_columns(stretch=pl.when(pl.int_range(pl.len()) == 1).then(pl.lit("x")).otherwise("stretch"))
    ),
    "rows of another measurement": lambda f: change_rows(f, lambda t: t.with_columns(measurement=pl.lit("f" * 20))),
    "rows of no measurement": lambda f: change_rows(f, lambda t: t.with_columns(measurement=pl.lit(None, pl.String))),
    "a column of another type": lambda f: change_rows(f, lambda t: t.cast({"layer": pl.String})),
    "a column too many": lambda f: change_rows(f, lambda t: t.with_columns(evil=pl.lit(1))),
    "no measurement column": lambda f: change_rows(f, lambda t: t.drop("measurement")),
    "a record without a column": lambda f: change_rows(f, lambda t: t.drop("measurements"), table="records"),
    "a gzip bomb in a column": lambda f: change_rows(f, lambda t: t.head(1).with_columns(**BOMB), compression="gzip"),
    "a zstd bomb in a column": lambda f: change_rows(f, lambda t: t.head(1).with_columns(**BOMB)),
    "a page that is none": lambda f: change_pack(f, lambda parts: parts.update(sites=damaged_page(parts["sites"]))),
    "no Parquet": lambda f: change_pack(f, lambda parts: parts.update(sites=b"PAR1" * 100)),
    "a run that ends before it begins": lambda f: change_record(f, steps=-1, outcome={"steps": -1}),
    "a record with another first step": lambda f: change_record(f, first_step=1),
    "a record of another unit": lambda f: change_record(f, outcome={"trajectory": "f" * 20}),
    "a status that is a number": lambda f: change_record(f, outcome={"status": 7}),
    "a number that is none": lambda f: change_record(f, outcome={"last_finite_loss": float("nan")}),
    "an outcome with another field": lambda f: change_record(f, outcome={"setting": {"layers": 10**6}}),
    "an outcome that is a list": lambda f: change_rows(
        f, lambda t: t.with_columns(outcome=pl.lit("[]")), table="records"
    ),
    "an outcome with a long text": lambda f: change_record(f, outcome={"device": "x" * 10**6}),
    "a thinned quantity that is a long text": lambda f: change_record(f, thinned=["x" * 10**6]),
    "a measurement that is no key": lambda f: change_record(f, measurements=["../../evil"]),
    "no measurements": lambda f: change_record(f, measurements=None),
}


@pytest.mark.parametrize("attack", HOSTILE)
def test_a_hostile_or_damaged_place_is_refused_and_nothing_is_written(lnlab, stranger, attack):
    HOSTILE[attack](stranger / "remote")
    began = time.monotonic()
    refused = lnlab("pull", "tiny.yaml", "remote")
    assert (refused.code, refused.err.count("\n")) == (2, 1), refused.err
    assert refused.err.startswith("remote/packs/")
    assert "nothing was written" in refused.err
    assert snapshot() == {}
    assert sorted(path.name for path in stranger.iterdir()) in (
        ["remote", "tiny.yaml"],
        [".lnlab", "remote", "tiny.yaml"],
    )
    assert time.monotonic() - began < 20


ABSENT = {
    "cut off": lambda f: one(f, "tables").write_bytes(one(f, "tables").read_bytes()[:-1]),
    "empty": lambda f: one(f, "tables").write_bytes(b""),
    "missing": instead(lambda _: None),
    "a terabyte long": lambda f: os.truncate(one(f, "tables"), 2**40),
    "less than nothing, as the index says": lambda f: change_index(f, lambda i: sizes_of_first(i, -1)),
    "a link": instead(lambda path: path.symlink_to("/etc/passwd")),
    "a pipe": instead(os.mkfifo),
    "of a run that failed": lambda f: change_record(f, outcome={"status": "failed"}),
}


@pytest.mark.parametrize("how", ABSENT)
def test_a_pack_whose_tables_are_not_whole_is_not_there_until_it_is_pushed_again(
    lnlab, stranger, once, monkeypatch, how
):
    ABSENT[how](stranger / "remote")
    assert pulled(lnlab, "--store", "first") == (5, 0)
    if how in ("cut off", "empty", "missing", "a terabyte long"):
        monkeypatch.chdir(once)
        assert "; 1 pack (" in lnlab("push", "tiny.yaml", stranger / "remote").out
        monkeypatch.chdir(stranger)
        assert pulled(lnlab) == (6, 0)


def test_what_a_place_holds_beside_is_nobodys(lnlab, stranger):
    for path in (
        Path("remote/README.txt"),
        Path("remote/packs/evil.py"),
        one(stranger / "remote", "tables").with_name("." + "a" * 64 + ".part"),
    ):
        path.write_text("evil")
    change_index(stranger / "remote", lambda index: index.update(settings=[{"layers": [{}] * 10**5}]))
    Path("remote/packs/evil.json").mkdir()
    Path("remote/packs/" + "a" * 64 + ".json").symlink_to("/")
    assert pulled(lnlab) == (6, 0)


def test_of_random_flips_of_a_byte_none_enters_and_none_crashes(lnlab, stranger):
    chance = random.Random(1)
    paths = sorted(path for path in Path("remote").rglob("*") if path.is_file())
    for _ in range(12):
        path = chance.choice(paths)
        content = path.read_bytes()
        changed = bytearray(content)
        changed[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
        path.write_bytes(changed)
        refused = lnlab("pull", "tiny.yaml", "remote")
        assert (refused.code, refused.err.count("\n")) == (2, 1), refused.err
        assert refused.err.startswith((f"{path.as_posix()}: ", f"{path.with_suffix('').as_posix()}: "))
        assert "nothing was written" in refused.err
        assert snapshot() == {}
        path.write_bytes(content)


def test_more_than_the_limit_is_refused_before_it_is_read(console, stranger):
    huge(stranger / "remote", 2**40)
    refused = console.refused("pull", "tiny.yaml", "remote", "--limit", "0.25")
    assert re.findall(r"[\d.]+ [MT]B", refused) == ["1.1 TB", "268 MB"]
    assert snapshot() == {}


def test_equal_rows_count_as_in_memory_and_indices_count_too(console, stranger, monkeypatch):
    """What is small there and large here is refused before it is here."""
    change_rows(
        stranger / "remote", lambda t: t.head(1).select(pl.all().repeat_by(1_000_000).explode()), compression="zstd"
    )
    scan, unfolded = pl.scan_parquet, []

    def scanned(content):
        rows = scan(content)
        unfolded.append(rows.select(pl.len()).collect().item())
        return rows

    monkeypatch.setattr("lnlab.app.stores.pack_checks.pl.scan_parquet", scanned)
    assert "53.7 MB" in console.refused("pull", "tiny.yaml", "remote", "--limit", "0.05")
    assert max(unfolded) < 1_000
    # What has arrived stays for the same command with more allowed.
    assert {name.partition("/")[0] for name in snapshot()} == {"arrivals"}
    for number in range(3):
        index = to_checksummed_json({"stretches": [], "tables": {}, "more": f"{number}" * 500_000})
        Path("remote/packs", f"{digest_bytes(index)}.json").write_bytes(index)
    assert "1.07 MB" in console.refused("pull", "tiny.yaml", "remote", "-s", "seeds=4", "--limit", "0.001")


def test_more_packs_than_any_place_has_are_not_read(console, stranger, monkeypatch):
    monkeypatch.setattr("lnlab.store.remote_packs.MOST_PACKS", 3)
    console.refused("pull", "tiny.yaml", "remote", "-s", "seeds=4")
    assert snapshot() == {}


def test_interrupted_at_any_operation_the_store_is_as_it_was_or_whole(lnlab, stranger, monkeypatch):
    assert lnlab("run", "tiny.yaml", "-p", "one", "-q", "-w", 1).code == 0
    store, done = Store(Path(".lnlab").absolute()), []
    before_it = results_digest(store.results(find_plan(store.root, Path("tiny.yaml"), "one").digest))
    for number in range(1, 100):
        done.clear()

        def before(operation, path, last=number):
            done.append(operation)
            if len(done) == last:
                raise KeyboardInterrupt

        monkeypatch.setattr(files, "before", before)
        code = lnlab("pull", "tiny.yaml", "remote").code
        monkeypatch.setattr(files, "before", files.nothing)
        assert results_digest(store.results(find_plan(store.root, Path("tiny.yaml"), "one").digest)) == before_it
        assert len(store.held()) in (2, 6)
        if len(store.held()) == 6:
            break
    assert number > 10
    assert code in (0, 130)
    assert pulled(lnlab) == (0, 6)


def test_while_packs_are_changed_nothing_is_pulled(console, stranger):
    with packs_locked(Path(".lnlab").absolute()):
        console.refused("pull", "tiny.yaml", "remote")


PULLED = "6 units pulled, 0 in the store already\n"


class Fragile(MemoryFileSystem):
    """A place in memory that is not an object store, which refuses after so many calls, or lists what was there before.

    Attributes:
        calls: that are answered, before ``error`` is raised by each.
        renames: whether it can rename.
        listed: paths that listings show, all if None.
    """

    protocol = "fragile"
    store, pseudo_dirs = {}, [""]
    calls, error, renames, listed = 10**9, None, True, None

    @classmethod
    def again(cls, *, clear=True, **attributes):
        if clear:
            cls.store.clear()
        for name, value in {"calls": 10**9, "error": None, "renames": True, "listed": None, **attributes}.items():
            setattr(cls, name, value)

    def _answer(self):
        type(self).calls -= 1
        if self.calls < 0:
            raise self.error

    def ls(self, path, detail=True, **options):
        self._answer()
        found = super().ls(path, detail=True, **options)
        return [
            entry
            for entry in found
            if entry["type"] == "directory" or self.listed is None or entry["name"] in self.listed
        ]

    def pipe_file(self, path, value, **options):
        self._answer()
        super().pipe_file(path, value, **options)

    def cat_file(self, path, start=None, end=None, **options):
        self._answer()
        return super().cat_file(path, start, end, **options)

    def mv(self, path1, path2, **options):
        if not self.renames:
            raise NotImplementedError
        self.pipe_file(path2, self.cat_file(path1))
        self.rm_file(path1)


@pytest.fixture
def fragile():
    fsspec.register_implementation("fragile", Fragile, clobber=True)
    Fragile.again()
    yield Fragile
    Fragile.again()


class OneConnection(Fragile):
    """A place behind one connection, as paramiko's, on which answers to calls of two threads get lost."""

    protocol = ("fragile", "sftp")
    together, most = 0, 0

    def _call(self, name, *arguments, **more):
        type(self).together += 1
        type(self).most = max(self.most, self.together)
        time.sleep(0.01)
        try:
            return getattr(super(), name)(*arguments, **more)
        finally:
            type(self).together -= 1

    def pipe_file(self, *arguments, **more):
        return self._call("pipe_file", *arguments, **more)

    def cat_file(self, *arguments, **more):
        return self._call("cat_file", *arguments, **more)


def test_one_file_at_a_time_is_on_the_way_over_one_connection(lnlab, once, workdir, fragile):
    fsspec.register_implementation("fragile", OneConnection, clobber=True)
    shutil.copytree(once, workdir, dirs_exist_ok=True)
    assert lnlab("push", "tiny.yaml", "fragile://x", "-q").code == 0
    assert pulled(lnlab, "--store", "other", place="fragile://x") == (6, 0)
    assert OneConnection.most == 1


class Endless(AsyncFileSystem):
    """An object store whose listings go on and on."""

    protocol = "endless"

    async def _ls(self, path, detail=True, **options):
        while True:
            await asyncio.sleep(0.01)


def test_a_listing_without_end_is_given_up(console, once, workdir, monkeypatch):
    fsspec.register_implementation("endless", Endless, clobber=True)
    monkeypatch.setattr(remote, "LONGEST_LISTING", 1)
    shutil.copytree(once, workdir, dirs_exist_ok=True)
    console.refused("pull", "tiny.yaml", "endless://x", "--store", "other")


REFUSALS = {
    "a key that is wrong": PermissionError("The AWS Access Key Id you provided does not exist in our records."),
    "a key that has expired": PermissionError("The provided token has expired."),
    "a place to read alone": OSError(errno.EROFS, "Read-only file system"),
    "no key at all": type("NoCredentialsError", (Exception,), {})("Unable to locate credentials"),
}


@pytest.mark.parametrize("after", [0, 5])
@pytest.mark.parametrize("error", REFUSALS.values(), ids=REFUSALS)
def test_a_place_that_refuses_is_told_from_one_that_is_away_and_what_has_arrived_is_not_sent_again(
    lnlab, once, monkeypatch, fragile, error, after
):
    monkeypatch.chdir(once)
    fragile.again(calls=after, error=error)
    refused = lnlab("push", "tiny.yaml", "fragile://x")
    assert (refused.code, refused.err.count("\n"), "credentials" in refused.err) == (2, 1, True), refused.err
    fragile.again(clear=False)
    assert lnlab("push", "tiny.yaml", "fragile://x").code == 0
    assert lnlab("push", "tiny.yaml", "fragile://x").out.endswith("; nothing sent\n")


@pytest.mark.parametrize("after", [0, 1, 2, 4, 7])
def test_a_place_that_vanishes_halfway_costs_what_was_on_its_way(lnlab, stranger, once, monkeypatch, fragile, after):
    gone = ConnectionResetError(errno.ECONNRESET, "Connection reset by peer")
    monkeypatch.chdir(once)
    fragile.again(calls=after, error=gone)
    cut = lnlab("push", "tiny.yaml", "fragile://x")
    assert (cut.code, cut.err.count("\n"), "credentials" in cut.err) == (2, 1, False), cut.err
    fragile.again(clear=False)
    assert lnlab("push", "tiny.yaml", "fragile://x").code == 0
    monkeypatch.chdir(stranger)
    fragile.again(clear=False, calls=after, error=gone)
    cut = lnlab("pull", "tiny.yaml", "fragile://x")
    assert (cut.code, cut.err.count("\n"), "continues" in cut.err) == (2, 1, True), cut.err
    fragile.again(clear=False)
    assert lnlab("pull", "tiny.yaml", "fragile://x").out == PULLED
    assert results_of(once) == results_of(stranger)


def test_a_place_without_rename_holds_all_and_nothing_beside_it(lnlab, stranger, once, monkeypatch, fragile):
    monkeypatch.chdir(once)
    fragile.again(renames=False)
    assert lnlab("push", "tiny.yaml", "fragile://x").code == 0
    assert not [name for name in fragile.store if name.endswith(".part")]
    monkeypatch.chdir(stranger)
    assert lnlab("pull", "tiny.yaml", "fragile://x").out == PULLED


def test_a_listing_that_lags_behind_costs_a_second_sending_and_no_run(lnlab, stranger, once, monkeypatch, fragile):
    monkeypatch.chdir(once)
    fragile.again(listed=())
    assert lnlab("push", "tiny.yaml", "fragile://x").code == 0
    assert "; 6 packs (" in lnlab("push", "tiny.yaml", "fragile://x").out
    monkeypatch.chdir(stranger)
    lagging = lnlab("pull", "tiny.yaml", "fragile://x")
    assert (lagging.code, lagging.err.count("\n")) == (2, 1)
    fragile.listed = None
    assert lnlab("pull", "tiny.yaml", "fragile://x").out == PULLED


class Broken(fsspec.AbstractFileSystem):
    """A place whose library raises what it likes."""

    protocol = "broken"

    def ls(self, path, detail=True, **options):
        raise RuntimeError("\x1b[31mToken of ftp://user:secret@host\nexpired")


def test_what_a_library_of_a_place_raises_is_one_line(console, once, workdir):
    shutil.copytree(once, workdir, dirs_exist_ok=True)  # what is asked for leaves its plan in the store
    fsspec.register_implementation("broken", Broken, clobber=True)
    refused = console.refused("push", "tiny.yaml", "broken://user:secret@host/x")
    assert ("secret" in refused, "\x1b" in refused) == (False, False)
    console("pull", "tiny.yaml", "broken://user:secret@host/x")  # nothing is lacking, so nothing is asked for


def test_a_wrong_command_is_one_line(console, stranger):
    for arguments in (
        ["push", "tiny.yaml", "elsewhere"],
        ["push", "tiny.yaml", "tiny.yaml"],
        ["pull", "tiny.yaml", "tiny.yaml"],
        ["pull", "tiny.yaml", "nothing"],
        ["pull", "tiny.yaml", "s3://bucket/x"],
        ["pull", "tiny.yaml", "sftp://h/x"],
        ["pull", "tiny.yaml", "https://h/x"],
        ["pull", "tiny.yaml", "gs://b/x"],
        ["pull", "tiny.yaml", "ssh://u:word@h/x"],
        ["pull", "tiny.yaml", "memry://x"],
    ):
        console.refused(*arguments)
