"""The end of memory and of open files is told as such, whoever says it, and not as a fault of the store or of torch."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from lnlab.errors import LabError
from lnlab.issues import Issue
from lnlab.process_limits import is_out_of_memory
from lnlab.training_extra import damage_told
from tests.support.toy_specs import UNTRAINED, toy_spec

ROOT = Path(__file__).parents[1]
WITHOUT = [
    MemoryError(),
    RuntimeError("can't start new thread"),
    ImportError("libtorch_cpu.so: failed to map segment from shared object"),
    RuntimeError("[enforce fail at alloc_cpu.cpp:117] DefaultCPUAllocator: can't allocate memory"),
    OSError(12, "Cannot allocate memory"),
    RuntimeError("std::bad_alloc"),
]


@pytest.mark.parametrize("error", WITHOUT, ids=str)
def test_the_end_of_memory_is_a_problem_of_its_own(error):
    with pytest.raises(LabError) as told, damage_told():
        raise error
    assert [issue.code for issue in told.value.issues] == ["out-of-memory"]


def test_the_end_of_open_files_is_a_problem_with_its_remedy():
    with pytest.raises(LabError) as told, damage_told():
        raise OSError(24, "Too many open files")
    assert "ulimit -n" in told.value.issues[0].remedy


@pytest.mark.parametrize("error", [RuntimeError("can't start"), OSError(28, "No space left on device"), KeyError("x")])
def test_other_errors_stay_what_they_are(error):
    assert not is_out_of_memory(error)
    with pytest.raises(type(error)), damage_told():
        raise error


def test_a_problem_that_speaks_of_memory_itself_is_told_as_it_is():
    with pytest.raises(LabError) as told, damage_told():
        raise LabError(Issue("failed", "a probe", "runs out of memory", "take fewer batches"))
    assert [issue.code for issue in told.value.issues] == ["failed"]


@pytest.mark.nightly
@pytest.mark.skipif(os.name == "nt", reason="Windows has no such limit")
@pytest.mark.parametrize("kilobytes", [700_000, 1_000_000])
def test_under_a_limit_of_addresses_that_holds_no_torch_a_run_ends_with_one_line_that_names_it(tmp_path, kilobytes):
    (tmp_path / "tiny.yaml").write_text(toy_spec(UNTRAINED, "probes: [{kind: gradient_norm, at: init, batches: 1}]\n"))
    done = subprocess.run(
        ["bash", "-c", f'ulimit -v {kilobytes}; exec "$0" -m lnlab run tiny.yaml -w 1', sys.executable],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 2, done.stderr
    assert "(ulimit -v)" in done.stderr
    assert "Traceback" not in done.stderr
