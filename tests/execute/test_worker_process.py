"""A worker's output goes to its file, Python's and that of native code alike."""

import os
import subprocess
import sys

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
