"""What a probe of curvature freed is the system's again, and no other probe pays for that."""

import subprocess
import sys

import pytest

from lnlab.compile.work import Measurement
from lnlab.execute import measure as measuring
from lnlab.execute.program import build
from lnlab.registry import Registry
from tests.support.toy_pieces import REGISTRIES

SCRIPT = """
from pathlib import Path
from lnlab.execute.freed_memory import release_memory
def resident(): return int(Path("/proc/self/statm").read_text().split()[1]) * 4096
blocks = [b'x' * (100_000 + i % 7) for i in range(3000)]
kept = blocks[::10]
del blocks
before = resident()
release_memory()
print(before - resident())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="needs Linux: /proc is missing")
def test_freed_blocks_between_kept_ones_are_given_back():
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    assert int(done.stdout) > 200e6


@pytest.mark.parametrize("facts", [{}, {"memory": lambda *_: 1}])
def test_after_a_probe_that_says_what_it_holds_and_no_other(monkeypatch, unit_of, facts):
    calls, looking = [], Registry("probe", REGISTRIES["probe"].facts)
    monkeypatch.setattr(measuring, "release_memory", lambda: calls.append(1))

    @looking.register("look", table="sites", passes=lambda _: 1.0, **facts)
    def look(state):
        """``0``: nothing."""
        return iter(())

    measurement = Measurement("m", 0, {"kind": "look"})
    measuring.measure(build(unit_of(1), REGISTRIES), measurement, {**REGISTRIES, "probe": looking})
    assert len(calls) == len(facts)
