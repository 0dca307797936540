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
from pathlib import Path

import fsspec
import polars as pl
import pytest
from fsspec.asyn import AsyncFileSystem
from fsspec.implementations.memory import MemoryFileSystem

from lnlab.errors import StoreError
from lnlab.issues import Issue
from lnlab.keys import canonical, digest_bytes
from lnlab.store import files, remote, segments
from lnlab.store.packing import packs_locked
from lnlab.store.plans import find_plan
from lnlab.store.records.checksummed import to_checksummed_json
from lnlab.store.store import Store
from tests.support.results_digest import results_digest


def pulled(lnlab, *more, spec="tiny.yaml", place="remote"):
    """How many units a pull brought, and how many were in the store already."""
    said = lnlab("pull", spec, place, *more)
    assert (said.code, said.out.count("\n")) == (0, 1), said.err
    return tuple(map(int, re.findall(r"\d+", said.out)))


@pytest.fixture(scope="module")
def pushed(once, tmp_path_factory):
    """A folder with the six finished units of the tiny spec."""
    from lnlab.cli import main

    path = tmp_path_factory.mktemp("pushed") / "remote"
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(once)
        assert main(["push", "tiny.yaml", str(path), "-q"]) == 0
    return path


@pytest.fixture
def stranger(once, pushed, tmp_path, monkeypatch):
    """A folder with the spec and a copy of what was pushed, as the working folder."""
    shutil.copy(once / "tiny.yaml", tmp_path)
    shutil.copytree(pushed, tmp_path / "remote")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def contents(folder):
    return {str(p.relative_to(folder)): p.read_bytes() for p in Path(folder).rglob("*") if p.is_file()}


def snapshot():
    """Everything that lies in the store, but for the locks that an attempt may leave."""
    return {name: content for name, content in contents(".lnlab").items() if Path(name).name not in (".lock", "lock")}


def results_of(folder):
    store = Store((folder / ".lnlab").absolute())
    return results_digest(store.results(find_plan(store.root, folder / "tiny.yaml").digest))


@pytest.mark.parametrize("place", ["another", "memory://another/place", "file://{}/another"])
def test_what_was_pushed_is_not_computed_again_and_gives_the_same_results(lnlab, monkeypatch, stranger, once, place):
    place = place.format(stranger)
    monkeypatch.chdir(once)
    first = lnlab("push", "tiny.yaml", stranger / place if place == "another" else place)
    assert first.code == 0, first.err
    assert "; 6 segments (" in first.out
    again = lnlab("push", "tiny.yaml", stranger / place if place == "another" else place)
    assert again.out.endswith("; nothing sent\n")
    monkeypatch.chdir(stranger)
    assert pulled(lnlab, place=place) == (6, 0)
    ran = lnlab("run", "tiny.yaml", "--json", "-w", 1).json
    assert (ran["computed"], ran["reused"]) == (0, 6)
    assert results_of(once) == results_of(stranger)
    assert list(Path(".lnlab/arrivals").iterdir()) == [Path(".lnlab/arrivals/lock")]


def test_a_report_needs_no_run_after_a_pull(lnlab, stranger):
    assert lnlab("pull", "tiny.yaml", "remote").code == 0
    assert lnlab("report", "tiny.yaml").code == 0


def test_names_there_are_digests_of_their_content_and_nothing_is_of_the_machine(once, pushed):
    for name, content in contents(pushed).items():
        assert name.rpartition("/")[2] == digest_bytes(content)
        assert str(once).encode() not in content
    assert len(contents(pushed)) == 7


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
    assert "lnlab run tiny.yaml -s seeds=4" in console("pull", "tiny.yaml", "remote", "-s", "seeds=4").err


def test_units_that_were_computed_otherwise_stay_there(console, stranger):
    console.refused("pull", "tiny.yaml", "remote", "-s", "model.d_ff=64")
    assert snapshot() == {}


def test_only_finished_units_are_pushed(lnlab, console, tiny):
    assert lnlab("run", "tiny.yaml", "-p", "one", "-q", "-w", 1).code == 0
    store = Store(Path(".lnlab").absolute())
    runs = store.results(find_plan(store.root, tiny, "one").digest).runs
    for folder in Path(".lnlab/trajectories").glob(f"??/{runs['trajectory'][0]}"):
        shutil.rmtree(folder)
    assert console("push", "tiny.yaml", "there", "-p", "one").out.startswith("1 unit at there; 1 segment (")
    for folder in Path(".lnlab/trajectories").glob("??/*"):
        shutil.rmtree(folder)
    console.refused("push", "tiny.yaml", "nowhere", "-p", "one")
    assert not Path("nowhere").exists()


