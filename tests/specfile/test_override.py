"""``-s path=value`` gets the checks that a file gets, and problems name the argument."""

import pytest

from lnlab.errors import SpecError
from lnlab.specfile.override import parse_override


@pytest.mark.parametrize(
    ("argument", "path", "value"),
    [
        ("model.layers=12", "model.layers", 12),
        ("optimizer.lr=1e-3", "optimizer.lr", 0.001),
        ("norm=no", "norm", "no"),
        ("placement=[post, pre]", "placement", ["post", "pre"]),
        ("norm={kind: rms, eps: 1e-6}", "norm", {"kind": "rms", "eps": 1e-6}),
        ("optimizer=", "optimizer", None),
        (" seeds = 3", "seeds", 3),
        ("task.corpus.path=a=b.txt", "task.corpus.path", "a=b.txt"),
    ],
)
def test_the_value_is_yaml(argument, path, value):
    found = parse_override(argument)
    assert (found.path, found.value, found.where) == (path, value, f"-s {argument}")


@pytest.mark.parametrize(
    ("argument", "what"),
    [
        ("model.layers", "is not path=value"), ("=3", "is not path=value"), ("model..layers=3", "is not path=value"),
        ("a=.nan", "not a finite number"), ("a={b: 1, b: 2}", "given twice"), ("a=[1", "not YAML"),
        ("a=" + "[" * 100, "nested deeper"), ("a=" + "x" * 300_000, "is longer than"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_names_the_argument(argument, what):
    with pytest.raises(SpecError) as caught:
        parse_override(argument)
    (problem,) = caught.value.issues
    assert problem.where.startswith(f"-s {argument[:60]}")
    assert len(problem.where) < 70
    assert what in problem.what
