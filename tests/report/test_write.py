"""A report as a whole: made from a folder of tables, complete, small, and the same bytes wherever it is made."""

import errno
import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace

import polars as pl
import pytest

from lnlab.errors import ReportError
from lnlab.report.drawing import Drawing
from lnlab.report.folder import read_folder, write_files
from lnlab.report.write import render_report, report_folder, write_report
from lnlab.tables import Results
from tests.support.golden import holding
from tests.support.report_folders import save_folder


def contents(folder):
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def test_a_report_has_every_file_a_reader_needs(folder):
    found = set(contents(folder))
    assert {"index.html", "notebook.ipynb", "data/experiment.json", "data/verdicts.parquet"} <= found
    assert {name.rpartition("/")[2] for name in found if name.startswith("data/packs/")} == {
        "index.json",
        "records.parquet",
        "sites.parquet",
    }
    for number in range(1, 7):
        for name in (
            "figures/figure-{}.svg",
            "figures/figure-{}.vl.json",
            "figures/figure-{}.html",
            "tables/figure-{}.csv",
        ):
            assert name.format(number) in found
    assert {"tables/verdicts.csv", "tables/verdicts.tex"} <= found


def test_nothing_in_the_folder_tells_the_time(folder):
    runs = read_folder(folder)[1].runs
    assert runs["seconds"].null_count() == runs.height


def test_a_committed_report_can_be_made_again_from_its_folder_alone(folder, tmp_path):
    copy = tmp_path / "elsewhere" / "xiong_fig3"
    shutil.copytree(folder / "data", copy / "data")
    render_report(copy)
    assert contents(copy) == contents(folder)


AGAIN = """
import sys
sys.path.insert(0, sys.argv[2])
from pathlib import Path
from lnlab.report.write import render_report
render_report(Path(sys.argv[1]))
"""


def test_equal_tables_give_equal_bytes_whatever_the_place_the_zone_and_the_hash_seed(small, tmp_path):
    made = []
    for zone, seed, place in (("", "", "a"), ("Asia/Tokyo", "17", "b")):
        out = tmp_path / place / "reports" / "spec"
        save_folder(out, *small)
        if not zone:  # as it is in this process
            render_report(out)
            made.append(contents(tmp_path / place))
            continue
        environment = os.environ | {"TZ": zone, "PYTHONHASHSEED": seed, "LC_ALL": "C", "LANG": "de_DE.UTF-8"}
        cwd = tmp_path / place
        command = [sys.executable, "-c", AGAIN, "reports/spec", str(tmp_path)]
        subprocess.run(command, cwd=cwd, env=environment, check=True, timeout=120)
        made.append(contents(cwd))
    assert made[0].keys() == made[1].keys()
    assert [name for name in made[0] if made[0][name] != made[1][name]] == []


def test_pages_of_all_profiles_share_one_script(small, tmp_path):
    facts, results, verdicts = small
    for profile in (None, "real"):
        given = replace(facts, profile=profile)
        write_report(report_folder(tmp_path, "spec", profile), given, results, verdicts)
    (script,) = (tmp_path / "assets").iterdir()
    assert f'src="../assets/{script.name}"' in (tmp_path / "spec" / "index.html").read_text()
    assert f'src="../../assets/{script.name}"' in (tmp_path / "spec" / "real" / "index.html").read_text()


def test_a_lean_report_is_the_page_its_data_and_the_picture_of_the_index(small, tmp_path):
    """It holds all that the others are drawn from, and its page leads to no file that is not there."""
    facts, results, verdicts = small
    full, lean = tmp_path / "full", tmp_path / "lean"
    write_report(full, facts, results, verdicts)
    shutil.copytree(full, lean)
    before = contents(full)
    render_report(lean, drawing=Drawing(lean=True))
    files = contents(lean)
    assert {name for name in files if not name.startswith("data/")} == {
        *("index.html", "figures/figure-1.svg", "figures/thumbnail.svg")
    }
    assert all(before[name] == files[name] for name in files if name != "index.html")
    page = files["index.html"].decode()
    addresses = re.findall(r' (?:href|src)="([^"#][^"]*)"', page)
    assert "<style>" in page
    assert [a for a in addresses if "://" not in a and not (lean / a).is_file()] == []
    assert len(re.findall("<figure ", page)) == len(re.findall('class="undrawn"', page)) + 1
    render_report(lean)
    assert {name: files for name, files in contents(lean).items() if name in before} == before


def test_the_slim_page_stays_under_300_kB_and_the_single_file_under_2_MB(folder, facts, results, verdicts, tmp_path):
    assert (folder / "index.html").stat().st_size < 300_000
    (page, *_) = write_report(tmp_path / "single", facts, results, verdicts, drawing=Drawing(single_file=True)).files
    assert page.stat().st_size < 2_000_000
    assert not (tmp_path / "assets").exists()