def test_a_push_that_was_killed_goes_on_and_sends_nothing_twice(once, stranger, lnlab, forked, monkeypatch):
    """Killed as the system kills, at every file: what lies there afterwards is whole, or no file of a push."""
    monkeypatch.chdir(once)
    for sent in (0, 3, 6):
        there = stranger / f"there-{sent}"
        words = ["push", "tiny.yaml", str(there), "-q"]
        killed = forked("push_until", words, str(once), dict(os.environ), str(stranger), sent)
        assert killed[0] == -signal.SIGKILL, killed
        pushed = lnlab("push", "tiny.yaml", there)
        assert pushed.code == 0, pushed.err
        assert pushed.out.startswith(f"6 units at {there}; ")
        assert (f"; {6 - sent} segments (" in pushed.out) or (sent == 6 and pushed.out.endswith("; nothing sent\n"))
        assert contents(there) == contents(stranger / "remote")


def test_a_pull_that_was_cut_off_goes_on_where_it_was(lnlab, stranger, monkeypatch):
    read, asked, arrived = remote.Remote.read, [], []

    def reads(self, name, size):
        if name.startswith(segments.MANIFESTS):
            return read(self, name, size)
        asked.append(name)
        if len(asked) == 4:
            raise StoreError(Issue("unreachable", "remote", "the line was cut"))
        arrived.append(name)
        return read(self, name, size)

    monkeypatch.setattr("lnlab.store.remote.TRANSFERS", 1)
    monkeypatch.setattr(remote.Remote, "read", reads)
    assert lnlab("pull", "tiny.yaml", "remote").code == 2
    assert not Path(".lnlab/packs").exists()
    assert {path.name for path in Path(".lnlab/arrivals").iterdir()} - {"lock"} == {Path(name).name for name in arrived}
    assert len(arrived) >= 3
    assert pulled(lnlab) == (6, 0)
    assert len(arrived) == len(set(arrived)) == 6


def one(folder, below):
    return sorted(path for path in (folder / below).rglob("*") if path.is_file())[0]


def resealed(folder, path, content):
    """A file under the name that its new content has."""
    path.unlink()
    named = path.with_name(digest_bytes(content))
    if folder.name == "segments" or "segments" in path.parts:
        named = Path(*path.parts[: path.parts.index("segments") + 1]) / named.name[:2] / named.name
    named.parent.mkdir(parents=True, exist_ok=True)
    named.write_bytes(content)
    return named


def change_manifest(folder, change):
    path = one(folder, "manifests")
    fields = json.loads(path.read_bytes())
    change(fields)
    resealed(folder, path, canonical(fields).encode())


def change_segment(folder, change):
    """The first unit's segment changed, and the manifest with it."""

    def relist(fields):
        entry = fields["units"][0][1][0]
        path = folder / "segments" / entry[1][:2] / entry[1]
        content, parts = path.read_bytes(), {}
        for name, size in entry[2]:
            parts[name], content = content[:size], content[size:]
        changed = change(parts)
        parts = parts if changed is None else changed
        entry[1] = resealed(folder, path, b"".join(parts.values())).name
        entry[2] = [[name, len(part)] for name, part in parts.items()]

    change_manifest(folder, relist)


def change_record(folder, change):
    def changed(parts):
        fields = json.loads(parts["record.json"])["content"]
        change(fields)
        parts["record.json"] = to_checksummed_json(fields)

    change_segment(folder, changed)


def change_rows(folder, change, *, table="sites", reseal=True, **options):
    def changed(parts):
        buffer = io.BytesIO()
        change(pl.read_parquet(parts[f"{table}.parquet"])).write_parquet(buffer, **options)
        parts[f"{table}.parquet"] = buffer.getvalue()
        if reseal:
            fields = json.loads(parts["record.json"])["content"]
            fields["files"][f"{table}.parquet"] = digest_bytes(buffer.getvalue())
            parts["record.json"] = to_checksummed_json(fields)

    change_segment(folder, changed)


def without_column(table):
    return table.drop("measurement")


def link_to_password(folder):
    path = one(folder, "segments")
    path.unlink()
    path.symlink_to("/etc/passwd")


def pipe(folder):
    path = one(folder, "segments")
    path.unlink()
    os.mkfifo(path)


def sparse(folder, below):
    with one(folder, below).open("r+b") as file:
        file.truncate(2**40)


def size_of_first(fields, size):
    fields["units"][0][1][0][2][0][1] = size


def first_segment(fields):
    return fields["units"][0][1][0]


