"""Every mistake a user can make is one line that names the place and the remedy; never a traceback."""

import errno
import gzip
import os
from pathlib import Path

import pytest

from lnlab.store import files

BASE = "lnlab: 2\ntitle: T\ntask: {kind: translation, corpus: toy_german_english, vocabulary: 200, batch_tokens: 64}\n"
MODEL = "model: {kind: encoder_decoder, layers: 2, d_model: 16, heads: 2, d_ff: 32}\n"
REST = "placement: post\nprobes: [{kind: gradient_norm, at: init, batches: 1}]\n"
WHOLE = BASE + MODEL + REST


def one_problem(said, *words):
    """A wrong spec or command: code 2, nothing on standard output, one line with all of ``words``."""
    assert said.code == 2, said
    assert "Traceback" not in said.err
    lines = said.err.splitlines()
    assert len(lines) == 1, lines
    for word in words:
        assert word in lines[0], lines[0]


WRONG = {
    "typo in a key": (WHOLE + "seds: 2\n", ["x.yaml:7:1", "seds", "did you mean 'seeds'"]),
    "typo in a parameter": (
        WHOLE.replace("d_ff: 32", "d_ff: 32, dropuot: 0.1"),
        ["x.yaml:4:", "did you mean 'dropout'"],
    ),
    "wrong type": (WHOLE.replace("layers: 2", "layers: two"), ["x.yaml:4:", "layers", "two"]),
    "update without an optimizer": (
        WHOLE + "interventions: [{kind: freeze, where: {stack: encoder}}]\n",
        ["x.yaml:7:", "'freeze' acts on the update, and there is no optimizer"],
    ),
    "unknown word in where": (
        WHOLE + "interventions: {kind: clamp, where: {tensor: branhc}}\n",
        ["x.yaml:7:46", "interventions.where.tensor", "did you mean 'branch'"],
    ),
    "unknown kind": (WHOLE.replace("placement: post", "placement: pots"), ["x.yaml:5:", "did you mean 'post'"]),
    "duplicate key": (WHOLE + "title: again\n", ["x.yaml:7:1", "title"]),
    "not a number": (WHOLE.replace("d_ff: 32", "d_ff: .nan"), ["x.yaml:4:", "nan"]),
    "empty sweep": (WHOLE + "sweep: []\n", ["x.yaml:7:", "sweep"]),
    "missing sweep path": (WHOLE + "sweep:\n  - {model.hieght: [1, 2]}\n", ["x.yaml:8:", "hieght"]),
    "ten thousand layers": (WHOLE.replace("layers: 2", "layers: 10000"), ["x.yaml:4:", "layers"]),
    "heads that do not divide": (WHOLE.replace("heads: 2", "heads: 3"), ["x.yaml", "heads"]),
    "syntax error": (WHOLE + "claims: [\n", ["x.yaml:"]),
    "empty file": ("", ["x.yaml:1:1", "empty"]),
    "a claim about no row": (
        WHOLE
        + "seeds: 3\nclaims: [{id: a, says: A., kind: bound, of: {quantity: gradient_norm, step: 99}, at_most: 3}]\n",
        ["x.yaml:8:77", "claims.a.of.step"],
    ),
    "escape sequences": (WHOLE + '"\\e[31mred": 1\n', ["x.yaml:7:1", "U+001B"]),
}


@pytest.mark.parametrize(
    ("placement", "where", "words"),
    [
        ("pre", "{tensor: sum}", "where.tensor: "),
        ("post", "{tensor: out, layer: 3}", "where.layer: "),
    ],
)
def test_an_arrow_that_cannot_be_cut_is_found_by_check(console, workdir, placement, where, words):
    text = WHOLE.replace("post", placement) + f"interventions: {{kind: rescale, where: {where}, factor: 2}}\n"
    (workdir / "x.yaml").write_text(text)
    one_problem(console("check", "x.yaml"), "x.yaml:7:", f" interventions.{words}")


