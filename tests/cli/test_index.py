"""``lnlab index``: writes, checks, and says what it could not read."""

import re
import shutil
import struct
import zlib

import pytest


@pytest.fixture
def reports(committed, workdir):
    """The report of the tiny experiment in an empty working folder, and a README that lists its question."""
    shutil.copytree(committed / "reports", workdir / "reports")
    (workdir / "README.md").write_text("# Lab\n\n- [Does it grow?](reports/tiny/index.html)\n")
    return workdir / "reports"


def test_what_is_written_is_up_to_date_until_a_report_changes(lnlab, console, golden, reports, workdir):
    command = ("index", "--readme", "README.md")
    assert console(*command, "--check").code == 1
    assert not (reports / "index.html").exists()
    assert console(*command).code == 0
    golden((workdir / "README.md").read_text())
    content = (reports / "index.html").read_bytes()
    assert lnlab(*command, "--check").code == 0
    (reports / "index.html").write_bytes(content + b" ")
    assert console(*command, "--check", "-q").code == 1
    assert lnlab(*command, "-q").code == 0
    assert (reports / "index.html").read_bytes() == content


def test_a_picture_of_the_readme_is_the_first_figure_of_its_question(lnlab, console, reports, workdir):
    readme = workdir / "README.md"
    readme.write_text("![growth](reports/assets/tiny.png) ![logo](logo.png)\n")
    picture = reports / "assets" / "tiny.png"
    assert lnlab("index", "--readme", "README.md", "-q").out.splitlines()[-1] == "reports/assets/tiny.png"
    content = picture.read_bytes()
    assert content.startswith(b"\x89PNG")
    svg = (reports / "tiny" / "figures" / "figure-1.svg").read_text()
    size = [1.5 * int(side) for side in re.search(r'width="(\d+)" height="(\d+)"', svg).groups()]
    assert struct.unpack(">II", content[16:24]) == pytest.approx(size, abs=0.5), "half a pixel is no pixel"
    first_pixel = zlib.decompress(content[content.index(b"IDAT") + 4 : -16])[1:5]
    assert first_pixel == b"\xff\xff\xff\xff", "white, as not every reader shows a README on a light ground"
    picture.write_bytes(b"stale")
    assert console("index", "--readme", "README.md", "--check").code == 1


def test_a_report_that_cannot_be_read_is_named_and_has_its_card(console, reports):
    (reports / "tiny" / "data" / "experiment.json").write_text("{")
    failed = console("index")
    assert (failed.code, failed.err.startswith("tiny: ")) == (1, True)
    assert (reports / "index.html").read_text().count('<p class="broken" role="note">') == 1


def test_mistakes_are_one_line_each(console, reports, workdir):
    (workdir / "other.md").write_text("- [Gone?](reports/gone/index.html)\n")
    (workdir / "picture.md").write_text("![growth](reports/assets/huge.png)\n")
    for words in (
        ("nowhere",),
        ("--profile", "real"),
        ("--readme", "other.md"),
        ("--readme", "none.md"),
    ):
        console.refused("index", *words)
    assert not (reports / "index.html").exists()
    console("index", "--readme", "picture.md", of="huge")
