"""The page as a browser shows it: silent, self-contained, accessible, and as wide as the screen and no wider."""

import json
import shutil
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import polars as pl
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import sync_playwright

from lnlab.catalogue import REGISTRIES
from lnlab.execute.model_graphs import model_graphs
from lnlab.report.charts import axes, line_charts
from lnlab.report.charts.end_names import end_names
from lnlab.report.charts.render import vega_bundle
from lnlab.report.drawing import Drawing
from lnlab.report.registries import FRAME_REGISTRIES
from lnlab.report.theme import series_style
from lnlab.report.write import write_report

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="needs a browser: chromium is not on PATH"),
]
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
SCREENS = [
    pytest.param(1280, "light", id="wide"),
    pytest.param(390, "dark", id="narrow-dark"),
    pytest.param(390, "light", id="narrow", marks=pytest.mark.torture),
    pytest.param(1280, "dark", id="dark", marks=pytest.mark.torture),
]
"""Colours depend on the scheme alone and places on the width alone: two screens show both of each."""
WITHOUT_ALIKE = """() => {
  const said = a => ['class', 'style', 'fill'].includes(a.name) ? `${a.name}=${a.value}` : a.name;
  const shape = e => `${e.tagName}[${[...e.attributes].map(said)}](${[...e.children].map(shape)})`;
  for (const parent of document.querySelectorAll('body *')) {
    const seen = {};
    for (const child of [...parent.children]) {
      const one = shape(child);
      seen[one] = (seen[one] || 0) + 1;
      if (seen[one] > 2) child.remove();
    }
  }
}"""
"""Of siblings with equal elements, attributes and colours, as rows of a table, a page keeps two."""


@pytest.fixture(scope="module")
def browser():
    with sync_playwright() as play:
        started = play.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield started
        started.close()


@pytest.fixture(scope="module")
def tabs(browser):
    """``tabs(script)``: a tab for all pages with or without a script; what its console said, and what was asked for.

    One tab reads the script of a page once, and a second tab is a second process.
    """
    opened = {}

    def tab(script):
        if script not in opened:
            page, said, asked = browser.new_context(java_script_enabled=script, offline=True).new_page(), [], []
            page.on("console", lambda message: said.append(message.text))
            page.on("pageerror", lambda error: said.append(str(error)))
            page.on("dialog", lambda dialog: (said.append(dialog.message), dialog.dismiss()))
            page.on("request", lambda request: asked.append(request.url))
            opened[script] = page, said, asked
        return opened[script]

    yield tab
    for page, _, _ in opened.values():
        page.context.close()


@pytest.fixture
def visit(tabs):
    """Open a page; give it back with what the console said and every address that was asked for."""

    def visit(path, width=1280, scheme="light", *, script=True):
        page, said, asked = tabs(script)
        page.goto("about:blank")
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(media="screen", color_scheme=scheme)
        said.clear()
        asked.clear()
        page.goto(path.as_uri())
        if script:
            figures = page.locator("figure[data-spec]").count()
            count = "document.querySelectorAll('figure.is-live').length"
            page.wait_for_function(f"{count} === {figures}", timeout=20_000, polling=50)
        return page, said, asked

    return visit


def violations(page):
    """What axe finds. What is alike is taken off the page first: axe would spend most of its time there.

    Axe would fetch the style sheet again, which the page forbids.
    """
    page.evaluate(WITHOUT_ALIKE)
    report = Axe().run(page, options={"resultTypes": ["violations"], "preload": False})
    return [(v["impact"], v["id"], v["nodes"][0]["html"]) for v in report.response["violations"]]


def serious(page):
    """Those that keep somebody from reading."""
    return [found for found in violations(page) if found[0] in ("serious", "critical")]


@pytest.mark.parametrize(("width", "scheme"), SCREENS)
def test_the_slim_page_is_silent_live_accessible_and_fits(visit, folder, width, scheme):
    page, said, asked = visit(folder / "index.html", width, scheme)
    assert said == []
    assert all(url.startswith(folder.parent.as_uri()) for url in asked)
    assert page.locator("figure .live svg").count() == 6
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert page.evaluate("document.documentElement.scrollWidth") <= width, "every folded part fits, too"
    assert serious(page) == []


@pytest.fixture(scope="module")
def panels(tmp_path_factory, facts, methods):
    """A page with one figure of five small panels."""
    out = tmp_path_factory.mktemp("reports") / "zoo"
    where = {"stack": "decoder", "tensor": "w2"}
    section = {"kind": "small_multiples", "quantity": "gradient_norm", "where": where}
    section |= {"panels": "model.layers", "lines": "method"}
    write_report(out, replace(facts, sections=(section,)), methods, [])
    return out


