"""``lnlab lock`` and ``lnlab verify`` at level 0: any change of a committed file is reported with its place."""

import os
import random
import re
import shutil
from pathlib import Path

import polars as pl
import pytest

from lnlab import __version__
from lnlab.committed.locks.lock_report import read_lock
from lnlab.committed.locks.lock_text import lock_text, parse_lock
from lnlab.committed.locks.verify import verify_reports
from lnlab.errors import LabError
from lnlab.keys import digest_bytes
from lnlab.specfile.seeds import seeds_text
from tests.support.toy_specs import SMALLEST, toy_spec

LOCK = Path("specs/tiny.lock")
REPORT = Path("reports/tiny")
MUTATIONS = int(os.environ.get("MUTATIONS", "40"))
"""Of committed files; `make torture` makes a thousand."""


def differences():
    (report,) = verify_reports([LOCK]).reports
    return [str(difference) for difference in report.differences]


def test_what_is_locked_is_verified_with_a_sentence(lnlab, repository):
    verified = lnlab("verify", "specs/tiny.yaml")
    assert verified.code == 0, verified.out
    files = sum(path.is_file() for path in (*REPORT.rglob("*"), *Path("reports/assets").rglob("*")))
    told = f"1 report ({files} files) verified: every committed file is the one that was locked.\n"
    assert verified.out == f"lnlab {__version__}, level 0: {told}"
    assert lnlab("verify", "--all", "--json").json["passed"] is True


def test_the_lock_holds_what_the_report_says(repository):
    tables = read_lock(LOCK).tables
    row = pl.read_parquet(REPORT / "data/verdicts.parquet").row(0, named=True)
    entry = tables["verdicts"]["post_above_pre"]
    assert (entry["verdict"], entry["n"]) == (row["verdict"], 3)
    assert entry["estimate"] == pytest.approx(row["estimate"], rel=1e-8)
    assert tables["files"]["index.html"] == digest_bytes((REPORT / "index.html").read_bytes())
    assert tables["files"].keys() >= {path.relative_to(REPORT).as_posix() for path in REPORT.rglob("*.parquet")}


def test_locking_again_from_any_folder_gives_the_same_bytes(lnlab, repository, monkeypatch):
    before = LOCK.read_bytes()
    monkeypatch.setenv("TZ", "Asia/Kathmandu")
    monkeypatch.setenv("LC_ALL", "tr_TR.UTF-8")
    monkeypatch.setenv("COLUMNS", "30")
    monkeypatch.chdir(repository / "reports")
    assert lnlab("lock", "../specs/tiny.yaml").code == 0
    monkeypatch.chdir(repository)
    assert LOCK.read_bytes() == before


def test_a_wrong_command_is_one_line(console, repository):
    shutil.copy("specs/tiny.yaml", "specs/unlocked.yaml")
    for arguments in (
        ["lock"],
        ["lock", "--all"],
        ["lock", "specs/tiny.yaml", "-p", "one"],
        ["verify", "specs/other.yaml"],
        ["verify", "specs/unlocked.yaml"],
        ["verify", "--all", "--folder", "reports"],
    ):
        console.refused(*arguments)
    Path("reports/moved").mkdir()
    REPORT.rename("reports/moved/real")
    Path("reports/moved").rename(REPORT)
    console.refused("lock", "specs/tiny.yaml")


def test_a_report_of_another_text_is_not_locked(console, golden, repository):
    Path("specs/tiny.yaml").write_text(Path("specs/tiny.yaml").read_text() + "# a comment\n")
    console.refused("lock", "specs/tiny.yaml")
    assert any(d.startswith("specs/tiny.yaml: ") and "(specs/tiny.lock:" in d for d in differences())


def rewrite(name, change):
    path = REPORT / "data" / f"{name}.parquet"
    change(pl.read_parquet(path)).write_parquet(path)


def test_an_edited_verdict_is_reported_with_its_claim_and_an_edit_of_the_lock_with_its_line(repository, golden):
    text = LOCK.read_text()
    (line,) = (n for n, words in enumerate(text.splitlines(), 1) if "far_above" in words and '"contradicted"' in words)
    LOCK.write_text(text.replace('"contradicted"', '"supported"'))
    (difference,) = differences()
    assert difference.startswith(f"specs/tiny.lock:{line}: verdicts.far_above.verdict: ")
    golden(difference.partition("verdicts.")[2])
    LOCK.write_text(text)
    edited = pl.when(pl.col("claim") == "far_above").then(pl.lit("supported")).otherwise("verdict").alias("verdict")
    rewrite("verdicts", lambda rows: rows.with_columns(edited))
    (difference,) = (d for d in differences() if "verdicts.far_above.verdict: " in d)
    golden(difference.partition("verdicts.")[2])


