"""``lnlab diff``: what differs between two specs, locks or reports, and nothing where nothing does."""

import shutil
import subprocess
from pathlib import Path

import polars as pl
import pytest

from lnlab.cli import main
from lnlab.report.folder import read_folder
from tests.report_rows import change_rows

REPORT = Path("reports/tiny")
GIT = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]


@pytest.fixture(scope="module")
def two_commits(committed, tmp_path_factory):
    """A git repository with two commits: the second has a larger threshold, and other words in a comment.

    The first stands in the folder ``before``, too.
    """
    root = tmp_path_factory.mktemp("commits") / "repository"
    shutil.copytree(committed, root)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        subprocess.run([*GIT, "init", "-q", "-b", "main"], check=True)
        for change in (lambda text: text, lambda text: text.replace("at_least: 1.1\n", "at_least: 1000  # new\n")):
            Path("specs/tiny.yaml").write_text(change(Path("specs/tiny.yaml").read_text()))
            assert main(["report", "--from", "reports/tiny", "specs/tiny.yaml", "-q"]) == 0
            assert main(["lock", "specs/tiny.yaml", "-q"]) == 0
            subprocess.run([*GIT, "add", "--all"], check=True)
            subprocess.run([*GIT, "commit", "-q", "-m", "a figure"], check=True)
        subprocess.run([*GIT, "archive", "--prefix=before/", "--output=before.tar", "HEAD~1"], check=True)
        shutil.unpack_archive("before.tar", filter="data")
    return root


@pytest.fixture
def repository(two_commits, tmp_path, monkeypatch):
    """A copy of it as the working folder."""
    root = tmp_path / "copy"
    shutil.copytree(two_commits, root)
    monkeypatch.chdir(root)
    return root


@pytest.mark.parametrize("side", ["specs/tiny.lock", "reports/tiny", "specs/tiny.yaml", "before/specs/tiny.lock"])
def test_a_side_says_the_same_as_itself(lnlab, repository, side):
    same = lnlab("diff", side, side)
    assert (same.code, "say the same" in same.out) == (0, True), same.out


def test_a_changed_criterion_moves_one_line_of_the_spec_and_one_verdict(lnlab, repository):
    result = lnlab("diff", "before/specs/tiny.lock", "specs/tiny.lock", "--json")
    assert result.code == 1
    differences = result.json["differences"]
    assert differences.keys() == {"spec", "verdicts"}
    assert differences["spec"] == [{"where": "claims.post_above_pre.at_least", "a": "1.1", "b": "1000"}]
    (verdict,) = differences["verdicts"]
    rows = pl.read_parquet(REPORT / "data/verdicts.parquet").filter(claim="post_above_pre").row(0, named=True)
    assert rows["verdict"] == "contradicted"
    assert verdict["where"] == "post_above_pre"
    assert (verdict["a"].split()[0], verdict["b"].split()[0]) == ("supported", "contradicted")
    # The estimate is the same. The changed range is a further look, at which the interval is wider.
    first, second = (float(verdict[side].split()[1]) for side in "ab")
    assert f"{first:.2g}" == f"{second:.2g}"


@pytest.mark.parametrize(("factor", "reported"), [(1.25, True), (1 + 1e-12, False)])
def test_numbers_are_counted_and_measured(lnlab, repository, factor, reported):
    shutil.copytree(REPORT, "other")
    rows = read_folder(Path("other"))[1].tables["sites"]
    chosen = (pl.col("layer") == 1) & (pl.col("seed") == 2) & (pl.col("quantity") == "gradient_norm")
    scaled = pl.when(chosen).then(pl.col("value") * factor).otherwise("value").alias("value")
    change_rows(Path("other"), lambda rows: rows.with_columns(scaled))
    changed, total = rows.filter(chosen).height, rows.filter(quantity="gradient_norm").height
    result = lnlab("diff", "reports/tiny", "other")
    line = f"gradient_norm, initial: {total} numbers → {total} numbers, {changed} of {total} differ in 2 variants, "
    line += f"by at most 2.0e-01 of themselves, {changed} beyond their margin"
    assert result.code == reported
    assert (line in result.out) == reported, result.out


def test_rows_seeds_and_settings_that_one_side_lacks_are_named(lnlab, repository):
    shutil.copytree(REPORT, "other")
    change_rows(Path("other"), lambda rows: rows.filter(quantity="gradient_norm").slice(3))
    total = read_folder(REPORT)[1].tables["sites"].filter(quantity="gradient_norm").height
    cut = lnlab("diff", "reports/tiny", "other")
    assert f"{total} numbers → {total - 3} numbers, 0 of {total - 3} differ" in cut.out
    back = lnlab("diff", "other", "reports/tiny")
    assert f"0 of {total - 3} differ, 3 more" in back.out
    text = Path("specs/tiny.yaml").read_text()
    Path("wider.yaml").write_text(text.replace("seeds: 3", "seeds: 5").replace("d_ff: 32", "d_ff: 64"))
    specs = lnlab("diff", "specs/tiny.yaml", "wider.yaml", "--json").json
    assert specs["differences"]["settings"] == [{"where": "model.d_ff", "a": "32", "b": "64"}]
    assert {"where": "placement=pre", "a": "seeds 1-3", "b": "seeds 1-5"} in specs["differences"]["runs"]
    assert specs["not_compared"].keys() == {"numbers", "verdicts"}
    profiles = lnlab("diff", "specs/tiny.yaml", "specs/tiny.yaml", "-p", "one")
    assert profiles.code == 0, "one profile is that of both sides"


def test_a_wrong_side_is_one_line(console, repository):
    Path("alone").mkdir()
    shutil.copy("specs/tiny.lock", "alone")
    Path("reports").rename("pages")
    for sides in (
        ("specs/tiny.yaml", "nothing"),
        ("specs/tiny.yaml", "alone/tiny.lock"),
        ("specs/tiny.yaml", "specs"),
        ("HEAD:specs/tiny.yaml", "specs/tiny.yaml"),
    ):
        console.refused("diff", *sides)