@pytest.mark.parametrize(("width", "columns"), [(1280, 5), (700, 3), (390, 2)])
def test_small_panels_wrap_to_the_page_and_stay_readable(visit, panels, width, columns):
    page, said, _ = visit(panels / "index.html", width)
    assert said == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    axes = page.locator("figure .live svg text", has_text="first")
    places = axes.evaluate_all("all => all.map(t => Math.round(t.getBoundingClientRect().x))")
    assert len(set(places)) == columns
    assert len(places) == 5, "an axis below each panel and nowhere else, as the last row has room for another"
    sizes = page.locator("figure .live svg text").evaluate_all("all => all.map(t => t.getBoundingClientRect().height)")
    assert min(size for size in sizes if size) >= 8
    assert (
        page.locator("figure .live svg").bounding_box()["width"] > 0.9 * page.locator("figure").bounding_box()["width"]
    )


@pytest.fixture(scope="module")
def whole(tmp_path_factory, facts, methods):
    """A page with a model that is drawn whole, and its sublayers opened."""
    out = tmp_path_factory.mktemp("reports") / "whole"
    known = {**REGISTRIES, **FRAME_REGISTRIES}
    stack = {
        "layers": 6,
        **{kind: known[kind].resolve(word) for kind, word in (("norm", "layer"), ("attention", "softmax"))},
        "placement": known["placement"].resolve("deepnorm"),
    }
    setting = {
        "task": known["task"].resolve({"kind": "random_tokens", "vocabulary": 8000}),
        "model": known["model"].resolve({"kind": "encoder_decoder", "d_model": 512, "heads": 8, "d_ff": 2048}),
        "encoder": stack,
        "decoder": {**stack, "cross_attention": True},
        "init": known["init"].resolve("xavier_normal"),
    }
    section = {"kind": "architecture"}
    models = model_graphs([section], [(setting, {})], known)
    write_report(out, replace(facts, sections=(section,), models=models), methods, [])
    return out


@pytest.mark.parametrize(("width", "scheme"), SCREENS)
def test_a_whole_model_is_readable_and_accessible_on_every_screen(visit, whole, width, scheme):
    page, said, _ = visit(whole / "index.html", width, scheme)
    assert said == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator("figure .live svg").count() == 2
    texts = page.locator("figure .live svg text")
    sizes = texts.evaluate_all("all => all.map(t => t.getBoundingClientRect().height)")
    assert min(size for size in sizes if size) >= 8
    within = texts.evaluate_all(
        "all => all.every(t => { const s = t.closest('svg').getBoundingClientRect(), b = t.getBoundingClientRect();"
        " return b.left >= s.left - 1 && b.right <= s.right + 1; })"
    )
    assert within, "no text is cut off by the edge of the drawing"
    described = page.locator("figure .live svg").evaluate_all("all => all.map(s => s.outerHTML)")
    assert all("cross-attention" in text for text in described[:1])
    assert serious(page) == []


@pytest.mark.parametrize("start", [1280, 360], ids=["made-narrower", "loaded-narrow"])
@pytest.mark.parametrize("long", [False, True], ids=["short", "wider-than-the-screen"])
def test_no_name_of_a_legend_is_cut_off_by_the_edge(alone, start, long):
    """Three series of 20 letters stand side by side on a wide page, and below each other on a phone."""
    name = "learning rate 0.0001 with " + "many words " * 8 if long else "learning rate 0.00"
    names = [f"{name}{n:02}" for n in (1, 2, 3)]
    style = series_style(names, range(3))
    x, y = (axes.linear_axis(word, [0.0, 3.0]) for word in "xy")
    rows = [
        {"series": s, "line": k, "x": n, "estimate": n + k, "low": n, "high": n + k, "n": 5}
        for k, s in enumerate(names)
        for n in (1, 2, 3)
    ]
    page = alone(line_charts.lines_chart([], x, y, style) | {"datasets": {"points": rows}}, start)
    for width in (360, 400):
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_timeout(900)
        beyond = page.evaluate(
            """() => {
              const edge = document.querySelector('.live svg').getBoundingClientRect().right;
              const texts = [...document.querySelectorAll('.live .role-legend-label text')];
              return texts.map(t => t.getBoundingClientRect().right - edge);
            }"""
        )
        assert len(beyond) == 3
        assert max(beyond) <= 0
    assert page.get_by_role("button", name="Save as SVG").count() == 1


