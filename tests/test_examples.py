"""The examples in docstrings give what they say."""

import doctest
from importlib import import_module
from pathlib import Path

import pytest

import lnlab

ROOT = Path(lnlab.__file__).parent
# Found by their text: importing every module of lnlab to look for examples takes half a minute.
MODULES = sorted(
    ".".join(path.relative_to(ROOT.parent).with_suffix("").parts).removesuffix(".__init__")
    for path in ROOT.rglob("*.py")
    if ">>> " in path.read_text()
)


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module_give_what_they_say(name):
    result = doctest.testmod(import_module(name))
    assert result.failed == 0 < result.attempted
