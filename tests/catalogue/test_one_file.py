"""A copy of the file that ARCHITECTURE.md names for a kind of piece is a new piece, and nothing else is needed."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.toy_specs import ENCODER, toy_spec

ROOT = Path(__file__).parents[2]


PAGE = (ROOT / "ARCHITECTURE.md").read_text()
TO_COPY = dict(re.findall(r"^\| (section|quantity|probe|claim) \| `([\w/]+\.py)` \|", PAGE, flags=re.MULTILINE))
OF_COPIES = """\
probes: [{kind: gradient_norm}, {kind: input_norm_of_mine, batches: 2}]
report:
  - {kind: small_multiples_of_mine, quantity: gradient_norm, panels: placement, where: {tensor: w2}}
claims:
  - {id: rises, says: It rises., role: prediction, kind: trend_of_mine, of: {quantity: gradient_norm, tensor: w2},
     over: layer, direction: up}
  - {id: total, says: It is not 0., role: prediction, kind: bound, of: {quantity: total_gradient_norm_of_mine},
     at_least: 1.0e-9}
"""
COPIED = toy_spec(ENCODER, OF_COPIES, model={"layers": 4}, seeds=3)
COMMANDS = """\
import sys
from lnlab.cli import main
if __name__ == "__main__":
    with_files = sys.argv[1:]
    for words in (["list", "section", "small_multiples_of_mine"], ["list", "quantity", "total_gradient_norm_of_mine"],
                  ["list", "probe", "input_norm_of_mine"], ["list", "claim", "trend_of_mine"], ["check", "spec.yaml"]):
        if code := main([*with_files, *words]):
            sys.exit(code)
"""


def test_the_page_names_the_file_to_copy_for_each_of_the_four():
    assert TO_COPY.keys() == {"section", "quantity", "probe", "claim"}
    for name in TO_COPY.values():
        assert (
            len(re.findall(r"^@\w+\.register\($|^@\w+\.register\(\"", (ROOT / "lnlab" / name).read_text(), re.M)) == 1
        )


@pytest.mark.nightly
@pytest.mark.parametrize("place", ["in the package", "anywhere"])
def test_a_copy_of_that_file_under_another_name_is_a_new_piece_and_nothing_else_is_needed(tmp_path, place):
    package = tmp_path / "lnlab"
    if place == "in the package":
        shutil.copytree(ROOT / "lnlab", package, ignore=shutil.ignore_patterns("__pycache__"))
    options = []
    for name in TO_COPY.values():
        text = (ROOT / "lnlab" / name).read_text()
        registered = re.search(r'\.register\(\s*"(\w+)"', text)[1]
        copy = (package / name if place == "in the package" else tmp_path / name).with_stem(f"{registered}_of_mine")
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(text.replace(f'"{registered}"', f'"{registered}_of_mine"'))
        options += ["--with", str(copy)]
    (tmp_path / "spec.yaml").write_text(COPIED)
    (tmp_path / "program.py").write_text(COMMANDS)
    root = tmp_path if place == "in the package" else ROOT
    words = [] if place == "in the package" else options
    done = subprocess.run(
        [sys.executable, "program.py", *words],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(root), "LNLAB_STORE": str(tmp_path / "store")},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr
    assert "1 model, 2 claims" in done.stdout