def test_a_checkout_with_the_line_ends_of_windows_is_told_from_an_edit(repository):
    def with_crlf(path):
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))

    with_crlf(LOCK)
    with_crlf(Path("specs/tiny.yaml"))
    assert differences() == []
    with_crlf(REPORT / "index.html")
    (report,) = verify_reports([LOCK]).reports
    (told,) = report.differences
    assert str(told.where) == "reports/tiny/index.html"
    assert ".gitattributes" in told.remedy
    LOCK.write_bytes(LOCK.read_bytes().replace(b"\r\n", b"\n", 1))
    assert len(differences()) > 1  # some lines alone: an edit


@pytest.mark.parametrize("merged", ["conflict", "twice", "out of order"])
def test_a_lock_that_was_merged_badly_is_reported_with_its_line(lnlab, repository, merged):
    lines = LOCK.read_text().splitlines(keepends=True)
    at = next(n for n, line in enumerate(lines) if line.startswith("far_above = "))
    if merged == "conflict":
        lines[at : at + 1] = ["<<<<<<< ours\n", lines[at], "=======\n", lines[at], ">>>>>>> theirs\n"]
    elif merged == "twice":
        lines[at:at] = [lines[at]]
    else:
        lines[at : at + 2] = lines[at + 1], lines[at]
    LOCK.write_text("".join(lines))
    verified = lnlab("verify", "--all")
    assert verified.code == 1
    assert (
        f"line {at + 1}" in verified.out or f"tiny.lock:{at + 1}:" in verified.out or f"line {at + 2}" in verified.out
    )


def mutated(how, content, dice):
    """A content with one change; as after a merge that chose the wrong side, that of another committed file."""
    changed = bytearray(content)
    if how == "flip":
        changed[dice.randrange(len(content))] ^= dice.randrange(1, 256)
    elif how == "truncate":
        del changed[dice.randrange(len(content)) :]
    elif how == "repeat a line":
        lines = content.splitlines(keepends=True)
        lines.insert(dice.randrange(len(lines)), dice.choice(lines) + b"x")
        return b"".join(lines)
    elif how == "swap":
        others = [other.read_bytes() for other in REPORT.rglob("*") if other.is_file()]
        return dice.choice([other for other in others if other != content])
    return bytes(changed)


def test_of_many_random_mutations_none_is_missed_and_none_crashes(repository):
    dice = random.Random(19)
    committed = [path for path in Path().rglob("*") if path.is_file()]
    assert differences() == []
    for number in range(MUTATIONS):
        path = LOCK if number % 5 == 0 else dice.choice(committed)
        before = path.read_bytes()
        how = dice.choice(["flip", "flip", "flip", "truncate", "repeat a line", "swap"])
        after = mutated(how, before, dice)
        path.write_bytes(after)
        messages = differences()
        path.write_bytes(before)
        assert after == before or any(path.name in message for message in messages), (number, how, path)
    assert differences() == []


def test_a_file_that_nobody_locked_one_that_is_another_and_one_that_is_gone_are_reported(repository, golden):
    (REPORT / "figures" / "figure-9.svg").write_text("<svg/>")
    page = REPORT / "index.html"
    page.write_text(page.read_text() + " ")
    (REPORT / "tables/figure-1.csv").unlink()
    found = differences()
    assert [difference.partition(": ")[0] for difference in found] == [
        f"reports/tiny/{name}" for name in ("figures/figure-9.svg", "index.html", "tables/figure-1.csv")
    ]
    golden([re.sub(r"(tiny\.lock):\d+", r"\1:LINE", difference) for difference in found])


@pytest.mark.parametrize(
    ("seeds", "text"), [([3, 1, 2], "1-3"), ([7], "7"), ([1, 2, 5], "1-2 5"), ([], ""), ([1, 3], "1 3")]
)
def test_seeds_are_written_as_ranges(seeds, text):
    assert seeds_text(seeds) == text


def test_the_text_of_a_lock_reads_back_as_what_was_written():
    tables = {
        "name": 'a "quoted" \\ name\x7f\n',
        "n": 3,
        "table": {"1.5": 1e-7, "yes": True, "π": {"x y": -0.0, "inf": float("inf")}},
        "empty": {},
    }
    assert parse_lock(lock_text(tables), "x") == tables
    with pytest.raises(LabError, match="x: cannot be read"):
        parse_lock("a = 1\na = 2\n", "x")


def render(workers=1):
    (report,) = verify_reports([LOCK], 1, workers=workers).reports
    return [str(difference) for difference in report.differences]


def relock(lnlab):
    assert lnlab("lock", "specs/tiny.yaml", "-q").code == 0


def test_a_lean_report_is_locked_and_drawn_again_lean(lnlab, repository):
    assert lnlab("report", "--from", "reports/tiny", "--lean", "-q").code == 0
    assert lnlab("lock", "specs/tiny.yaml", "-q").code == 0
    verified = lnlab("verify", "--all", "--level", "1", "-w", "1")
    assert verified.code == 0, verified.out
    (script,) = Path("reports/assets").iterdir()
    assert f"../assets/{script.name}" in LOCK.read_text()
    script.write_text(script.read_text() + "\n")
    assert [found.partition(":")[0] for found in differences()] == [script.as_posix()]
    assert lnlab("index", "reports").code == 0
    assert "tiny/figures/thumbnail.svg" in Path("reports/index.html").read_text()
    refused = lnlab("report", "--from", "reports/tiny", "--lean", "--png")
    assert (refused.code, refused.err.count("\n")) == (2, 1)