@pytest.mark.parametrize("command", ["check", "plan", "run"])
@pytest.mark.parametrize("mistake", WRONG)
def test_mistakes_in_a_spec(lnlab, workdir, command, mistake):
    text, words = WRONG[mistake]
    (workdir / "x.yaml").write_text(text)
    one_problem(lnlab(command, "x.yaml"), *words)
    assert not (workdir / ".lnlab").exists()


def test_every_problem_of_a_spec_is_told_at_once_in_the_order_of_the_file(workdir, console):
    """What is wrong with its text, and what with its meaning; arguments come last."""
    text = WHOLE.replace("d_ff: 32", "d_ff: .nan").replace("placement: post", "placement: post\nplacement: pre\nsed: 5")
    (workdir / "x.yaml").write_text(f"{text}norm: leyer\n")
    told = console.refused("check", "x.yaml", "-s", "seeds=none", lines=5).splitlines()
    assert [line.split(": ")[0] for line in told[:4]] == ["x.yaml:4:72", "x.yaml:6:1", "x.yaml:7:1", "x.yaml:9:7"]
    assert "seeds=none" in told[4]


def test_files_that_are_no_specs(lnlab, workdir):
    (workdir / "folder").mkdir()
    (workdir / "binary.yaml").write_bytes(bytes(range(256)) * 4)
    (workdir / "latin.yaml").write_bytes("title: Übung".encode("latin-1"))
    with (workdir / "large.yaml").open("wb") as file:
        file.truncate(50 * 2**20)
    one_problem(lnlab("run", "folder"), "folder", "is a folder", "name the YAML file")
    one_problem(lnlab("run", "binary.yaml"), "binary.yaml", "is not text")
    one_problem(lnlab("run", "latin.yaml"), "latin.yaml:1:8", "UTF-8")
    one_problem(lnlab("run", "large.yaml"), "large.yaml", "52,428,800 bytes", "at most")
    one_problem(lnlab("run", "lage.yaml"), "lage.yaml", "no such file", "did you mean 'large.yaml'")
    one_problem(lnlab("run", "x" * 5000), "file name too long")


@pytest.mark.usefixtures("promptly")
@pytest.mark.parametrize("command", ["check", "plan", "run", "report", "status"])
def test_odd_files_are_refused_by_every_command(lnlab, tiny, command):
    os.mkfifo("fifo.yaml")
    Path("zeros.yaml").symlink_to("/dev/zero")
    one_problem(lnlab(command, f"{tiny}/"), "tiny.yaml/", "is not a directory")
    if command != "status":  # which asks the store for the name alone
        one_problem(lnlab(command, "fifo.yaml"), "fifo.yaml", "is not a regular file")
        one_problem(lnlab(command, "zeros.yaml"), "zeros.yaml", "is not a regular file")


@pytest.mark.usefixtures("promptly")
def test_plugins_that_are_no_files(lnlab, tiny):
    os.mkfifo("fifo.py")
    with Path("sparse.py").open("wb") as file:
        file.truncate(50 * 2**20)
    one_problem(lnlab("check", tiny, "--with", "fifo.py"), "fifo.py", "is not a regular file")
    one_problem(lnlab("check", tiny, "--with", "sparse.py"), "sparse.py", "a plugin has at most")
    one_problem(lnlab("check", tiny, "--with", "absent.py"), "absent.py", "no such file", "known: fifo.py, sparse.py")


@pytest.mark.parametrize(
    ("override", "bound"),
    [
        ("model.d_model=1e30", "1,000,000"),
        ("model.d_model=9223372036854775807", "1,000,000"),
        ("model.layers=1000", "at most 256"),
    ],
)
def test_sizes_beyond_all_bounds_are_refused_before_anything_is_built(lnlab, tiny, monkeypatch, override, bound):
    monkeypatch.setattr("lnlab.nn.transformer.Stack.__init__", lambda *_, **__: pytest.fail("built"))
    for command in ("check", "plan"):
        one_problem(lnlab(command, tiny, "-s", override), override.partition("=")[0], bound)