def brackets(folder):
    resealed(folder, one(folder, "manifests"), b"[" * 100_000)


HOSTILE = {
    "a byte of a segment": lambda f: one(f, "segments").write_bytes(b"x" + one(f, "segments").read_bytes()[1:]),
    "a segment cut off": lambda f: one(f, "segments").write_bytes(one(f, "segments").read_bytes()[:-1]),
    "an empty segment": lambda f: one(f, "segments").write_bytes(b""),
    "a segment that is missing": lambda f: one(f, "segments").unlink(),
    "a link": link_to_password,
    "a pipe": pipe,
    "a byte of the manifest": lambda f: one(f, "manifests").write_bytes(b"[" + one(f, "manifests").read_bytes()[1:]),
    "a manifest of a terabyte": lambda f: sparse(f, "manifests"),
    "an empty manifest": lambda f: resealed(f, one(f, "manifests"), b""),
    "a manifest of brackets": brackets,
    "a manifest that is a list": lambda f: resealed(f, one(f, "manifests"), b"[]"),
    "a manifest with a number of a million digits": lambda f: resealed(
        f, one(f, "manifests"), b'{"format":' + b"1" * 10**6 + b"}"
    ),
    "a manifest with 100,000 units of one name": lambda f: change_manifest(
        f, lambda m: m.update(units=[[m["units"][0][0], []]] * 10**5)
    ),
    "a manifest with 1,000,000 layers": lambda f: change_manifest(
        f, lambda m: m["units"][0].append({"model": {"layers": [{}] * 10**6}})
    ),
    "settings with 1,000,000 layers beside the units": lambda f: change_manifest(
        f, lambda m: m.update(settings=[{"layers": [{}] * 10**6}])
    ),
    "a setting beside a unit": lambda f: change_manifest(
        f, lambda m: m["units"][0].append({"model": {"layers": 10**6}})
    ),
    "a format of the future": lambda f: change_manifest(f, lambda m: m.update(format=2)),
    "a path out of the folder": lambda f: change_manifest(
        f, lambda m: first_segment(m).__setitem__(1, "../../../../etc/passwd")
    ),
    "a stretch that leads out of the store": lambda f: change_manifest(
        f, lambda m: first_segment(m).__setitem__(0, "../../evil")
    ),
    "a file that leads out of the store": lambda f: change_manifest(
        f, lambda m: first_segment(m)[2][1].__setitem__(0, "../../evil.parquet")
    ),
    "a file that no stretch has": lambda f: change_manifest(
        f, lambda m: first_segment(m)[2][1].__setitem__(0, "evil.py")
    ),
    "a file twice": lambda f: change_manifest(f, lambda m: first_segment(m)[2].append(first_segment(m)[2][1])),
    "a file of a terabyte": lambda f: change_manifest(f, lambda m: size_of_first(m, 2**40)),
    "a file of less than nothing": lambda f: change_manifest(f, lambda m: size_of_first(m, -1)),
    "a size that is a word": lambda f: change_manifest(f, lambda m: size_of_first(m, "1")),
    "a size that is true": lambda f: change_manifest(f, lambda m: size_of_first(m, True)),
    "a stretch twice": lambda f: change_manifest(f, lambda m: m["units"][0][1].append(first_segment(m))),
    "a unit twice": lambda f: change_manifest(f, lambda m: m["units"].append(m["units"][0])),
    "a unit of another key": lambda f: change_manifest(f, lambda m: m["units"][0].__setitem__(1, m["units"][1][1])),
    "another boundary between files": lambda f: change_manifest(
        f, lambda m: (size_of_first(m, first_segment(m)[2][0][1] + 1), first_segment(m)[2][1].__setitem__(1, 7))
    ),
    "no record": lambda f: change_segment(f, lambda parts: {k: v for k, v in parts.items() if k != "record.json"}),
    "a table that is missing": lambda f: change_segment(
        f, lambda parts: {k: v for k, v in parts.items() if k != "sites.parquet"}
    ),
    "another number in a row": lambda f: change_rows(f, lambda t: t.with_columns(pl.col("value") * 2), reseal=False),
    "rows of another measurement": lambda f: change_rows(f, lambda t: t.with_columns(measurement=pl.lit("f" * 64))),
    "a column of another type": lambda f: change_rows(f, lambda t: t.cast({"layer": pl.String})),
    "a column too many": lambda f: change_rows(f, lambda t: t.with_columns(evil=pl.lit(1))),
    "no measurement column": lambda f: change_rows(f, without_column),
    "an outcome without a column": lambda f: change_rows(f, lambda t: t.drop("device"), table="outcomes"),
    "two outcomes": lambda f: change_rows(f, lambda t: pl.concat([t, t]), table="outcomes"),
    "a gzip bomb in a column": lambda f: change_rows(
        f, lambda t: t.head(3).with_columns(tensor=pl.lit("x" * 140_000_000)), compression="gzip"
    ),
    "a zstd bomb in a column": lambda f: change_rows(
        f, lambda t: t.head(1).with_columns(tensor=pl.lit("x" * 140_000_000))
    ),
    "no Parquet": lambda f: change_segment(f, lambda parts: parts.update({"sites.parquet": b"PAR1" * 100})),
    "a run that failed": lambda f: change_record(f, lambda r: r["outcome"].update(status="failed")),
    "a run that ends before it begins": lambda f: change_record(f, lambda r: r.update(steps=-1)),
    "a record of other types": lambda f: change_record(f, lambda r: r.update(asked="everything")),
    "a record with another field": lambda f: change_record(f, lambda r: r.update(setting={"layers": 10**6})),
    "a record of another unit": lambda f: change_record(f, lambda r: r.update(trajectory="f" * 64)),
    "a thinned quantity that is no name": lambda f: change_record(f, lambda r: r.update(thinned=[7])),
    "a measurement that is no key": lambda f: change_record(f, lambda r: r["measurements"].append("../../evil")),
    "an outcome with a long text": lambda f: change_record(f, lambda r: r["outcome"].update(device="x" * 10**6)),
    "an outcome of another run": lambda f: change_record(f, lambda r: r["outcome"].update(parameters=7)),
}


