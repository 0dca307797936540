"""A spec that cites claims of another: from its report, by digest, missing where there is none, and on its page."""

import shutil
from pathlib import Path

import polars as pl
import pytest

from lnlab.cli import main
from lnlab.keys import digest_bytes
from lnlab.tables import frame
from tests.cli.conftest import TINY

HEAD = TINY.partition("report:")[0].replace("A tiny experiment", "An experiment on others")
CITING = (
    HEAD
    + """\
report:
  - kind: causal_graph
    title: The chain
    nodes: {x: {label: Cause, at: [0, 0]}, y: {label: Effect, at: [1, 1]}}
    edges: [{arrow: [x, y], observed: seen, cut: cut}]
    claims:
      - {id: agreement, says: They agree., kind: edges, role: prediction}
      - {id: seen, says: It is seen., kind: cited, evidence: {tiny: [post_above_pre]}}
      - id: cut
        says: It acts.
        kind: ratio
        of: {quantity: gradient_norm, stack: decoder, tensor: w2, layer: last, placement: post}
        to: {placement: pre}
        at_least: 1000000
profiles:
  one: {seeds: 1}
"""
)


@pytest.fixture
def citing(tiny, workdir):
    """A spec beside the one that it cites."""
    path = workdir / "citing.yaml"
    path.write_text(CITING)
    return path


def write_verdicts(reports, *rows, spec="tiny", profile="real"):
    """A report of which only the verdicts are there: rows of claim and verdict."""
    path = reports / spec / profile / "data" / "verdicts.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    numbers = {"kind": "ratio", "says": "Of another.", "statistic": "ratio", "estimate": 2.5, "low": 2.0, "high": 3.0}
    table = frame("verdicts", [{"claim": claim, "verdict": word, "n": 3, **numbers} for claim, word in rows])
    table.write_parquet(path)
    return path


def verdicts(said):
    return {verdict["claim"]: verdict["verdict"] for verdict in said.json["verdicts"]}


def test_what_is_missing_is_not_testable_and_what_appears_is_read_without_computing_anything(
    lnlab, citing, workdir, golden
):
    said = lnlab("run", "citing.yaml", "--json", "-q")
    assert said.code == 0, said.err
    assert verdicts(said) == {"agreement": "undecided", "seen": "not testable here", "cut": "contradicted"}
    golden(said.json["verdicts"][1]["reason"])

    write_verdicts(workdir / "reports", ("far_above", "supported"))
    golden(lnlab("run", "citing.yaml", "--json", "-q").json["verdicts"][1]["reason"])

    for word, agreement in (("supported", "contradicted"), ("contradicted", "supported"), ("undecided", "undecided")):
        write_verdicts(workdir / "reports", ("far_above", "supported"), ("post_above_pre", word))
        said = lnlab("run", "citing.yaml", "--json", "-q")
        assert verdicts(said) == {"agreement": agreement, "seen": word, "cut": "contradicted"}
        assert said.json["computed"] == 0


def test_the_plan_names_what_it_reads_with_its_digest(lnlab, console, citing, workdir):
    console("plan", "citing.yaml", of="cites ")
    path = write_verdicts(workdir / "reports", ("post_above_pre", "supported"))
    console("plan", "citing.yaml", of="cites ")
    assert lnlab("plan", "citing.yaml", "--json").json["cited"] == {str(path): digest_bytes(path.read_bytes())}


def test_the_plan_depends_on_the_file_that_it_read_and_a_report_on_another_is_refused(lnlab, console, citing, workdir):
    plans = []
    for word in ("supported", "contradicted"):
        path = write_verdicts(workdir / "reports", ("post_above_pre", word))
        plans.append(lnlab("run", "citing.yaml", "--json", "-q").json["plan"])
    assert plans[0] != plans[1]
    assert lnlab("report", "citing.yaml", "-q").code == 0

    write_verdicts(workdir / "reports", ("post_above_pre", "undecided"))
    console.refused("report", "citing.yaml", "-q")
    path.unlink()
    assert lnlab("report", "citing.yaml", "-q").code == 2


@pytest.mark.parametrize(
    ("old", "new", "at"),
    [
        ("{tiny:", "{tinny:", "evidence"),
        ("[post_above_pre]", "[post_abov_pre]", "evidence"),
        ("{tiny:", "{citing:", "evidence"),
        ("[post_above_pre]}", "[post_above_pre]}, profile: paper", "profile"),
        ("title:", "related: {tinny: x}\ntitle:", "related"),
        ("observed: seen", "observed: sen", "edges"),
        ("arrow: [x, y]", "arrow: [x, z]", "edges"),
    ],
)
def test_what_does_not_exist_is_one_line_with_its_place(console, citing, old, new, at):
    citing.write_text(citing.read_text().replace(old, new, 1))
    said = console("check", "citing.yaml")
    assert said.code == 2
    lines = [line for line in said.err.splitlines() if at in line]
    assert lines, said.err
    assert all(line.startswith("citing.yaml:") for line in lines)


def test_who_cites_is_not_cited(console, citing, workdir):
    (workdir / "third.yaml").write_text(CITING.replace("{tiny: [post_above_pre]}", "{citing: [seen]}, profile: one"))
    assert "'seen' of 'citing'" in console("check", "third.yaml").err


