"""What nobody needs goes, what anybody needs stays whole, whatever happens while it goes."""

import pytest

from lnlab.errors import StoreError
from lnlab.store import files, leases, packing
from lnlab.store.garbage import remove_garbage
from lnlab.store.packs import Packs
from lnlab.store.records.layout import trajectory_folder
from lnlab.store.records.records import read_trajectory
from lnlab.store.records.states import save_state
from lnlab.store.store import Store
from lnlab.store.usage import trajectory_sizes
from lnlab.tables import SavedState
from tests.support.results_digest import results_digest
from tests.support.store_toys import plan_of, record, record_all, trajectory_of

SMALL, LARGE = plan_of(variants=1, seeds=2, name="small"), plan_of(variants=2, seeds=3, name="large")
SURPLUS = sorted({unit.key for unit in LARGE.trajectories} - {unit.key for unit in SMALL.trajectories})


@pytest.fixture
def two(tmp_path, monkeypatch):
    """Makes a store with two plans that share two trajectories; some packed, some loose, one with a saved state."""
    monkeypatch.setattr(packing, "MIN_LOOSE_TRAJECTORIES", 2)
    monkeypatch.setattr(packing, "GROUP_STRETCHES", 2)
    spec = tmp_path / "toy.yaml"
    spec.write_text("title: toy\n")

    def make(name):
        store = Store(tmp_path / name)
        for plan in (SMALL, LARGE):
            store.save_plan(plan, spec)
        for unit in LARGE.trajectories[:5]:
            record(store, unit)
        store.pack()
        for unit in LARGE.trajectories[5:]:
            record(store, unit)
            save_state(trajectory_folder(store.root, unit.key), SavedState(1, b"state", {}))
        return store

    return make


def keys_of(store):
    loose = {path.name for path in (store.root / "trajectories").glob("??/*")}
    return loose | Packs(store.root).trajectories()


def test_only_what_is_named_goes_and_everything_else_says_the_same(two):
    store = two("store")
    before, everything = results_digest(store.results(SMALL.digest)), keys_of(store)
    removal = remove_garbage(store.root, [LARGE.digest], SURPLUS)
    assert keys_of(store) == everything - set(SURPLUS)
    assert set(removal.trajectories) == set(SURPLUS)
    assert results_digest(store.results(SMALL.digest)) == before
    assert [path.name for path in (store.root / "plans").iterdir()] == [SMALL.digest]
    assert store.damage() == []
    record_all(store, LARGE)
    assert store.pending(LARGE) == [], "what went is computed again like any other work"


def test_sizes_are_those_of_the_files(two):
    store = two("store")
    sizes = trajectory_sizes(store.root)
    assert set(sizes) == {unit.key for unit in LARGE.trajectories}
    stored = sum(path.stat().st_size for path in (store.root / "packs").rglob("*.parquet"))
    packed = [unit.key for unit in LARGE.trajectories[:5]]
    assert 0.99 * stored <= sum(sizes[key] for key in packed) <= stored
    (loose,) = (store.root / "trajectories").glob("??/*")
    assert sizes[loose.name] == sum(path.stat().st_size for path in loose.rglob("*") if path.is_file())


@pytest.mark.parametrize("apart", [9, pytest.param(1, marks=pytest.mark.nightly)])
def test_killed_before_any_operation_nothing_that_stays_is_touched_and_the_same_call_ends_it(
    two, forked, monkeypatch, apart
):
    # A lease that was made and not signed keeps others away for two seconds, which the test need not wait.
    monkeypatch.setattr(leases, "UNSIGNED_LEASE_PERIOD", 0.0)

    def kill(store, n):
        return forked("remove_until", str(store.root), n, LARGE.digest, SURPLUS)

    _, total = kill(two("whole"), 0)
    assert total > 20
    for n in range(1, total + 1, apart):
        store = two(f"killed {n}")
        before = results_digest(store.results(SMALL.digest))
        assert kill(store, n)[0] == -9
        assert results_digest(store.results(SMALL.digest)) == before, n
        assert store.damage() == []
        damaged = [key for unit in LARGE.trajectories for key in read_trajectory(store.root, unit.key).damaged]
        assert damaged == [], n
        remove_garbage(store.root, [LARGE.digest], SURPLUS)
        assert keys_of(store).isdisjoint(SURPLUS), n
        assert results_digest(store.results(SMALL.digest)) == before, n
        assert not [path for path in (store.root / "packs").iterdir() if path.is_dir() and path.name.startswith(".")]


@pytest.mark.parametrize("number", [0, 5], ids=["packed", "loose"])
def test_what_another_process_works_on_stays(two, number):
    store = two("store")
    unit = trajectory_of(2, 1) if number == 0 else LARGE.trajectories[5]
    worker = store.open_unit(unit.key)
    removal = remove_garbage(store.root, [LARGE.digest], SURPLUS)
    assert removal.leased == (unit.key,)
    assert read_trajectory(store.root, unit.key).records
    worker.abandon()
    assert remove_garbage(store.root, [], SURPLUS).leased == ()
    assert keys_of(store).isdisjoint(SURPLUS)


def test_a_run_that_begins_meanwhile_ends_it(two, monkeypatch, golden):
    store = two("store")
    new = plan_of(variants=2, seeds=2, name="new")

    def before(operation, path):
        if operation == "rename" and path.name == LARGE.digest:
            monkeypatch.setattr(files, "before", files.nothing)
            store.save_plan(new, store.root.parent / "toy.yaml")

    monkeypatch.setattr(files, "before", before)
    with golden.raises(StoreError):
        remove_garbage(store.root, [LARGE.digest], SURPLUS)
    assert store.pending(new) == []


def test_while_packs_are_made_nothing_is_removed(two, golden):
    store = two("store")
    with packing.packs_locked(store.root) as acquired:
        assert acquired
        with golden.raises(StoreError):
            remove_garbage(store.root, [LARGE.digest], SURPLUS)
    assert keys_of(store) == {unit.key for unit in LARGE.trajectories}


def test_a_damaged_pack_stays_and_is_named(two):
    store = two("store")
    (pack,) = Packs(store.root).current()
    path = pack.folder / "sites.parquet"
    content = bytearray(path.read_bytes())
    content[pack.tables["sites"].size // 2] ^= 1
    path.write_bytes(content)
    removal = remove_garbage(store.root, [LARGE.digest], SURPLUS)
    assert [str(path) in sentence for sentence in removal.damaged] == [True]
    assert path.read_bytes() == content