def test_a_file_too_few_is_reported_and_a_changed_one_is_not_drawn(lnlab, golden, repository):
    (REPORT / "tables/figure-1.csv").unlink()
    relock(lnlab)
    (missing,) = render()
    assert missing.startswith(f"{REPORT}/tables/figure-1.csv: ")
    golden(missing)
    page = REPORT / "index.html"
    page.write_text(page.read_text() + " ")
    (found,) = render()
    assert "index.html" in found
    assert "drawn" not in found


def folder_with_a_file(path):
    path.mkdir()
    (path / "deep").write_text("x")


PLANT = {
    "hidden": lambda path: path.write_text("x"),
    "pipe": os.mkfifo,
    "link": lambda path: path.symlink_to("/etc/hostname"),
    "broken link": lambda path: path.symlink_to("nothing"),
    "loop": lambda path: path.symlink_to(Path.cwd() / REPORT),
    "folder": folder_with_a_file,
}


@pytest.mark.parametrize("what", PLANT)
@pytest.mark.parametrize("name", [".hidden", "data/.DS_Store", "extra"])
def test_what_does_not_belong_to_a_report_is_told_whatever_it_is(repository, what, name):
    PLANT[what](REPORT / name)
    found = differences()
    assert len(found) == 1
    assert found[0].startswith(f"{REPORT / name}")


@pytest.mark.parametrize("name", ["index.html", "data/packs/*/sites.parquet", "tables/verdicts.csv"])
def test_a_locked_file_that_became_a_link_to_its_own_content_is_told(repository, name):
    name = next(REPORT.glob(name)).relative_to(REPORT)
    (REPORT / name).rename("moved")
    (REPORT / name).symlink_to(Path("moved").absolute())
    assert any(text.startswith(f"{REPORT / name}: is a link") for text in differences())


def test_a_file_of_holes_is_not_read(repository):
    for name in ("extra", "index.html"):
        with (REPORT / name).open("wb") as file:
            file.truncate(1 << 40)  # more than any memory
    found = differences()
    assert any(text.startswith(f"{REPORT}/extra: ") for text in found)
    assert any("index.html: has 1,099,511,627,776 bytes" in text for text in found)


def test_what_a_killed_report_left_is_told_and_goes_with_the_next_one(lnlab, repository):
    (REPORT.parent / f".lnlab-{'0' * 16}.part").mkdir()
    (REPORT / f".index.html.{'0' * 16}.part").write_text("half a page")
    assert len(differences()) == 2
    assert lnlab("report", "--from", REPORT).code == 0
    assert differences() == []


@pytest.mark.parametrize("what", ["hidden", "pipe", "link", "loop"])
def test_what_does_not_belong_to_a_report_is_not_locked(console, repository, what):
    before = LOCK.read_bytes()
    PLANT[what](REPORT / ".hidden")
    console.refused("lock", "specs/tiny.yaml")
    assert LOCK.read_bytes() == before


def test_the_report_of_another_profile_inside_is_no_part_of_this_one(repository):
    shutil.copytree(REPORT / "data", REPORT / "one" / "data")
    assert differences() == []


ASKED = """\
seeds: 2
train: {steps: 50, evaluate: {every: 50}}
probes: [{kind: gradient_norm, at: [0], batches: 1}]
sweep: [{optimizer.lr: [0.01, 0.02]}]
report: [{kind: curves, quantity: nll, where: {split: validation}}]
answer:
  - says: "Yes."
    while: {second: undecided, first: undecided}
  - says: "No."
claims:
  - {id: second, says: It falls., kind: bound, of: {quantity: final_nll, optimizer.lr: 0.01}, at_most: 0.1,
     because: {supported: It does.}}
  - {id: first, says: It falls further., kind: bound, of: {quantity: final_nll, optimizer.lr: 0.02}, at_most: 0.1,
     because: {supported: It does.}}
"""


def test_what_a_referee_asks_of_a_new_page_is_asked_of_it_again(lnlab, workdir):
    """In one order, whichever mappings were sorted on their way, and with the epochs that runs were trained for."""
    Path("asked.yaml").write_text(toy_spec(SMALLEST, ASKED))
    for command in (["run", "-w", "1"], ["report"], ["lock"]):
        done = lnlab(command[0], "asked.yaml", "-q", *command[1:])
        assert done.code == 0, done.err
    page = Path("reports/asked/index.html").read_text(encoding="utf-8")
    assert "epochs, 50 updates" in page
    verified = lnlab("verify", "asked.yaml", "--level", "1")
    assert verified.code == 0, verified.out