def test_a_report_without_its_spec_at_hand_can_be_cited(lnlab, citing, workdir):
    citing.write_text(CITING.replace("{tiny: [post_above_pre]}", "{elsewhere: [shown]}"))
    assert lnlab("check", "citing.yaml").code == 2
    write_verdicts(workdir / "reports", ("shown", "supported"), spec="elsewhere")
    assert lnlab("check", "citing.yaml").code == 0
    assert verdicts(lnlab("run", "citing.yaml", "--json", "-q"))["seen"] == "supported"


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    """A folder with a report that read another's verdict; no test changes it."""
    folder = tmp_path_factory.mktemp("citing")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        Path("tiny.yaml").write_text(TINY)
        Path("citing.yaml").write_text(CITING)
        write_verdicts(Path("reports"), ("far_above", "supported"), ("post_above_pre", "supported"))
        assert [main([*words, "citing.yaml", "-q"]) for words in (["run"], ["report"])] == [0, 0]
    return folder


@pytest.fixture
def page(drawn, workdir):
    """A copy of it as the working folder: the folder of the report."""
    shutil.copytree(drawn, workdir, dirs_exist_ok=True)
    return workdir / "reports" / "citing"


def evidence(folder):
    return pl.read_parquet(folder / "data" / "evidence.parquet").row(0, named=True)


def test_the_page_leads_to_the_claim_on_the_other_page(page):
    text = (page / "index.html").read_text()
    address = "../tiny/real/index.html#claim-2"
    assert f'<a href="{address}">Of another.</a>' in text
    assert address in (page / "figures" / "figure-1.svg").read_text()
    assert evidence(page)["number"] == 2
    assert "They agree." in text


def test_a_report_made_again_reads_its_neighbours_and_else_what_it_keeps(lnlab, page, workdir):
    other = workdir / "reports" / "tiny" / "real" / "data" / "verdicts.parquet"
    write_verdicts(workdir / "reports", ("post_above_pre", "contradicted"))
    assert lnlab("report", "--from", "reports/citing", "-q").code == 0
    assert (evidence(page)["verdict"], evidence(page)["number"]) == ("contradicted", 1)
    judged = pl.read_parquet(page / "data" / "verdicts.parquet")
    assert dict(judged.select("claim", "verdict").iter_rows())["agreement"] == "supported"

    digest = evidence(page)["sha256"]
    other.unlink()
    assert lnlab("report", "--from", "reports/citing", "-q").code == 0
    assert (evidence(page)["verdict"], evidence(page)["sha256"]) == ("contradicted", digest)


@pytest.mark.parametrize("words", [["run", "citing.yaml", "-q"], ["report", "--from", "reports/citing", "-q"]])
def test_a_damaged_report_that_is_cited_is_one_line_with_its_place(lnlab, page, workdir, words):
    verdicts = workdir / "reports/tiny/real/data/verdicts.parquet"
    pl.DataFrame({"claim": ["post_above_pre"]}).write_parquet(other := workdir / "other.parquet")
    for damage in (b"no table", b"PAR1 and nothing PAR1", other.read_bytes()):
        verdicts.write_bytes(damage)
        said = lnlab(*words)
        assert (said.code, said.err.count("\n")) == (2, 1), said.err
        assert "reports/tiny/real/data/verdicts.parquet: " in said.err


@pytest.mark.parametrize("content", [b"no table", b""])
def test_a_damaged_report_of_the_same_spec_is_one_line_when_verdicts_are_compared(lnlab, tiny, workdir, content):
    path = write_verdicts(workdir / "reports", ("post_above_pre", "supported"))
    path.write_bytes(content)
    said = lnlab("run", "tiny.yaml", "-p", "one", "-q")
    assert (said.code, said.err.count("\n"), "verdicts.parquet: " in said.err) == (2, 1, True), said.err


def cites(root: Path, name: str, *others: str) -> Path:
    """The folder of a report that cites others, as far as their order is asked for."""
    data = root / name / "real" / "data"
    data.mkdir(parents=True)
    if others:
        pl.DataFrame({"spec": others, "profile": ["real"] * len(others)}).write_parquet(data / "evidence.parquet")
    return data.parent


def test_reports_are_made_again_after_those_that_they_cite(tmp_path):
    from lnlab.cli.again import RedrawRequest

    a, b = cites(tmp_path, "a", "b", "c", "elsewhere"), cites(tmp_path, "b", "c")
    c, other = cites(tmp_path, "c"), cites(tmp_path / "second", "c", "a")
    assert RedrawRequest((a, b, c), None).folders == (c, b, a)
    assert RedrawRequest((c, b, a), None).folders == (c, b, a)
    assert RedrawRequest((a, c), None).folders == (c, a)
    assert RedrawRequest((a, c, a), None).folders == (c, a, a), "one that is named twice is not lost: it is refused"
    circle = cites(tmp_path, "d", "e"), cites(tmp_path, "e", "d")
    assert RedrawRequest(circle, None).folders == circle
    (c / "data" / "evidence.parquet").write_text("no table")
    assert RedrawRequest((b, c), None).folders == (c, b)
    assert RedrawRequest((other,), None).folders == (other,)
