"""The documentation site: its links lead to pages of the site, and code stays as it is."""

import runpy
from pathlib import Path

import pytest

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
