"""A remembered plan is found by what it is a function of, without compiling anything."""

import os

import pytest

from lnlab.compile.digests import input_of, quick_digest, unchanged
from lnlab.compile.plan import compile_plan
from lnlab.specfile.load import load_spec


@pytest.fixture
def spec(tmp_path, base):
    path = tmp_path / "spec.yaml"
    path.write_text(base)
    return path


def test_the_quick_digest_is_that_of_the_compiled_plan(spec, registries, tmp_path):
    for content in (spec.read_bytes(), b"\xef\xbb\xbf" + spec.read_bytes().replace(b"\n", b"\r\n")):
        spec.write_bytes(content)
        roots = (tmp_path,)
        found = compile_plan(load_spec(spec), registries, roots, overrides=["seeds=1"], plugins=["d"])
        assert found.quick == quick_digest(spec, None, ["seeds=1"], roots=roots, plugins=["d"])


def test_everything_that_is_asked_moves_it(spec, tmp_path):
    plain = quick_digest(spec)
    other = tmp_path / "other.yaml"
    other.write_bytes(spec.read_bytes())
    digests = [
        plain,
        quick_digest(other),
        quick_digest(spec, "smoke"),
        quick_digest(spec, None, ["seeds=1"]),
        quick_digest(spec, None, ["seeds=1", "norm=rms"]),
        quick_digest(spec, None, ["norm=rms", "seeds=1"]),
        quick_digest(spec, roots=(tmp_path,)),
        quick_digest(spec, plugins=["d"]),
    ]
    spec.write_text(spec.read_text() + "# changed\n")
    assert len({*digests, quick_digest(spec)}) == 9


def test_what_is_no_spec_has_no_digest(tmp_path, spec, monkeypatch):
    assert quick_digest(tmp_path) is None
    assert quick_digest(tmp_path / "absent.yaml") is None
    (tmp_path / "large.yaml").write_bytes(b"#" * 300_000)
    assert quick_digest(tmp_path / "large.yaml") is None

    def refuse(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(type(spec), "open", refuse)
    assert quick_digest(spec) is None


def test_an_input_is_unchanged_while_its_content_is(tmp_path):
    file = tmp_path / "corpus.txt"
    file.write_text("one")
    inputs = [input_of(file)]
    assert unchanged(inputs)
    os.utime(file, ns=(1, 1))
    assert unchanged(inputs), "touched, with the same content"
    file.write_text("two")
    os.utime(file, ns=(2, 2))
    assert not unchanged(inputs), "as long, with other content"
    file.write_text("longer")
    assert not unchanged(inputs)
    file.unlink()
    assert not unchanged(inputs)


def test_the_digest_of_a_plan_holds_the_content_of_the_files_it_names_but_not_their_folder(base, registries, tmp_path):
    spec = tmp_path / "spec.yaml"
    spec.write_text(base.replace("corpus: toy", "corpus: {kind: file, path: c.txt}"))
    plans = []
    for folder, text in (("a", "one"), ("b", "one"), ("b", "two")):
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / "c.txt").write_text(text)
        plans.append(compile_plan(load_spec(spec), registries, (tmp_path / folder,)))
    same, moved, changed = plans
    assert same.digest == moved.digest != changed.digest
    assert same.quick != moved.quick == changed.quick
    assert [given.path for given in same.inputs] == [str(tmp_path / "a" / "c.txt")]
    assert not unchanged(moved.inputs)
    assert unchanged(changed.inputs)
    assert {r.key for r in same.runs} == {r.key for r in moved.runs}
    assert not {r.key for r in moved.runs} & {r.key for r in changed.runs}
