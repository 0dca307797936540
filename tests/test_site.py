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
    shown = SITE["claim_and_verdict"]()
    assert yaml.YAML(typ="safe").load(shown["claim"].split("```")[1].removeprefix("yaml"))["says"] == verdict.says
    assert f"{verdict.estimate:.1f}" in shown["verdict"]
    assert f"<td>{verdict.n}</td>" in shown["verdict"]


def test_a_command_of_a_guide_stands_with_what_it_prints():
    text = SITE["with_outputs"]("before\n\n```sh\nlnlab check tokens.yaml    # all mistakes\n```\n\nbehind\n")
    assert text.startswith(
        "before\n\n```console\n$ lnlab check tokens.yaml    # all mistakes\ntokens.yaml: default: ok: "
    )
    assert text.endswith("\n```\n\nbehind\n")
    with pytest.raises(SystemExit, match=r"check no.yaml: exit code 2\n.*there is no such file"):
        SITE["with_outputs"]("```sh\nlnlab check no.yaml\n```")


def test_a_notebook_is_a_page_with_the_outputs_that_it_holds(tmp_path):
    place = ROOT / "docs" / "examples" / "door_spec.ipynb"
    page = SITE["notebook_page"](place, tmp_path)
    assert page.index("# Run a spec") < page.index("done.plot(") < page.index("<svg") < page.index("done.report(")
    assert "</a>" not in page, "a link to what the notebook wrote would lead nowhere"
    link = SITE["with_site_links"]("[a spec](examples/door_spec.ipynb)", ROOT / "docs" / "reading_results.md", tmp_path)
    assert link == "[a spec](docs/examples/door_spec.md)"
    assert (tmp_path / "docs" / "examples" / "door_spec.md").is_file()


def test_the_figure_of_the_home_page_has_letters_of_full_size_in_a_column():
    svg = SITE["shown_figure"]()
    assert float(re.search(r'<svg[^>]* width="([\d.]+)"', svg)[1]) <= 400
    assert svg.count(">at initialization<") == 2