def test_no_integer_is_beyond_what_a_float_counts(lnlab, workdir):
    (workdir / "x.yaml").write_text(WHOLE.replace("batches: 1}", "batches: 1e30}"))
    one_problem(lnlab("check", "x.yaml"), "x.yaml:6:", "probes.0.batches", "out of range", "9,007,199,254,740,992")


def test_overrides_and_profiles_name_the_argument(lnlab, tiny):
    one_problem(lnlab("run", tiny, "-s", "model.layers"), "model.layers", "=")
    one_problem(lnlab("run", tiny, "-s", "model.leyers=3"), "model.leyers", "did you mean")
    one_problem(lnlab("run", tiny, "--profile", "reel"), "--profile reel", "did you mean 'real'")


@pytest.mark.parametrize("code", [errno.EROFS, errno.ENOSPC, errno.EACCES])
def test_a_store_that_cannot_be_written(console, tiny, monkeypatch, code):
    def refuse(operation: str, path: Path) -> None:
        raise OSError(code, os.strerror(code), str(path))

    monkeypatch.setattr(files, "before", refuse)
    one_problem(console("run", tiny), ".lnlab")


def test_a_store_that_is_a_file(lnlab, tiny):
    one_problem(lnlab("run", tiny, "--store", tiny), "tiny.yaml", "is a file", "--store")


def test_a_store_whose_name_is_too_long(lnlab, tiny):
    one_problem(lnlab("run", tiny, "--store", "x" * 300), "file name too long")


def test_what_is_asked_before_a_run_says_how_to_run(console, tiny):
    run = f"lnlab run {tiny}"
    one_problem(console("report", tiny), "tiny.yaml", run)
    one_problem(console("report", tiny, "-s", "seeds=3"), "tiny.yaml", f"{run} -s seeds=3")
    one_problem(console("status", tiny), "tiny.yaml", run)
    one_problem(console("results", tiny, "--out", "t.csv"), "tiny.yaml", run)
    assert not Path("t.csv").exists()
    one_problem(console("report"), "lnlab run SPEC")


def test_a_profile_of_no_spec(lnlab, workdir):
    one_problem(lnlab("report", "--profile", "smoke"), "--profile", "name the spec")


def test_plugins_that_cannot_be_loaded(lnlab, tiny):
    (tiny.parent / "broken.py").write_text("1 / 0\n")
    one_problem(lnlab("run", tiny, "--with", "absent.py"), "absent.py", "no such file")
    one_problem(lnlab("run", tiny, "--with", "broken.py"), "broken.py", "ZeroDivisionError")


def test_a_missing_corpus_passes_check_and_fails_run_with_both_ways_to_get_it(lnlab, tiny):
    assert lnlab("check", "tiny.yaml").code == 0
    one_problem(lnlab("run", "tiny.yaml", "--profile", "real"), "multi30k", "lnlab data fetch multi30k", "LNLAB_DATA")


def test_a_corpus_with_a_wrong_checksum(lnlab, tiny, monkeypatch):
    folder = tiny.parent / "data" / "multi30k"
    folder.mkdir(parents=True)
    for name in ("train", "val", "test_2016_flickr"):
        for language in ("de", "en"):
            (folder / f"{name}.{language}.gz").write_bytes(gzip.compress(b"Hallo\n"))
    monkeypatch.setenv("LNLAB_DATA", str(tiny.parent / "data"))
    one_problem(lnlab("run", "tiny.yaml", "--profile", "real"), ".gz", "SHA-256", "lnlab data fetch multi30k")


def test_two_files_that_do_not_fit_together(lnlab, workdir):
    (workdir / "a.de").write_text("eins\nzwei\n")
    (workdir / "a.en").write_text("one\ntwo\nthree\n")
    corpus = "corpus: {kind: parallel_text, train: [a.de, a.en]}"
    (workdir / "x.yaml").write_text(WHOLE.replace("corpus: toy_german_english", corpus))
    one_problem(lnlab("run", "x.yaml"), "a.de", "2 lines, and 3", "same number of lines")
