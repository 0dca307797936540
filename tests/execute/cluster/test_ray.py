"""On a Ray cluster of several nodes, all on this machine: the same rows, whatever becomes of nodes and drivers."""

import json
import os
import signal
import subprocess
import sys
import threading
import time

import pytest
from polars.testing import assert_frame_equal

import lnlab
from lnlab.store.records.records import StoreReader
from tests.support.toy_specs import toy_data

ray = pytest.importorskip("ray", reason="needs Ray: pip install 'lnlab[ray]'")
pytestmark = [pytest.mark.nightly, pytest.mark.filterwarnings("ignore")]

SPEC = toy_data(
    placement=None,
    seeds=1,
    sweep=[{"placement": ["post", "pre"]}],
    optimizer={"lr": 1e-3},
    task={"corpus": {"kind": "toy_german_english", "train": 200, "validation": 1000}},
    train={"steps": 300, "evaluate": {"every": 150}},
    probes=[{"kind": "gradient_norm", "at": "end", "batches": 1}],
    report=[{"kind": "depth_profile", "quantity": "gradient_norm", "where": {"stack": "decoder", "tensor": "w2"}}],
)
TABLES = ("sites", "curves")
NODE = {"num_cpus": 1, "object_store_memory": 80 * 2**20}
PATIENCE = 180.0


@pytest.fixture(scope="module")
def cluster():
    from ray.cluster_utils import Cluster

    from lnlab.execute.cluster.ray_tasks import connected

    before = dict(os.environ)
    here = [os.path.dirname(path) for path in (__file__, os.path.dirname(__file__))]  # noqa: PTH120
    os.environ["PYTHONPATH"] = os.pathsep.join([*here, os.environ.get("PYTHONPATH", "")])
    os.environ.update({"RAY_USAGE_STATS_ENABLED": "0", "RAY_worker_niceness": "0"})
    whole = Cluster(initialize_head=True, head_node_args={**NODE, "include_dashboard": False})
    whole.add_node(**NODE)
    with connected(whole.address, None):
        yield whole
    whole.shutdown()
    os.environ.clear()
    os.environ.update(before)


@pytest.fixture(scope="module")
def at_home(tmp_path_factory):
    """The results of the spec on this machine alone."""
    return lnlab.run(SPEC, store=tmp_path_factory.mktemp("home"), workers=2, progress=False).results


def assert_equal_rows(one, other):
    for table in TABLES:
        assert_frame_equal(one.tables[table], other.tables[table], check_row_order=False, check_exact=True)
        assert one.tables[table].height


def segments(store):
    """Trajectory -> the first and the last step of each stretch that was kept."""
    reader = StoreReader(store)
    keys = {folder.name for folder in (store / "trajectories").glob("??/*")} | reader.packs.trajectories()
    return {key: [(r.first_step, r.steps) for r in contents.records] for key, contents in reader.read_all(keys)}


def assert_no_step_was_made_again(store):
    for stretches in segments(store).values():
        assert [first for first, _ in sorted(stretches)] == [0, *(last for _, last in sorted(stretches))][:-1]


def until(holds):
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, "still waiting"
        time.sleep(0.05)


def test_a_node_that_is_killed_costs_what_it_had_not_kept_and_a_new_one_takes_its_place(cluster, at_home, tmp_path):
    def exchange():
        until(lambda: sum(any(s for _, s in found) for found in segments(tmp_path).values()) == 2)
        cluster.remove_node(next(iter(cluster.worker_nodes)), allow_graceful=False)
        cluster.add_node(**NODE)

    spec = tmp_path / "tiny.yaml"
    spec.write_text(json.dumps(SPEC))
    thread = threading.Thread(target=exchange)
    thread.start()
    outcome = lnlab.run(spec, store=tmp_path, executor="ray", workers=2, save_every=0.1, progress=False)
    thread.join()
    assert_equal_rows(outcome.results, at_home)
    assert outcome.failures == []
    assert_no_step_was_made_again(tmp_path)


def test_a_driver_that_ends_goes_on_from_what_its_workers_kept(cluster, at_home, tmp_path):

    spec, store = tmp_path / "tiny.yaml", tmp_path / "store"
    spec.write_text(json.dumps(SPEC))
    command = [sys.executable, "-m", "lnlab", "run", str(spec), "--store", str(store), "--save-every", "0.1"]
    for number, code in ((signal.SIGTERM, 143), (signal.SIGKILL, -9)):
        before = sum(len(found) for found in segments(store).values())
        driver = subprocess.Popen(
            [*command, "--executor", "ray", "--address", cluster.address, "--workers", "2"],
            stderr=subprocess.PIPE,
            text=True,
        )
        until(lambda before=before: sum(len(found) for found in segments(store).values()) > before + 1)
        driver.send_signal(number)
        said = driver.communicate(timeout=PATIENCE)[1]
        assert driver.returncode == code, said
    assert any(segments(store).values())
    outcome = lnlab.run(SPEC, store=store, workers=2, progress=False)
    assert_equal_rows(outcome.results, at_home)
    assert_no_step_was_made_again(store)
