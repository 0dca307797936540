"""Eight processes at once on one plan of a hundred units: each unit is computed by one of them."""

from collections import Counter

from lnlab.store.records.records import StoreReader
from tests.support.forking import servers
from tests.support.store_toys import plan_of


def test_eight_processes_on_one_plan_compute_each_unit_once(root):
    computed = servers().answer("tests.store.one_plan:compute_at_once", str(root), 8)
    assert len(computed) == 8
    expected = {trajectory.key for trajectory in plan_of(variants=20, seeds=5).trajectories}
    assert Counter(key for keys in computed for key in keys) == Counter(expected)
    contents = [StoreReader(root).read(key) for key in expected]
    assert [len(each.records) for each in contents] == [1] * 100
    assert not [sentence for each in contents for sentence in each.damaged]
