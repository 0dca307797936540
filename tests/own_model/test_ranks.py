"""Two ranks by gloo: numbers are those of one process with all batches, and no rank waits for one that has failed."""

import json
import signal
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

import lnlab
from lnlab.curvature.ggn import ggn
from lnlab.curvature.hessian import hessian
from lnlab.curvature.ranks import RankError, Ranks
from lnlab.errors import LabError
from lnlab.issues import Issue

PATIENCE = 300
spec = spec_from_file_location("two_ranks", Path(__file__).parent / "two_ranks.py")
two_ranks = module_from_spec(spec)
spec.loader.exec_module(two_ranks)


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """What each rank saw."""
    folder = tmp_path_factory.mktemp("ranks")
    command = [sys.executable, "-X", "faulthandler", str(Path(__file__).parent / "two_ranks.py")]
    processes = [
        subprocess.Popen([*command, str(rank), str(folder)], stderr=subprocess.PIPE, text=True) for rank in range(2)
    ]
    printed = [process.communicate(timeout=PATIENCE)[1] for process in processes]
    aborted = processes[0].returncode == -signal.SIGABRT and "gloo::" in printed[0]
    assert [process.returncode for process in processes] == [0, 0] or aborted, "\n\n".join(printed)
    both = [json.loads((folder / f"{rank}.json").read_text()) for rank in range(2)]
    both[0]["killed"] = None if aborted else (folder / "0-killed.txt").read_text()
    return both


@pytest.mark.nightly
@pytest.mark.parametrize("kind", [hessian, ggn])
@pytest.mark.parametrize(("dtype", "allowed"), [(torch.float64, 1e-12), (torch.float32, 1e-5)])
def test_products_are_those_of_one_process_with_all_batches(found, kind, dtype, allowed):
    expected = two_ranks.products(dtype, kind, two_ranks.batches())
    mean_of_means = sum(two_ranks.products(dtype, kind, two_ranks.batches()[rank::2]) for rank in range(2)) / 2
    name = f"{kind.__name__} {str(dtype).removeprefix('torch.')}"
    one, two = (torch.tensor(each[name], dtype=torch.float64) for each in found)
    assert torch.equal(one, two)
    assert (one - expected).norm() <= allowed * expected.norm()
    assert (mean_of_means - expected).norm() > 1e-3 * expected.norm(), "ranks would be weighed alike"


@pytest.mark.nightly
def test_a_rank_without_a_shard_takes_part(found):
    expected = two_ranks.products(torch.float64, hessian, two_ranks.batches(1))
    for each in found:
        assert (torch.tensor(each["empty rank"], dtype=torch.float64) - expected).norm() <= 1e-12 * expected.norm()


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("name", "probes"),
    [
        ("rows", two_ranks.PROBES),
        ("parts", [{"kind": "hessian_spectrum", "draws": 1, "steps": 3, "parts": 2, "batches": 5}]),
    ],
)
def test_rows_are_those_of_one_process_with_all_batches_on_every_rank(found, name, probes):
    expected = two_ranks.rows(
        lnlab.measure(two_ranks.build(), two_ranks.batches(), two_ranks.batch_loss, probes=probes)
    )
    assert found[0][name] == found[1][name]
    assert found[0][name].keys() == expected.keys()
    assert any(expected.values())
    for table, rows in expected.items():
        assert len(found[0][name][table]) == len(rows)
        for here, there in zip(rows, found[0][name][table], strict=True):
            assert there == {
                key: pytest.approx(value, rel=1e-4, abs=1e-6) if isinstance(value, float) else value
                for key, value in here.items()
            }


@pytest.mark.nightly
@pytest.mark.parametrize("calls", [0, 2, 5, 12])
def test_an_error_on_one_rank_is_raised_by_all_wherever_it_comes(found, calls):
    one, two = (each[f"fails after {calls}"] for each in found)
    assert "rank 1 failed: " in one
    assert all("KeyError: 'planted'" in told and "\n" not in told for told in (one, two))
    assert "rank 1" not in two


@pytest.mark.nightly
def test_what_ranks_do_not_have_alike_is_refused_on_all(found, golden):
    for each in found:
        golden(each["same batches"])
        golden(each["other weights"])
        golden(each["other probe"])
        assert "call torch.distributed.init_process_group() in each, as under torchrun" in each["no group"]
        golden(each["other calls"])
        assert each["still there"] == "nothing"
    golden(found[0]["no batches"])


def test_tensors_of_any_layout_are_summed(monkeypatch):
    """Two ranks with the same tensors, each sum of which is of the memory from the first entry on."""

    def all_reduce(total, *, async_op):
        memory = torch.as_strided(total, (total.numel(),), (1,))
        memory *= 2
        return SimpleNamespace(wait=lambda: None)

    monkeypatch.setattr(
        torch.distributed, "all_gather_object", lambda heard, told: heard.__setitem__(slice(2), [told] * 2)
    )
    monkeypatch.setattr(torch.distributed, "get_backend", lambda: "gloo")
    monkeypatch.setattr(torch.distributed, "all_reduce", all_reduce)
    x = torch.arange(24.0).view(4, 6)
    for made in (x, x.T, x[:, ::2], x[1:, 2], torch.tensor(3.0).expand(2, 2)):
        expected = 2 * made
        assert torch.equal(*Ranks(0, 2).sum(made), expected)


def test_a_rank_that_fails_with_nobody_left_to_tell_raises_its_own_error(monkeypatch, golden):
    def unreachable(*_):
        raise RuntimeError("Connection closed by peer")

    monkeypatch.setattr(torch.distributed, "all_gather_object", unreachable)
    for planted in (KeyError, KeyboardInterrupt, LabError):
        with pytest.raises(planted), Ranks(0, 2).together():
            raise planted(Issue("failed", "measure", "planted"))
    with golden.raises(RankError), Ranks(0, 2).together():
        pass


@pytest.mark.nightly
def test_a_rank_that_is_killed_is_missed(found, golden):
    if found[0]["killed"] is None:
        pytest.skip("gloo itself aborted the rank when the other was killed, as it does now and then")
    golden(found[0]["killed"])
    golden(found[0]["killed"])