@pytest.mark.parametrize("width", [1280, 400, 360])
def test_names_at_the_ends_of_lines_neither_overlap_nor_leave_the_page(alone, width):
    ends = {"Post-LN": 5.7, "Clipping": 5.7, "AdamW, cosine": 5.69, "Short warm-up": 4.4, "RAdam": 3.8, "T-Fixup": 3.1}
    style = series_style(list(ends), range(6))
    x, y = axes.linear_axis("x", [0.0, 3.0]), axes.linear_axis("y", [3.0, 6.0])
    rows = [
        {"series": s, "line": k, "x": float(n), "estimate": end, "low": end, "high": end, "n": 5}
        for k, (s, end) in enumerate(ends.items())
        for n in (1, 2, 3)
    ]
    names = end_names(pl.DataFrame(rows), style, x, y)
    spec = line_charts.lines_chart([], x, y, style, names=names)
    spec["datasets"]["points"] = rows
    page = alone(spec, width)
    words = page.locator(".live svg .mark-text.role-mark text").evaluate_all(
        "all => all.map(t => t.getBoundingClientRect()).map(r => [r.left, r.right, r.top, r.bottom])"
    )
    assert len(words) == 6
    tops = sorted((top, bottom) for _, _, top, bottom in words)
    assert all(bottom <= top + 3 for (_, bottom), (top, _) in pairwise(tops))  # boxes of letters have some air
    place = page.locator(".live").bounding_box()
    assert max(right for _, right, _, _ in words) <= place["x"] + place["width"]
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator(".role-legend").count() == 0


@pytest.mark.parametrize(("width", "lines"), [(1280, 1), (390, 2)])
def test_a_long_title_of_an_axis_stands_in_two_lines_on_a_phone(alone, width, lines):
    title = "median update entry over the learning rate |ΔW|/η, of the learning rate (log scale)"
    x, y = axes.linear_axis("x", [0.0, 3.0]), replace(axes.logarithmic_axis("y", [1.0, 10.0]), title=title)
    rows = [{"series": "s", "line": 0, "x": 1.0, "estimate": 2.0, "low": 1.5, "high": 3.0, "n": 5}]
    spec = line_charts.lines_chart([], x, y, series_style(["s"], [0])) | {"datasets": {"points": rows}}
    theme = json.dumps(spec.pop("config"))
    page = alone(spec, width, theme)
    texts = page.locator(".role-axis-title text", has_text="median").first
    assert max(1, texts.locator("tspan").count()) == lines
    box = texts.bounding_box()
    assert box["x"] + box["width"] <= width
    assert box["y"] >= page.locator(".live svg").bounding_box()["y"] - 1


@pytest.mark.parametrize("width", [1280, 900, 390])
def test_title_question_and_answer_stand_one_below_the_other_before_the_figure(visit, folder, width):
    """Also where the figure takes the whole width, so that it stands below."""
    page, _, _ = visit(folder / "index.html", width)
    for beside in ("true", "false"):
        page.evaluate(f"document.querySelector('.first').classList.toggle('beside', {beside})")
        stand_one_below_the_other(page)


def stand_one_below_the_other(page):
    title, question, answer, hero = (page.locator(n).bounding_box() for n in ("h1", ".question", ".answer", ".hero"))
    assert title["x"] == question["x"] == answer["x"]
    for upper, lower in pairwise((title, question, answer)):
        assert upper["y"] + upper["height"] <= lower["y"]
    assert hero["y"] >= answer["y"] + answer["height"] or hero["x"] >= answer["x"] + answer["width"]
    assert answer["y"] + answer["height"] < 900, "on the first screen"


def test_on_a_phone_the_first_figure_follows_its_heading(visit, folder):
    page, _, _ = visit(folder / "index.html", 390)
    heading, figure, below = (page.locator(f".hero > {name}").bounding_box() for name in ("h2", "figure", ".tested"))
    assert heading["y"] + heading["height"] <= figure["y"] < heading["y"] + heading["height"] + 20
    assert below["y"] >= figure["y"] + figure["height"]
    assert not page.locator(".hero > .kicker").is_visible(), "it would read as a title of what stands below the figure"


def test_the_single_file_asks_for_nothing_at_all(visit, small, tmp_path):
    write_report(tmp_path / "made", *small, drawing=Drawing(single_file=True))
    moved = tmp_path / "alone.html"
    shutil.move(tmp_path / "made" / "index.html", moved)
    page, said, asked = visit(moved)
    assert said == []
    assert [url for url in asked if not url.startswith("data:")] == [moved.as_uri()]
    assert page.locator("figure .live svg").count() == 2


def test_without_a_script_the_drawings_are_there(visit, folder):
    page, said, _ = visit(folder / "index.html", script=False)
    images = page.locator("figure img")
    assert images.count() == 6
    for n in range(6):
        assert images.nth(n).is_visible()
        assert images.nth(n).bounding_box()["width"] > 440
    assert said == []


