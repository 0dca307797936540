"""Every mistake a user can make is one line that names the place and the remedy; never a traceback."""

import errno
import gzip
import os
from pathlib import Path

import pytest

from lnlab.store import files
from tests.cli.conftest import CommandResult

BASE = "lnlab: 2\ntitle: T\ntask: {kind: translation, corpus: toy_german_english, vocabulary: 200, batch_tokens: 64}\n"
MODEL = "model: {kind: encoder_decoder, layers: 2, d_model: 16, heads: 2, d_ff: 32}\n"
REST = "placement: post\nprobes: [{kind: gradient_norm, at: init, batches: 1}]\n"
WHOLE = BASE + MODEL + REST
FAR = "seeds: 3\nclaims: [{id: a, says: A., kind: bound, of: {quantity: gradient_norm, step: 99}, at_most: 3}]\n"
WRONG = {
    "typo in a key": WHOLE + "seds: 2\n",
    "typo in a parameter": WHOLE.replace("d_ff: 32", "d_ff: 32, dropuot: 0.1"),
    "wrong type": WHOLE.replace("layers: 2", "layers: two"),
    "update without an optimizer": WHOLE + "interventions: [{kind: freeze, where: {stack: encoder}}]\n",
    "unknown word in where": WHOLE + "interventions: {kind: clamp, where: {tensor: branhc}}\n",
    "unknown kind": WHOLE.replace("placement: post", "placement: pots"),
    "duplicate key": WHOLE + "title: again\n",
    "not a number": WHOLE.replace("d_ff: 32", "d_ff: .nan"),
    "empty sweep": WHOLE + "sweep: []\n",
    "missing sweep path": WHOLE + "sweep:\n  - {model.hieght: [1, 2]}\n",
    "ten thousand layers": WHOLE.replace("layers: 2", "layers: 10000"),
    "heads that do not divide": WHOLE.replace("heads: 2", "heads: 3"),
    "syntax error": WHOLE + "claims: [\n",
    "empty file": "",
    "a claim about no row": WHOLE + FAR,
    "escape sequences": WHOLE + '"\\e[31mred": 1\n',
    "an integer beyond what a float counts": WHOLE.replace("batches: 1}", "batches: 1e30}"),
    "the sum of a formula": WHOLE.replace("post", "pre")
    + "interventions: {kind: rescale, where: {tensor: sum}, factor: 2}\n",
    "a layer too many": WHOLE + "interventions: {kind: rescale, where: {tensor: out, layer: 3}, factor: 2}\n",
}


@pytest.mark.parametrize("mistake", WRONG)
def test_mistakes_in_a_spec(lnlab, console, workdir, mistake):
    (workdir / "x.yaml").write_text(WRONG[mistake])
    told = console.refused("check", "x.yaml")
    assert told.startswith("x.yaml")
    assert [lnlab(command, "x.yaml") for command in ("plan", "run")] == [CommandResult(2, "", told)] * 2
    assert not (workdir / ".lnlab").exists()


def test_every_problem_of_a_spec_is_told_at_once_in_the_order_of_the_file(workdir, console):
    """What is wrong with its text, and what with its meaning; arguments come last."""
    text = WHOLE.replace("d_ff: 32", "d_ff: .nan").replace("placement: post", "placement: post\nplacement: pre\nsed: 5")
    (workdir / "x.yaml").write_text(f"{text}norm: leyer\n")
    told = console.refused("check", "x.yaml", "-s", "seeds=none", lines=5).splitlines()
    assert [line.split(": ")[0] for line in told[:4]] == ["x.yaml:4:72", "x.yaml:6:1", "x.yaml:7:1", "x.yaml:9:7"]
    assert "seeds=none" in told[4]


def test_files_that_are_no_specs(console, workdir):
    (workdir / "folder").mkdir()
    (workdir / "binary.yaml").write_bytes(bytes(range(256)) * 4)
    (workdir / "latin.yaml").write_bytes("title: Übung".encode("latin-1"))
    with (workdir / "large.yaml").open("wb") as file:
        file.truncate(50 * 2**20)
    for name in ("folder", "binary.yaml", "latin.yaml", "large.yaml", "lage.yaml", "x" * 300):
        console.refused("run", name)