@pytest.mark.parametrize("attack", HOSTILE)
def test_a_hostile_or_damaged_place_is_refused_and_nothing_is_written(lnlab, stranger, attack):
    HOSTILE[attack](stranger / "remote")
    began = time.monotonic()
    refused = lnlab("pull", "tiny.yaml", "remote")
    assert (refused.code, refused.err.count("\n")) == (2, 1), refused.err
    assert refused.err.startswith(("remote/segments/", "remote/manifests/"))
    assert "nothing was written" in refused.err
    assert snapshot() == {}
    assert sorted(path.name for path in stranger.iterdir()) in (
        ["remote", "tiny.yaml"],
        [".lnlab", "remote", "tiny.yaml"],
    )
    assert time.monotonic() - began < 20


def test_what_a_place_holds_beside_is_nobodys(lnlab, stranger):
    for path in (
        Path("remote/README.txt"),
        Path("remote/segments/evil.py"),
        one(stranger / "remote", "manifests").with_name("evil.json"),
        one(stranger / "remote", "segments").with_name("." + "a" * 64 + ".part"),
    ):
        path.write_text("evil")
    Path("remote/manifests/evil").mkdir()
    Path("remote/manifests/" + "a" * 64).symlink_to("/")
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
        assert refused.err.startswith(f"{path.as_posix()}: ")
        assert "nothing was written" in refused.err
        assert snapshot() == {}
        path.write_bytes(content)


def test_a_damaged_segment_is_sent_again_once_it_is_removed(lnlab, once, stranger, monkeypatch):
    damaged = one(stranger / "remote", "segments")
    content = damaged.read_bytes()
    damaged.write_bytes(content[:50])
    monkeypatch.chdir(once)
    assert "; 1 segment (" in lnlab("push", "tiny.yaml", stranger / "remote").out
    assert damaged.read_bytes() == content


def test_more_than_the_limit_is_refused_before_it_is_read(console, stranger):
    def large(fields):
        for unit in fields["units"]:
            unit[1][0][2][1][1] = 60 * 2**20

    change_manifest(stranger / "remote", large)
    refused = console.refused("pull", "tiny.yaml", "remote", "--limit", "0.25")
    assert re.findall(r"[\d.]+ MB", refused) == ["378 MB", "268 MB"]
    assert snapshot() == {}


def test_equal_rows_count_as_in_memory_and_manifests_count_too(console, stranger, monkeypatch):
    """What is small there and large here is refused before it is here."""
    change_rows(
        stranger / "remote", lambda t: t.head(1).select(pl.all().repeat_by(1_000_000).explode()), compression="zstd"
    )
    scan, unfolded = pl.scan_parquet, []

    def scanned(content):
        rows = scan(content)
        unfolded.extend(rows.collect_schema().names())
        return rows

    monkeypatch.setattr("lnlab.app.stores.unit_checks.pl.scan_parquet", scanned)
    assert "53.7 MB" in console.refused("pull", "tiny.yaml", "remote", "--limit", "0.05")
    assert "tensor" not in unfolded
    for number in range(3):
        content = canonical(
            {"format": 1, "units": [[f"{number:020x}", [["0-" + "a" * 24, "b" * 64, [["record.json", 1]]]]]]}
        )
        other = Path("remote/manifests", f"{number:064x}")
        other.mkdir()
        padded = content.encode() + b" " * 500_000
        (other / digest_bytes(padded)).write_bytes(padded)
    assert "1.07 MB" in console.refused("pull", "tiny.yaml", "remote", "-s", "seeds=4", "--limit", "0.001")
    # What has arrived stays for the same command with more allowed.
    assert {name.partition("/")[0] for name in snapshot()} == {"arrivals"}


