"""The sections of training on one page: in a browser, wide and narrow, and in the notebook's own words."""

import contextlib
import json

import polars as pl
import pytest

from lnlab.report.write import write_report
from lnlab.select.quantity import SITE, STATE, quantities
from lnlab.tables import table_schema
from tests.report.test_browser import CHROMIUM, browser, serious, tabs, visit

assert browser
assert tabs
assert visit
SECTIONS = (
    {"kind": "curves", "quantity": "loss", "inset": True},
    {"kind": "curves", "quantity": "nll", "x": "epoch", "where": {"placement": "pre"}},
    {"kind": "basin", "quantity": "toy_last"},
    {"kind": "histogram", "quantity": "gradient_size"},
    {"kind": "outcomes", "numbers": ["toy_last"]},
)


def last(results):
    """The last nll of each run."""
    rows = results.tables["curves"].filter(pl.col("quantity") == "nll").sort("step").unique("run", keep="last")
    sites = [pl.lit(None, table_schema("sites")[column]).alias(column) for column in SITE]
    return rows.sort("run").select(*STATE, pl.lit("toy_last").alias("quantity"), *sites, "value")


@pytest.fixture(scope="module")
def page(trained, facts_of, tmp_path_factory):
    quantities.register("toy_last", of=("nll",))(last)
    runs = trained(bins=(1, 10, 50), missing=lambda placement, lr, seed: placement == "pre" and seed == 5)
    out = tmp_path_factory.mktemp("reports") / "training"
    yield write_report(out, facts_of(sections=SECTIONS), runs, []).files[0]
    del quantities.entries["toy_last"]


@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="needs a browser: chromium is not on PATH")
@pytest.mark.parametrize("width", [1280, 390])
def test_every_figure_is_live_silent_accessible_and_as_wide_as_its_place(visit, page, width):
    shown, said, _ = visit(page, width)
    assert shown.locator("figure.is-live").count() == 4
    assert said == []
    assert shown.evaluate("document.documentElement.scrollWidth") <= width
    for n in range(1, 5):
        figure, drawn = (
            shown.locator(f"#figure-{n}{rest}").bounding_box()["width"] for rest in (" .plate", " .live svg")
        )
        assert 0.88 * figure < drawn <= 1.04 * figure
    assert serious(shown) == []


@pytest.mark.nightly
def test_the_notebook_draws_the_points_of_the_tables(page):
    cells = json.loads((page.parent / "notebook.ipynb").read_text())["cells"]
    sources = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    with contextlib.chdir(page.parent):
        for number, source in enumerate((s for s in sources[1:] if "drawing(" in s), 1):
            names = {}
            exec(sources[0] + "\n" + source, names)
            kept = pl.read_csv(page.parent / "tables" / f"figure-{number}.csv")
            found = names["points"]
            for column, heading in zip(("estimate", "low", "high", "n"), kept.columns[-4:], strict=True):
                pairs = zip(found[column], kept[heading], strict=True)
                assert all(a == b if a is None else a == pytest.approx(b, rel=1e-5, abs=1e-12) for a, b in pairs)


def test_no_section_is_missing_and_each_has_its_words(page):
    text = page.read_text()
    assert 'class="broken"' not in text
    assert text.count("<figcaption>") == 4
    assert text.count('class="standing"') == 1
    assert "Of 20 runs, 15 finished, 3 diverged" in text
