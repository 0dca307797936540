"""After a run: what units were to take beside what they took."""

import subprocess
import sys

import pytest

import lnlab
from lnlab.store.records.peaks import keep_peaks, read_peaks

MEBIBYTE = 2**20


def test_after_a_run_every_kind_of_unit_has_its_time_and_its_peak(store, request_of_spec, known):
    spec, seeds = request_of_spec.spec, {"seeds": 1}
    assert lnlab.plan(spec, overrides=seeds, store=store.root, analyze=True).analyzed == ()
    outcome = lnlab.run(spec, overrides=seeds, store=store.root, workers=1, progress=False)
    (kind,) = lnlab.plan(spec, overrides=seeds, store=store.root, analyze=True).analyzed
    assert (kind.kind, kind.units) == ("encoder_decoder of 2 layers, width 16, 2 steps, 2 measurements", 2)
    assert kind.actual_seconds == pytest.approx(sum(outcome.results.runs["seconds"]))
    assert set(read_peaks(store.root, outcome.plan)) == set(outcome.results.runs["trajectory"])
    assert 50 * MEBIBYTE < kind.actual_peak <= kind.estimated_peak
    assert "time " in str(kind)
    assert "estimated" in str(kind)


def test_a_damaged_file_of_peaks_counts_as_none(store):
    keep_peaks(store.root, "plan", {"a": 1})
    keep_peaks(store.root, "plan", {"b": 2})
    assert read_peaks(store.root, "plan") == {"a": 1, "b": 2}
    (path,) = store.root.rglob("peaks.json")
    path.write_text(path.read_text().replace("1", "7", 1))
    assert read_peaks(store.root, "plan") == {}


def test_the_peak_of_a_unit_is_its_own_and_agrees_with_the_system():
    """In a process of its own, the peak is at least what psutil sees, and not far above; a new one begins below it."""
    script = (
        "import psutil\n"
        "from lnlab.execute.freed_memory import forget_peak, peak_resident\n"
        "block = bytearray(256 * 2**20); block[::4096] = b'x' * len(block[::4096])\n"
        "print(psutil.Process().memory_info().rss, peak_resident())\n"
        "del block; forget_peak(); print(peak_resident())\n"
    )
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    system, ours, later = map(int, out.split())
    assert ours == pytest.approx(system, rel=0.02)
    assert ours > 256 * MEBIBYTE
    assert later < ours - 200 * MEBIBYTE
