"""A worker's output goes to its file, Python's and that of native code alike."""

import os
import subprocess
import sys
import time

from lnlab.execute import worker_process
from lnlab.execute.worker_process import output_to


def test_everything_printed_inside_is_in_the_file_and_nothing_after(tmp_path, capfd):
    path = tmp_path / "output.txt"
    with output_to(path):
        sys.stdout.write("python ☃\n")
        os.write(1, b"native\n")
        subprocess.run(["sh", "-c", "echo child >&2"], check=True)
    os.write(1, b"after\n")
    with output_to(path):
        sys.stderr.write("again\n")
    assert path.read_text() == "python ☃\nnative\nchild\nagain\n"
    assert capfd.readouterr() == ("after\n", "")


def test_a_file_of_output_that_grows_too_large_is_emptied_and_goes_on(tmp_path, monkeypatch):
    monkeypatch.setattr(worker_process, "MAX_BYTES", 1000)
    monkeypatch.setattr(worker_process, "CHECK_EVERY", 0.001)
    path = tmp_path / "output.txt"
    with output_to(path):
        os.write(1, b"flood\n" * 1000)
        until = time.monotonic() + 20
        while path.stat().st_size and time.monotonic() < until:
            time.sleep(0.001)
        sys.stdout.write("last words\n")
    assert path.read_text() == "last words\n"
