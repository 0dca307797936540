"""The documentation site: its links lead to pages of the site, and code stays as it is."""

import re
import runpy
import shutil
from pathlib import Path

import pytest
from ruamel import yaml

from lnlab.report.folder import read_folder

pytest.importorskip("sphinx", reason="needs the extra docs: make site")
ROOT = Path(__file__).parents[1]
SITE = runpy.run_path(str(ROOT / "docs" / "site" / "build.py"))


@pytest.mark.parametrize(
    ("text", "led"),
    [
        ("[judging](judging.md#looks)", "[judging](judging.md#looks)"),
        ("[`lnlab.Recorder`](record_your_training.md)", "[`lnlab.Recorder`](record_your_training.md)"),
        ("[all](../reports/index.html)", "[all](gallery.md)"),
        ("[one](../reports/xiong_fig3/real/index.html)", "[one](reports:xiong_fig3/real/index.html)"),
        ("[web](https://example.org)", "[web](https://example.org)"),
        # code is no link
        ("write `[all](../reports/index.html)` there", "write `[all](../reports/index.html)` there"),
        ("``a ` [x](judging.md)`` [y](../reports/index.html)", "``a ` [x](judging.md)`` [y](gallery.md)"),
        ("```md\n[all](../reports/index.html)\n```", "```md\n[all](../reports/index.html)\n```"),
        ("`a` [all](../reports/index.html) `b`", "`a` [all](gallery.md) `b`"),
    ],
)
def test_links_lead_to_the_site_and_code_stays(text, led, tmp_path):
    assert SITE["with_site_links"](text, ROOT / "docs" / "judging.md", tmp_path) == led


def test_a_page_of_a_report_names_its_picture_by_the_whole_address(tmp_path):
    page = tmp_path / "reports" / "xiong_fig3" / "real" / "index.html"
    shutil.copytree(ROOT / "reports" / "xiong_fig3" / "real" / "figures", page.parent / "figures")
    page.write_text((ROOT / "reports" / "xiong_fig3" / "real" / "index.html").read_text())
    SITE["write_cards"](tmp_path, "https://example.org/a&b")
    (image,) = re.findall('<meta property="og:image" content="([^"]*)">', page.read_text())
    assert image == "https://example.org/a&amp;b/reports/xiong_fig3/real/card.png"
    assert page.with_name("card.png").read_bytes().startswith(b"\x89PNG")


def test_the_home_page_shows_a_claim_and_the_verdict_of_its_report():
    _, _, verdicts = read_folder(ROOT / "reports" / "xiong_fig3" / "real")
    verdict = next(verdict for verdict in verdicts if verdict.claim == "post_grows")
    text = SITE["claim_and_verdict"]()
    assert yaml.YAML(typ="safe").load(text.split("```")[1].removeprefix("yaml"))["says"] == verdict.says
    assert f"{verdict.estimate:.1f}" in text
    assert f"<td>{verdict.n}</td>" in text
