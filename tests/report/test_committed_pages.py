"""Every committed page in a browser: silent, self-contained, accessible, its answer at a glance, as wide as a phone."""

import pytest

from tests.report.committed import PAGES, marks_of
from tests.report.test_browser import CHROMIUM, browser, violations

SCREEN, PHONE = {"width": 1400, "height": 900}, {"width": 400, "height": 900}
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="needs a browser: chromium is not on PATH"),
]
assert browser


@pytest.fixture(scope="module")
def tab(browser):
    """One tab for all pages, with what its console said and every address that was asked for."""
    context = browser.new_context(offline=True)
    page, said, asked = context.new_page(), [], []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    yield page, said, asked
    context.close()


def width(page):
    return page.evaluate("document.documentElement.scrollWidth")


@pytest.mark.parametrize(
    ("path", "scheme"),
    [
        pytest.param(path, ("light", "dark")[place % 2], id=path.parts[-3], marks=marks_of(path))
        for place, path in enumerate(PAGES)
    ],
)
def test_a_committed_page(tab, path, scheme):
    """Light and dark by turns: they differ in colours alone, which all pages share."""
    page, said, asked = tab
    said.clear()
    asked.clear()
    page.goto("about:blank")
    page.set_viewport_size(PHONE)
    page.emulate_media(color_scheme=scheme)
    page.goto(path.as_uri())
    figures = page.locator("figure[data-spec]").count()
    page.wait_for_function(
        f"document.querySelectorAll('figure.is-live').length === {figures}", timeout=60_000, polling=50
    )
    assert width(page) <= PHONE["width"]
    page.set_viewport_size(SCREEN)
    answer = page.get_by_role("region", name="Answer", exact=True).bounding_box()
    assert answer["y"] + answer["height"] < SCREEN["height"], "the whole answer is on the first screen"
    page.set_viewport_size(PHONE)  # before the figures are drawn anew for the wide screen
    open_first_claim_by_keyboard(page)
    page.evaluate("document.querySelectorAll('details').forEach(folded => folded.open = true)")
    assert width(page) <= PHONE["width"]
    assert violations(page) == []
    assert said == []
    assert [url for url in asked if not url.startswith(path.parents[2].as_uri())] == []


def open_first_claim_by_keyboard(page):
    """Tab reaches the first claim through nothing but what can be seen, and Enter opens it."""
    focused = "document.activeElement.matches('.claim > summary')"
    seen = "document.activeElement.getClientRects().length > 0"
    for _ in range(page.locator("a, summary, [tabindex]").count()):
        page.keyboard.press("Tab")
        assert page.evaluate(seen)
        if page.evaluate(focused):
            break
    page.keyboard.press("Enter")
    assert page.locator(".claim[open]").count() == 1
