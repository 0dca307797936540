"""A store that an earlier version wrote, with packs of blocks and a copy of a plan, is read as it is, and worked on."""

import json
import shutil
import zipfile
from pathlib import Path

import pytest
from store_toys import plan_of, record_all

from lnlab.store import packing
from lnlab.store.block_packs import BlockPack
from lnlab.store.garbage import remove_garbage
from lnlab.store.packs import Packs
from lnlab.store.records.records import StoreReader
from lnlab.store.store import Store
from lnlab.store.usage import trajectory_sizes
from tests.results_digest import results_digest

FIXTURE = Path(__file__).parents[1] / "fixtures/store_of_blocks"
EXPECTED = json.loads((FIXTURE / "expected.json").read_text())
PLAN = plan_of(variants=2, seeds=2, name="whole", quick="whole")


@pytest.fixture
def old(tmp_path):
    zipfile.ZipFile(FIXTURE / "store.zip").extractall(tmp_path)
    return Store(tmp_path / "store")


def rows(store):
    return {name: results_digest(store.results(of["plan"])) for name, of in EXPECTED.items()}


EXPECTED_ROWS = {name: of["rows"] for name, of in EXPECTED.items()}


def test_every_row_of_an_old_store_is_what_the_version_that_wrote_it_read(old):
    before = {path: path.read_bytes() for path in old.root.rglob("*") if path.is_file()}
    assert [type(pack) for pack in Packs(old.root).current()] == [BlockPack] * 2
    assert rows(old) == EXPECTED_ROWS
    assert {name: old.results(of["plan"]).runs["status"].to_list() for name, of in EXPECTED.items()} == {
        name: of["statuses"] for name, of in EXPECTED.items()
    }
    assert old.damage() == []
    assert old.pending(PLAN) == []
    assert old.lacks(old.remembered("whole")) == {}
    assert StoreReader(old.root).printed(PLAN.trajectories[0].key) == "no memory\n"
    assert old.verdicts(PLAN.digest)["claim"].to_list() == ["a"]
    assert trajectory_sizes(old.root).keys() >= {unit.key for unit in PLAN.trajectories}
    assert {path: path.read_bytes() for path in old.root.rglob("*") if path.is_file()} == before, (
        "reading writes nothing"
    )


def test_a_flipped_bit_in_a_block_is_found_and_costs_its_runs(old):
    (pack, _) = Packs(old.root).current()
    path = pack.folder / "blocks"
    content = bytearray(path.read_bytes())
    content[len(content) // 3] ^= 1
    path.write_bytes(content)
    lacking = old.pending(PLAN)
    assert 0 < len(lacking) < 4
    assert all(f"file damaged: {path} is truncated or altered from byte" in why for _, why in lacking)
    record_all(old, PLAN)
    assert old.pending(PLAN) == []
    assert rows(old) == EXPECTED_ROWS


def test_an_old_store_is_worked_on_beside_what_it_holds(old, monkeypatch):
    monkeypatch.setattr(packing, "MIN_LOOSE_TRAJECTORIES", 1)
    grown = plan_of(variants=2, seeds=4, name="grown")
    old.save_plan(grown, Path("/toy.yaml"), content=b"title: toy\n")
    assert [unit.seed for unit, _ in old.pending(grown)] == [4, 3, 4]
    record_all(old, grown)
    old.pack()
    assert len(Packs(old.root).current()) == 3
    assert rows(old) == EXPECTED_ROWS
    alone = Store(old.root.parent / "alone")
    alone.save_plan(grown, Path("/toy.yaml"), content=b"title: toy\n")
    record_all(alone, grown)
    assert results_digest(old.results(grown.digest)) == results_digest(alone.results(grown.digest))


def test_what_goes_from_an_old_pack_leaves_the_rest_in_a_new_one(old):
    gone = PLAN.trajectories[0].key
    assert list(old.root.glob("plans/*/whole-*"))
    remove_garbage(old.root, [], [gone])
    assert not list(old.root.glob("plans/*/whole-*")), "the copy of a plan is not needed"
    assert [type(pack) is BlockPack for pack in Packs(old.root).current()].count(True) == 1
    assert old.results(PLAN.digest).runs["status"].to_list() == [None, "finished", "finished", "finished"]
    record_all(old, PLAN)
    assert rows(old) == EXPECTED_ROWS


def test_the_records_count_and_not_the_copy_of_a_plan(old):
    (copy,) = old.root.glob("plans/*/whole-*")
    shutil.rmtree(copy)
    assert rows(old) == EXPECTED_ROWS
