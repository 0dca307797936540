"""Questions of a new user, from spec to first screen: the page answers, and nothing on it is called a paper's."""

import re
import shutil
from pathlib import Path

import pytest

SPECS = sorted((Path(__file__).parents[1] / "fixtures" / "own").glob("*.yaml"))
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
SCREENS = ((1280, 900), (400, 850))
FOREIGN = re.compile(r"\b(published|our predictions|claims of the source|the paper)\b", re.IGNORECASE)
ANSWERS = {
    "no_report": r"Undecided: “In Post-LN the gradient of W2 grows over the decoder”\.$",
    "norms_at_init": r"Undecided: “In the last layer the two gradients are alike”; the ratio is [\d.]+\. Supported: “",
    "rates_of_a_classifier": None,  # it has no claim
    "spectra": r"Undecided: “The largest eigenvalue is smaller .*”; the ratio is [\d.]+\.$",
    "warmup_on_my_text": r"Contradicted: “Warm-up ends with a lower loss”; the difference is [\d.]+\.$",
}


pytestmark = pytest.mark.nightly  # six pages from spec to browser: each part of them has tests of its own


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """The five pages, each drawn from its run."""
    folder = tmp_path_factory.mktemp("own")
    shutil.copytree(SPECS[0].parent, folder, dirs_exist_ok=True)
    from lnlab.cli import main

    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("LNLAB_STORE", str(folder / "store"))
        for spec in SPECS:
            assert main(["check", spec.name]) == 0
            assert main(["run", spec.name, "--quiet", "-w", "1"]) == 0
            assert main(["report", spec.name]) == 0
    return {spec.stem: folder / "reports" / spec.stem / "index.html" for spec in SPECS}


def text_of(page):
    """What a page says, without its spec, styles and scripts."""
    html = page.read_text().partition('id="again"')[0]
    html = re.sub(r"<(style|script)\b.*?</\1>", " ", html, flags=re.DOTALL)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", "", html))


@pytest.mark.parametrize("name", ANSWERS)
def test_the_page_answers_and_speaks_of_no_paper(pages, name):
    html = pages[name].read_text()
    lines = re.findall(r'<p class="line">(.*?)</p>', html, re.DOTALL)
    assert len(lines) == (0 if ANSWERS[name] is None else 1)
    for line in lines:
        text = re.sub(r"<[^>]*>", "", line)
        assert re.match(ANSWERS[name], text), text
        assert len(text.split()) <= 40
    assert FOREIGN.findall(text_of(pages[name])) == []
    assert 'class="broken"' not in html
    assert "All questions" not in html  # there is no index that it could lead to


@pytest.mark.skipif(CHROMIUM is None, reason="needs a browser: chromium is not on PATH")
def test_the_first_screen_shows_the_answer_and_a_figure_or_a_table(pages):
    sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright")
    with sync_api.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page()
        for name, path in pages.items():
            page.goto(path.as_uri())
            for width, height in SCREENS:
                page.set_viewport_size({"width": width, "height": height})
                answer = page.locator(".answer .line").bounding_box()
                drawn = page.locator(".hero figure .plate, .hero .matrix table").first.bounding_box()
                assert answer["y"] + answer["height"] <= height, (name, width)
                assert drawn["y"] + 100 <= height, (name, width)
                assert page.evaluate("document.documentElement.scrollWidth") <= width, (name, width)
        browser.close()