def test_more_manifests_than_any_place_has_are_not_read(lnlab, stranger, monkeypatch):
    for number in range(3):
        other = Path("remote/manifests", f"{number:064x}")
        other.mkdir()
        content = canonical({"format": 1, "units": []}).encode() + b" " * number
        (other / digest_bytes(content)).write_bytes(content)
    monkeypatch.setattr("lnlab.app.stores.pulling.MOST_MANIFESTS", 3)
    refused = lnlab("pull", "tiny.yaml", "remote", "-s", "seeds=4")
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert refused.err.startswith("remote: has more than 3 manifests; nothing was written")
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


def test_a_listing_without_end_is_given_up(lnlab, once, workdir, monkeypatch):
    fsspec.register_implementation("endless", Endless, clobber=True)
    monkeypatch.setattr(remote, "LONGEST_LISTING", 1)
    shutil.copytree(once, workdir, dirs_exist_ok=True)
    refused = lnlab("pull", "tiny.yaml", "endless://x", "--store", "other")
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert "its list of files does not end within 1 s" in refused.err


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
    assert (refused.code, refused.err.count("\n")) == (2, 1), refused.err
    assert "see whether your credentials are valid and may" in refused.err
    fragile.again(clear=False)
    assert lnlab("push", "tiny.yaml", "fragile://x").code == 0
    assert lnlab("push", "tiny.yaml", "fragile://x").out.endswith("; nothing sent\n")


@pytest.mark.parametrize("after", [0, 1, 2, 4, 7])
def test_a_place_that_vanishes_halfway_costs_what_was_on_its_way(lnlab, stranger, once, monkeypatch, fragile, after):
    gone = ConnectionResetError(errno.ECONNRESET, "Connection reset by peer")
    monkeypatch.chdir(once)
    fragile.again(calls=after, error=gone)
    cut = lnlab("push", "tiny.yaml", "fragile://x")
    assert (cut.code, cut.err.count("\n")) == (2, 1), cut.err
    assert "credentials" not in cut.err
    fragile.again(clear=False)
    assert lnlab("push", "tiny.yaml", "fragile://x").code == 0
    monkeypatch.chdir(stranger)
    fragile.again(clear=False, calls=after, error=gone)
    cut = lnlab("pull", "tiny.yaml", "fragile://x")
    assert (cut.code, cut.err.count("\n")) == (2, 1), cut.err
    assert "the same command continues" in cut.err
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
    assert "; 6 segments (" in lnlab("push", "tiny.yaml", "fragile://x").out
    monkeypatch.chdir(stranger)
    lagging = lnlab("pull", "tiny.yaml", "fragile://x")
    assert (lagging.code, lagging.err.count("\n")) == (2, 1)
    fragile.listed = {name for name in fragile.store if "/manifests/" in name}  # segments are read by their names
    assert lnlab("pull", "tiny.yaml", "fragile://x").out == PULLED


class Broken(fsspec.AbstractFileSystem):
    """A place whose library raises what it likes."""

    protocol = "broken"

    def ls(self, path, detail=True, **options):
        raise RuntimeError("\x1b[31mToken of ftp://user:secret@host\nexpired")


def test_what_a_library_of_a_place_raises_is_one_line(lnlab, once, workdir):
    shutil.copytree(once, workdir, dirs_exist_ok=True)  # what is asked for leaves its plan in the store
    fsspec.register_implementation("broken", Broken, clobber=True)
    for command in ("push", "pull"):
        refused = lnlab(command, "tiny.yaml", "broken://user:secret@host/x", "-s", "seeds=4", "-q")
        refused = lnlab(command, "tiny.yaml", "broken://user:secret@host/x")
        if command == "pull":
            assert refused.code == 0  # nothing is lacking, so nothing is asked for
            continue
        assert (refused.code, refused.err.count("\n")) == (2, 1)
        assert "RuntimeError" in refused.err
        assert "secret" not in refused.err
        assert "\x1b" not in refused.err


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
