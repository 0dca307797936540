"""Nothing that a spec, a claim, a plugin or an error says can become markup, script, style or address."""

import json
import re
import shutil
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import nbformat
import polars as pl
import pytest
from markdown_it import MarkdownIt
from playwright.sync_api import sync_playwright

from lnlab.errors import LabError
from lnlab.issues import Issue
from lnlab.printable import obeyed_character, printable
from lnlab.report.paper import write
from lnlab.report.section import sections
from lnlab.report.write import write_report
from lnlab.tables import Results
from tests.report.latex_reader import commands
from tests.support.golden import holding
from tests.support.report_folders import save_folder

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
STRINGS = json.loads(Path(__file__).with_name("hostile.json").read_text())
ADDRESS = (
    r"#[\w-]+|notebook\.ipynb|(data|figures|tables)/[\w.-]+|\.\./assets/vega-[0-9a-f]+\.js"
    r"|(\.\./)+index\.html(#question-[\w-]+)?|https://arxiv\.org/abs/\d{4}\.\d{4,5}"
)
URLS = {"src", "href", "action", "srcset", "data", "poster", "formaction", "background"}


class Parsed(HTMLParser):
    """Every element with the names of its attributes; every address; the texts of scripts and styles."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.elements, self.urls, self.inside = [], [], None
        self.texts = {"script": [], "style": []}
        self.attributes = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, tuple(name for name, _ in attrs)))
        self.attributes += [(tag, name, value) for name, value in attrs]
        self.urls += [value for name, value in attrs if name in URLS]
        self.inside = tag if tag in self.texts else None
        if self.inside:
            self.texts[tag].append("")

    def handle_endtag(self, tag):
        self.inside = None

    def handle_data(self, data):
        if self.inside:
            self.texts[self.inside][-1] += data


def breaks_loudly(results: Results, *, told: str) -> None:
    """``raise``: a section that breaks with whatever it is told."""
    raise ValueError(told)


def user_mistake(results: Results) -> None:
    """``raise``: a section that finds a mistake of the user."""
    raise LabError(Issue("unknown-name", "report.0.where", "no stack is called 'middle'", "known: decoder, encoder"))


@pytest.fixture(scope="module", autouse=True)
def two_more_sections():
    """Sections of a plugin, there for this file only."""
    for section in (breaks_loudly, user_mistake):
        sections.register(section.__name__)(section)
    yield
    for section in (breaks_loudly, user_mistake):
        del sections.entries[section.__name__]


def spoiled(strings, small, out, *, broken=True):
    """A report in which every text that a user, a plugin or an error can write is one of ``strings``.

    ``broken``: drawn, with sections that could not be made; else its tables alone.
    """
    facts, results, (verdict, _) = small
    take = iter(strings * 40)
    labels = {
        value: next(take) for value in results.axes.filter(pl.col("axis") == "placement")["label"].unique().sort()
    }
    axes = results.axes.with_columns(
        pl.when(pl.col("axis") == "placement")
        .then(pl.col("label").replace(labels))
        .otherwise(pl.col("label"))
        .alias("label")
    )
    failed = pl.col("seed") == 2
    runs = results.runs.with_columns(
        pl.when(failed).then(pl.lit("failed")).otherwise(pl.col("status")).alias("status"),
        pl.when(failed).then(pl.lit(next(take) or "x")).otherwise(pl.col("reason")).alias("reason"),
        pl.when(failed).then(pl.lit("odd " + next(take))).otherwise(pl.col("device")).alias("device"),
    )
    parts = [{**s, "title": "t" + next(take), "heading": "h" + next(take)} for s in facts.sections]
    parts.append({"kind": "translations", "title": "said", "sentences": 100})
    parts += [{"kind": "breaks_loudly", "told": "x" + text, "title": "t" + text} for text in strings if broken]
    verdicts = [
        replace(
            verdict,
            claim=f"claim{n} {text}",
            says="says " + text,
            reason="because " + text,
            scope="scope " + text,
            statistic="ratio " + text,
        )
        for n, text in enumerate(strings)
    ]
    dropped = [{"id": f"old {text}", "says": "said " + text, "was": "supported"} for text in strings]
    outdated = {v.claim: "contradicted" for v in verdicts} | {f"gone {text}": "supported" for text in strings}
    given = replace(
        facts,
        title="title " + next(take),
        question="question " + next(take),
        source={"cite": "cite " + next(take), "figure": "f " + next(take), "url": next(take)},
        differs=(
            *("differs " + text for text in strings),
            *({"what": "w " + text, "source": "s " + text, "ours": "o " + text, "matters": text} for text in strings),
        ),
        dropped=({"why": strings[0], "needs": strings[-1], "claims": dropped},),
        spec="\n".join(strings),
        path="specs/" + next(take),
        overrides=tuple("a=" + text for text in strings),
        plugins=("p" + next(take),),
        profile=None,
        sections=tuple(parts),
        answers=({"says": f"{{{verdicts[0].claim}}} " + " ".join(strings), "profile": None, "while": outdated},),
        because={v.claim: {v.verdict: "reason " + text} for v, text in zip(verdicts, strings, strict=True)},
        sources={v.claim: "source " + text for v, text in zip(verdicts, strings, strict=True)},
    )
    written = write_report if broken else save_folder
    written(out, given, Results(runs, axes, {**results.tables, "texts": texts_of(strings, results)}), verdicts)
    return out


def texts_of(strings, results):
    """One run that reads every string, should say it, and says it."""
    run, variant, seed = results.runs.select("run", "variant", "seed").row(0)
    at = {"run": run, "variant": variant, "seed": seed, "step": 0, "measurement": "m"}
    rows = [
        {**at, "quantity": word, "index": n, "text": word[0] * (n % 2) + text}
        for n, text in enumerate(strings)
        for word in ("source", "reference", "hypothesis")
    ]
    signature = {**at, "quantity": "signature", "text": strings[0]}
    return pl.DataFrame([*rows, signature], schema=results.tables["texts"].schema)


@pytest.fixture(scope="module")
def attacked(small, tmp_path_factory):
    return spoiled(STRINGS, small, tmp_path_factory.mktemp("attacked") / "report")


@pytest.fixture(scope="module")
def calm(small, tmp_path_factory):
    strings = [f"calm {n}" for n in range(len(STRINGS))]
    return spoiled(strings, small, tmp_path_factory.mktemp("calm") / "report")


def test_the_corpus_is_large_enough():
    assert len(set(STRINGS)) == len(STRINGS) >= 100


def test_no_string_adds_an_element_or_an_attribute(attacked, calm):
    evil, good = (Parsed((out / "index.html").read_text()) for out in (attacked, calm))
    assert evil.elements == good.elements


def test_no_string_reaches_a_script_or_a_style(attacked, calm):
    evil, good = (Parsed((out / "index.html").read_text()) for out in (attacked, calm))
    assert evil.texts["style"] == good.texts["style"]
    assert len(evil.texts["script"]) == len(good.texts["script"])
    for text in evil.texts["script"]:
        if text:
            assert not re.search(r"[<>&\u2028\u2029]", text), "data leaves JSON only through escapes"
            json.loads(text)


def test_every_address_of_the_page_is_a_file_beside_it(attacked, folder):
    for out in (attacked, folder):
        for url in Parsed((out / "index.html").read_text()).urls:
            assert re.fullmatch(ADDRESS, url)


def test_all_strings_are_readable_on_the_page(attacked):
    parsed = Text((attacked / "index.html").read_text())
    flat = " ".join(parsed.text.split())
    for text in STRINGS:
        visible = " ".join(printable(text).split())
        assert visible in flat


def test_no_character_that_a_terminal_or_a_browser_obeys_is_in_a_file_that_is_shown(attacked):
    texts = {path: path.read_text() for kind in ("html", "csv", "tex", "svg") for path in attacked.rglob(f"*.{kind}")}
    cells = nbformat.read(attacked / "notebook.ipynb", as_version=4).cells
    texts |= {f"cell {n}": cell.source for n, cell in enumerate(cells)}
    outputs = [
        (n, data) for n, cell in enumerate(cells) for output in cell.get("outputs", ()) for data in output.data.items()
    ]
    texts |= {f"output {n}, {kind}": text for n, (kind, text) in outputs}
    assert len(texts) > 100
    assert {str(name): found for name, text in texts.items() if (found := obeyed_character(text)) is not None} == {}


@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="needs a browser: chromium is not on PATH")
@pytest.mark.parametrize("obeys_policy", [True, False])
def test_a_browser_runs_none_of_them_and_asks_for_nothing_outside_even_without_the_policy(attacked, obeys_policy):
    ran, asked = [], []
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_context(offline=True, bypass_csp=not obeys_policy).new_page()
        page.on("dialog", lambda dialog: (ran.append(dialog.message), dialog.dismiss()))
        page.on("pageerror", lambda error: ran.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        for path in (attacked / "index.html", attacked / "figures" / "figure-1.html"):
            page.goto(path.as_uri())
            figures = page.locator("figure[data-spec]").count()
            assert figures
            page.wait_for_function(f"document.querySelectorAll('figure.is-live').length === {figures}", timeout=60_000)
            page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
        assert ran == []
        assert [url for url in asked if not url.startswith(attacked.parent.as_uri())] == []
        page.evaluate(
            "document.body.append(Object.assign(document.createElement('script'), {textContent: 'window.ran = 1'}))"
        )
        assert page.evaluate("window.ran") == (None if obeys_policy else 1), "the policy stops what escapes did not"
        browser.close()


class Text(HTMLParser):
    def __init__(self, page):
        super().__init__()
        self.text = ""
        self.feed(page)

    def handle_data(self, data):
        self.text += data


def assert_only_drawn(svg):
    """Elements that draw or name, and no handler, address or script."""
    plain = {"svg", "g", "path", "text", "rect", "line", "circle", "defs", "clipPath", "title", "desc", "tspan"}
    for element in ElementTree.fromstring(svg).iter():
        assert element.tag.removeprefix("{http://www.w3.org/2000/svg}") in plain
        for name, value in element.attrib.items():
            assert not name.startswith("on")
            assert "href" not in name
            assert "javascript:" not in value or name in ("aria-label", "aria-description")


def test_svg_files_hold_drawings_only(attacked):
    paths = sorted((attacked / "figures").glob("*.svg"))
    assert paths
    for path in paths:
        assert_only_drawn(path.read_text())


def test_no_string_is_a_command_of_latex(attacked, calm):
    tables = sorted(path.name for path in (calm / "tables").glob("*.tex"))
    assert tables == ["table-1.tex", "verdicts.tex"]
    for name in tables:
        evil, good = (list(commands((out / "tables" / name).read_text())) for out in (attacked, calm))
        assert evil == good, name


def test_no_string_is_a_command_of_a_paper(small, tmp_path, monkeypatch):
    monkeypatch.setattr(write, "drawn_pdf", lambda *_, **__: (b"", 234.0))  # figures are another test's
    papers = []
    for name, strings in (("attacked", STRINGS), ("calm", [f"calm {n}" for n in range(len(STRINGS))])):
        out = spoiled(strings, small, tmp_path / name, broken=False)
        write.write_paper([out], tmp_path / f"{name}_paper")
        papers.append(tmp_path / f"{name}_paper")
    evil, good = ({path.name: path for path in paper.glob("*.tex")} for paper in papers)
    assert set(evil) == set(good)
    assert {"article.tex", "xiong_fig3-numbers.tex", "xiong_fig3-verdicts.tex", "xiong_fig3-figure-1.tex"} <= set(good)
    for name, path in good.items():
        assert list(commands(evil[name].read_text())) == list(commands(path.read_text())), name


def elements(markdown):
    """The elements that another reader of Markdown makes of a cell, and the addresses of links and images."""
    parsed = Parsed(MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).render(markdown))
    return parsed.elements, parsed.urls


def test_no_string_adds_to_a_cell_of_the_notebook(attacked, calm):
    evil, good = (nbformat.read(out / "notebook.ipynb", as_version=4).cells for out in (attacked, calm))
    assert [cell.cell_type for cell in evil] == [cell.cell_type for cell in good]
    assert sum(cell.cell_type == "markdown" for cell in good) > len(STRINGS), "a cell for each broken section"
    for cell, other in zip(evil, good, strict=True):
        if cell.cell_type == "markdown":
            assert elements(cell.source) == elements(other.source)
        else:
            assert cell.source == other.source


def test_outputs_of_the_notebook_are_plain_text_and_drawings_only(attacked):
    cells = nbformat.read(attacked / "notebook.ipynb", as_version=4).cells
    outputs = [output.data for cell in cells if cell.cell_type == "code" for output in cell.outputs]
    assert {kind for data in outputs for kind in data} == {"text/plain", "image/svg+xml"}
    for data in outputs:
        if "image/svg+xml" in data:
            assert_only_drawn(data["image/svg+xml"])


def test_a_cell_that_a_spreadsheet_would_run_is_text(attacked):
    for path in sorted((attacked / "tables").glob("*.csv")):
        for row in pl.read_csv(path, infer_schema_length=0).iter_rows():
            for cell in row:
                assert cell is None or not cell.startswith(("=", "@", "+")), (path.name, cell)


def test_a_broken_section_is_a_box_with_its_reason_and_the_others_stand(small, tmp_path, golden):
    facts, results, verdicts = small
    broken = (
        {"kind": "breaks_loudly", "told": "the reason\nand a second line"},
        {"kind": "user_mistake"},
        {"kind": "depht"},
    )
    write_report(tmp_path, replace(facts, sections=(*broken, *facts.sections)), results, verdicts)
    page = (tmp_path / "index.html").read_text()
    assert page.count('<p class="broken"') == 3
    assert "ValueError: the reason</p>" in page
    assert "second line" not in page
    golden(holding(page, "report.0.where: no stack"))
    golden(holding(page, "no section is"))
    assert page.count('data-spec="figure-') == 2, "both sections"