def test_figures_of_an_earlier_report_go_and_other_files_stay(small, tmp_path):
    facts, results, verdicts = small
    write_report(tmp_path, facts, results, verdicts)
    (tmp_path / "figures" / "mine.txt").write_text("kept")
    write_report(tmp_path, replace(facts, sections=facts.sections[:1]), results, [])
    names = {p.name for p in (tmp_path / "figures").iterdir()}
    assert "mine.txt" in names
    assert "figure-1.svg" in names
    assert "figure-2.svg" not in names


def test_a_png_is_drawn_on_demand_and_goes_with_the_next_report(small, tmp_path):
    facts, results, _ = small
    one_section = replace(facts, sections=facts.sections[:1])
    write_report(tmp_path, one_section, results, [], drawing=Drawing(png=True))
    assert (tmp_path / "figures" / "figure-1.png").read_bytes().startswith(b"\x89PNG")
    write_report(tmp_path, one_section, results, [])
    assert {path.suffix for path in (tmp_path / "figures").iterdir()} == {".svg", ".json", ".parquet", ".html"}


def test_a_script_that_no_page_reads_any_more_goes(small, tmp_path):
    facts, results, verdicts = small
    assets = tmp_path / "assets"
    assets.mkdir()
    for name in ("vega-0000.js", "vega-1111.js", "mine.png"):
        (assets / name).write_text("old")
    other = tmp_path / "other"
    other.mkdir()
    (other / "index.html").write_text('<script src="../assets/vega-1111.js"></script>')
    written = write_report(report_folder(tmp_path, "spec", None), facts, results, verdicts).files
    assert {p.name for p in assets.iterdir()} == {"vega-1111.js", "mine.png"} | {
        p.name for p in written if p.parent.name == "assets"
    }


def test_a_report_before_any_run_says_so(facts, results, tmp_path, golden):
    empty = {name: table.clear() for name, table in results.tables.items()}
    runs = results.runs.with_columns(pl.lit(None, pl.String).alias(c) for c in ("status", "device", "versions"))
    write_report(tmp_path, facts, Results(runs, results.axes, empty), [])
    page = (tmp_path / "index.html").read_text()
    golden(holding(page, "This report is"))
    golden(holding(page, "No claim was"))
    assert "There is no " not in page
    assert 'class="broken"' not in page


def test_a_folder_of_another_version_is_refused(small, tmp_path, golden):
    save_folder(tmp_path, *small)
    path = tmp_path / "data" / "experiment.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"colour": "red"}))
    with golden.raises(ReportError):
        render_report(tmp_path)


def test_a_file_that_cannot_be_written_leaves_the_old_one_and_no_temporary_one(tmp_path, monkeypatch):
    write_files(tmp_path, {"tables/a.csv": b"old"}, ())

    def refuse(path, flags=0):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("lnlab.folders.sync", refuse)
    with pytest.raises(ReportError, match="no space left"):
        write_files(tmp_path, {"tables/a.csv": b"new"}, ())
    assert contents(tmp_path) == {"tables/a.csv": b"old"}


def test_a_section_without_content_is_left_out_and_its_claim_stands_below(small, golden, tmp_path):
    facts, results, verdicts = small
    claim = verdicts[0].claim
    empty = {"kind": "spectral_density", "title": "The spectrum", "claims": [claim]}
    first, second = ({**each, "claims": []} for each in facts.sections)
    report = write_report(tmp_path, replace(facts, sections=(first, empty, second)), results, verdicts)
    (part,) = report.empty
    assert (part.number, part.title) == (2, "The spectrum")
    golden(part.section.finding)
    page = (tmp_path / "index.html").read_text()
    assert "There is no " not in page
    assert "The spectrum" not in page.partition('id="again"')[0]
    assert [f'id="part-{n}"' in page for n in (1, 2, 3)] == [True, True, False]
    assert page.index('id="verdicts"') < page.index('id="claim-1"') < page.index('id="part-2"')
    assert "There is no " not in (tmp_path / "notebook.ipynb").read_text()


def test_the_head_of_a_page_says_what_is_contradicted_also_if_it_is_not_primary(small, tmp_path):
    facts, results, (one, other) = small
    given = [replace(one, primary=True, verdict="supported"), replace(other, primary=False, verdict="contradicted")]
    write_report(tmp_path, facts, results, given)
    head, _, body = (tmp_path / "index.html").read_text().partition("</header>")
    assert "1 contradicted" in head
    assert re.search("1 supported.*1 contradicted", re.sub("<.*?>", "", body))


@pytest.mark.parametrize("name", ["experiment.json", "verdicts.parquet"])
def test_a_report_is_written_beside_a_pipe_that_nobody_writes_to(small, tmp_path, promptly, name):
    """Other reports of its folder are read, and this one would wait for ever: it is damaged as any other."""
    write_report(tmp_path / "other", replace(small[0], name="other"), *small[1:])
    (tmp_path / "other" / "data" / name).unlink()
    os.mkfifo(tmp_path / "other" / "data" / name)
    assert write_report(tmp_path / "report", *small).files
