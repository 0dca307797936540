"""A norm in somebody else's package, installed and no more: listed, checked, run in workers, and part of the key."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.toy_specs import ENCODER, toy_spec

ROOT = Path(__file__).parents[2]
NORM = '''
"""A norm."""

import torch
from torch import Tensor, nn

from lnlab.nn.norms import norms


@norms.register("crisp", version=VERSION, statistics="token")
class Crisp(nn.Module):
    """``x / max |x| * scale``: the largest coordinate of a token becomes 1 (Nobody, 2031).

    ``power`` sharpens it.
    """

    def __init__(self, width: int, *, power: float = 1.0) -> None:
        super().__init__()
        self.power = power
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        return (x / x.abs().amax(-1, keepdim=True).clamp(min=1e-6)) ** self.power * self.weight
'''
REST = """\
sweep: [{norm: [crisp, layer]}]
probes: [{kind: activation_moments, batches: 1}]
claims:
  - {id: small, says: It makes small vectors., kind: bound, at_most: 1,
     of: {quantity: activation_variance, norm: crisp, layer: last, sublayer: feed_forward, tensor: out}}
profiles: {smoke: {seeds: 2}}
"""
SPEC = toy_spec(ENCODER, REST, norm="crisp", seeds=2)
COMMANDS = """\
import sys
from lnlab.cli import main
if __name__ == "__main__":
    for words in (["list", "norm", "crisp"], ["check", "spec.yaml"],
                  ["run", "spec.yaml", "--profile", "smoke", "--quiet", "-w", "1"]):
        print("\\n>", *words, "=", main(words), flush=True)
"""
KEY = "from lnlab.nn.norms import norms; print(norms.key(norms.resolve('crisp')), norms['crisp'].origin.name)"


@dataclass(frozen=True)
class Site:
    """A folder into which a package is installed as pip leaves it: modules, and beside them what is known of them."""

    folder: Path

    def install(self, code: str, name: str = "crispnorm") -> None:
        (self.folder / name).mkdir(exist_ok=True)
        (self.folder / name / "__init__.py").write_text(code)
        info = self.folder / f"{name}-1.0.dist-info"
        info.mkdir(exist_ok=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[lnlab.norm]\ncrisp = {name}\n")

    def python(self, program: str) -> subprocess.CompletedProcess[str]:
        """Run a program in a process that finds the package, in an empty folder beside it."""
        here = self.folder.parent / "here"
        here.mkdir(exist_ok=True)
        (here / "spec.yaml").write_text(SPEC)
        (here / "program.py").write_text(program)
        path = os.pathsep.join([str(self.folder), str(ROOT)])
        given = os.environ | {"PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1", "LNLAB_STORE": str(here / "store")}
        command = [sys.executable, "program.py"]
        return subprocess.run(command, cwd=here, env=given, capture_output=True, text=True, timeout=300)


@pytest.fixture
def site(tmp_path) -> Site:
    folder = tmp_path / "site"
    folder.mkdir()
    return Site(folder)


def test_a_norm_of_an_installed_package_is_listed_checked_and_run(site):
    site.install(NORM.replace("VERSION", "3"))
    done = site.python(COMMANDS)
    listed, checked, ran, _ = done.stdout.split("\n> ")
    assert listed.startswith("norm crisp, version 3, by crispnorm\n\n`x / max |x| * scale`: the largest coordinate")
    assert "(Nobody, 2031).\n\n`power` sharpens it." in listed
    assert checked.startswith("list norm crisp = 0\n")
    assert ran.startswith("check spec.yaml = 0\n")
    assert "4 runs: 4 finished" in ran
    assert "run spec.yaml --profile smoke --quiet -w 1 = 0\n" in done.stdout
    assert done.stderr == ""


@pytest.mark.nightly
def test_its_version_joins_the_key(site):
    keys = []
    for version in ("1", "2"):
        site.install(NORM.replace("VERSION", version))
        key, origin = site.python(KEY).stdout.split()
        assert origin == "crispnorm"
        keys.append(key)
    assert len(set(keys)) == 2


@pytest.mark.nightly
def test_a_package_that_fails_is_named_in_one_line(site):
    site.install("import a_module_that_nobody_has")
    done = site.python("import sys; from lnlab.cli import main; sys.exit(main(['list', 'norm', '--json']))")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("package crispnorm: fails while it registers 'crisp' in lnlab.norm: ModuleNotFound")