@pytest.mark.usefixtures("promptly")
@pytest.mark.parametrize("command", ["check", "plan", "run", "report", "status"])
def test_odd_files_are_refused_by_every_command(console, tiny, command):
    os.mkfifo("fifo.yaml")
    Path("zeros.yaml").symlink_to("/dev/zero")
    console.refused(command, f"{tiny}/")
    if command != "status":  # which asks the store for the name alone
        console.refused(command, "fifo.yaml")
        console.refused(command, "zeros.yaml")


@pytest.mark.usefixtures("promptly")
def test_plugins_that_are_no_files_or_cannot_be_loaded(console, tiny):
    os.mkfifo("fifo.py")
    with Path("sparse.py").open("wb") as file:
        file.truncate(50 * 2**20)
    Path("broken.py").write_text("1 / 0\n")
    for plugin in ("fifo.py", "sparse.py", "absent.py", "broken.py"):
        console.refused("check", tiny, "--with", plugin)


@pytest.mark.parametrize("override", ["model.d_model=1e30", "model.d_model=9223372036854775807", "model.layers=1000"])
def test_sizes_beyond_all_bounds_are_refused_before_anything_is_built(console, tiny, monkeypatch, override):
    monkeypatch.setattr("lnlab.nn.transformer.Stack.__init__", lambda *_, **__: pytest.fail("built"))
    for command in ("check", "plan"):
        console.refused(command, tiny, "-s", override)


def test_a_wrong_argument_is_named(console, tiny):
    for words in (
        ["run", tiny, "-s", "model.layers"],
        ["run", tiny, "-s", "model.leyers=3"],
        ["run", tiny, "--profile", "reel"],
        ["report", "--profile", "smoke"],
        ["run", tiny, "--store", tiny],
        ["run", tiny, "--store", "x" * 300],
    ):
        console.refused(*words)


@pytest.mark.parametrize("code", [errno.EROFS, errno.ENOSPC, errno.EACCES])
def test_a_store_that_cannot_be_written(console, tiny, monkeypatch, code):
    def refuse(operation: str, path: Path) -> None:
        raise OSError(code, os.strerror(code), str(path))

    monkeypatch.setattr(files, "before", refuse)
    console.refused("run", tiny)


def test_what_is_asked_before_a_run_says_how_to_run(console, tiny):
    for words in (
        ["report", tiny],
        ["report", tiny, "-s", "seeds=3"],
        ["status", tiny],
        ["results", tiny, "--out", "t.csv"],
        ["report"],
    ):
        console.refused(*words)
    assert not Path("t.csv").exists()


def test_a_missing_corpus_passes_check_and_fails_run_with_both_ways_to_get_it(lnlab, console, tiny):
    assert lnlab("check", "tiny.yaml").code == 0
    console.refused("run", "tiny.yaml", "--profile", "real")


def test_a_corpus_with_a_wrong_checksum(console, tiny, monkeypatch):
    folder = tiny.parent / "data" / "multi30k"
    folder.mkdir(parents=True)
    for name in ("train", "val", "test_2016_flickr"):
        for language in ("de", "en"):
            (folder / f"{name}.{language}.gz").write_bytes(gzip.compress(b"Hallo\n", mtime=0))
    monkeypatch.setenv("LNLAB_DATA", str(tiny.parent / "data"))
    console.refused("run", "tiny.yaml", "--profile", "real")


def test_two_files_that_do_not_fit_together(console, workdir):
    (workdir / "a.de").write_text("eins\nzwei\n")
    (workdir / "a.en").write_text("one\ntwo\nthree\n")
    corpus = "corpus: {kind: parallel_text, train: [a.de, a.en]}"
    (workdir / "x.yaml").write_text(WHOLE.replace("corpus: toy_german_english", corpus))
    console.refused("run", "x.yaml")