def test_in_print_the_drawings_and_the_folded_tables_are_there(visit, folder):
    page, _, _ = visit(folder / "index.html")
    page.emulate_media(media="print")
    assert page.locator("figure img").first.is_visible()
    assert not page.locator("figure .live").first.is_visible()
    assert page.locator("figure details table").first.is_visible()


def test_a_point_tells_its_numbers(visit, folder):
    page, said, _ = visit(folder / "index.html")
    page.locator("#figure-1 .mark-symbol path").first.hover(force=True)
    tip = page.locator("#vg-tooltip-element.visible")
    tip.wait_for(timeout=5_000)
    assert "estimate" in tip.inner_text()
    assert said == []


def test_every_live_figure_is_saved_as_svg_by_keyboard_and_without_a_network(visit, folder):
    page, said, _ = visit(folder / "index.html")
    live = page.locator("figure.is-live")
    buttons = live.get_by_role("button", name="Save as SVG")
    assert buttons.count() == live.count() > 0
    buttons.nth(1).focus()
    with page.expect_download() as started:
        page.keyboard.press("Enter")
    saved = started.value
    assert saved.suggested_filename == f"{live.nth(1).get_attribute('id')}.svg"
    drawing = ElementTree.fromstring(Path(saved.path()).read_text())
    assert drawing.tag == "{http://www.w3.org/2000/svg}svg"
    shown = live.nth(1).locator("svg text").all_inner_texts()
    assert {text for text in shown if text} <= {
        "".join(node.itertext()) for node in drawing.iter() if "text" in node.tag
    }
    assert said == []


def test_a_figure_alone_is_live_and_leads_to_its_page(visit, folder):
    for number in (1, 6):
        page, said, asked = visit(folder / "figures" / f"figure-{number}.html", width=500)
        assert page.locator("figure.is-live").count() == 1
        assert said == []
        assert all(url.startswith(folder.parent.as_uri()) for url in asked)
        assert page.evaluate("document.documentElement.scrollWidth") <= 500
    source = json.loads((folder / "figures" / "figure-1.vl.json").read_text())
    assert all(source["datasets"].values()), "no data set is empty"
    assert "config" in source
    page.locator("p.paper a").first.click()
    assert page.url == (folder / "index.html").as_uri()


def test_a_link_to_what_is_folded_opens_it(visit, folder):
    page, _, _ = visit(folder / "index.html")
    for folded in ("methods", "claim-1"):
        page.evaluate("target => { location.hash = target }", folded)
        page.wait_for_function("target => document.querySelector(`#${target}[open], #${target} > [open]`)", arg=folded)
    page, _, _ = visit(folder / "index.html")
    page.evaluate("location.hash = 'quantity-1'")
    page.wait_for_function("document.querySelector('#methods[open] #quantity-1')?.checkVisibility()")


def test_a_link_to_a_claim_within_a_fold_opens_both(visit, small, tmp_path):
    facts, results, verdicts = small
    graph = {
        "kind": "causal_graph",
        "nodes": {"a": {"label": "A", "at": [0, 0]}, "b": {"label": "B", "at": [1, 0]}},
        "edges": [{"arrow": ["a", "b"], "observed": "seen", "cut": verdicts[0].claim}],
        "claims": ["seen"],
    }
    cited = replace(verdicts[1], claim="seen", kind="cited")
    asked = replace(facts, sections=(*facts.sections, graph))
    page, said, _ = visit(write_report(tmp_path / "graph", asked, results, [*verdicts, cited]).files[0])
    claim = page.locator("#claim-3")
    assert not claim.is_visible()
    page.evaluate("location.hash = 'claim-3'")
    page.wait_for_function("document.querySelector('#claim-3 > [open]')?.checkVisibility()")
    assert claim.is_visible()
    assert said == []


@pytest.fixture
def alone(visit, tmp_path):
    """Open a page of one drawing, without the style of a report; what the console said is nothing."""

    def alone(spec, width, theme="{}"):
        script = vega_bundle((Path(__file__).parents[2] / "templates" / "page.js").read_text(encoding="utf-8"))
        drawing = json.dumps(spec).replace("<", "\\u003c")
        (tmp_path / "page.html").write_text(
            "<!doctype html><meta charset=utf-8><body><figure id=f style='margin:0' data-spec=s><div><div class=live>"
            f"</div></div><figcaption>lines</figcaption></figure><script type=application/json id=theme>{theme}"
            f"</script><script type=application/json id=s>{drawing}</script><script type=module>{script}</script>",
            encoding="utf-8",
        )
        page, said, _ = visit(tmp_path / "page.html", width)
        assert said == []
        return page

    return alone
