"""A spec file is bounded before it is read, and what is wrong with it is one clear message each."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lnlab.errors import SpecError
from lnlab.specfile.load import load_spec, parse_spec
from tests.support.refusals import refused

GOOD = b"lnlab: 2\ntitle: x\n"


@pytest.fixture
def spec(tmp_path):
    def write(content: bytes) -> Path:
        (tmp_path / "spec.yaml").write_bytes(content)
        return tmp_path / "spec.yaml"

    return write


def test_a_document_knows_the_place_of_everything_in_it(spec):
    document = load_spec(spec(b"lnlab: 2\nmodel: {kind: a, layers: 6}\nseeds:\n  - 1\n"))
    assert document.data == {"lnlab": 2, "model": {"kind": "a", "layers": 6}, "seeds": [1]}
    where = lambda *path, **how: document.where(path, **how).removeprefix(str(document.path))  # noqa: E731
    assert where("model", "layers") == ":2:26"
    assert where("model", "layers", key=True) == ":2:18"
    assert where("seeds", 0) == ":4:5"
    assert where("model", "heads") == ":2:8"
    assert where("nowhere", 3) == ":1:1"


def test_a_mark_at_the_front_or_other_ends_of_lines_change_nothing(spec):
    lines = GOOD.replace(b"\n", b"\r\n")
    for content in (b"\xef\xbb\xbf" + GOOD, lines, b"\xef\xbb\xbf" + lines, b"# a comment\n" + GOOD):
        assert load_spec(spec(content)).data == {"lnlab": 2, "title": "x"}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "1:1: the file is empty"),
        (b"# nothing\n", "1:1: the file is empty"),
        (b"- 1\n", "1:1: a spec is a mapping"),
        (b"just words\n", "1:1: a spec is a mapping"),
        (GOOD + b"\0", "is not text"),
        (GOOD + b"a: \xff\xfe\n", "3:4: is not UTF-8"),
        ("lnlab: 2".encode("utf-16"), "is not text"),
        (b"a: 1\n<<<<<<< HEAD\nb: 1\n=======\nb: 2\n>>>>>>> x\n", "2:1: a merge conflict marker"),
        (b"a:\n\tb: 1\n", "2:1: not YAML"),
        (b"says: DyT: it ends higher\n", "put quotes around a text that contains ': '"),
    ],
)
def test_a_file_that_is_no_spec_gets_one_message_with_its_place(spec, content, message):
    path = spec(content)
    (found,) = refused(load_spec, path)
    assert found.startswith(str(path))
    assert message in found


def test_a_file_without_permission_says_why(spec, monkeypatch):
    path = spec(GOOD)

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    assert refused(load_spec, path) == [f"{path}: cannot be read (permission denied)"]


def test_every_fault_of_a_file_is_reported_at_once_in_order(spec):
    found = refused(load_spec, spec(b"b: .nan\na: !x 1\na: 2\n1: x\n"))
    assert [line.split("spec.yaml:")[1].split(":")[0] for line in found] == ["1", "2", "3", "4"]


def found(read: Callable[..., object], *given: object) -> list[str]:
    """The problems that reading gives; any other exception fails the test."""
    try:
        read(*given)
    except SpecError as error:
        return [str(problem) for problem in error.issues]
    return []


@settings(max_examples=300)
@given(st.binary(max_size=400))
def test_no_bytes_crash_the_loader(tmp_path_factory, content):
    path = tmp_path_factory.getbasetemp() / "fuzz.yaml"
    path.write_bytes(content)
    assert all("\n" not in problem for problem in found(load_spec, path))


ALPHABET = st.text(alphabet="ab: -\n[]{}&*!'\"#|>%?,@`\\ \t01.~<", max_size=120)


@settings(max_examples=500)
@given(ALPHABET)
def test_no_text_that_looks_like_yaml_crashes_the_loader(text):
    assert all(problem.startswith("x.yaml:") for problem in found(parse_spec, text, Path("x.yaml")))
