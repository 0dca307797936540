"""What a paper includes: its widths, its letters, its references, its numbers, and an article that compiles."""

import json
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from lnlab.errors import ReportError
from lnlab.report.page.latex import escape_latex
from lnlab.report.paper.drawing import drawn_pdf
from lnlab.report.paper.numbers import number_definitions, number_name, number_values, sentence_with_numbers
from lnlab.report.paper.references import bibtex, cite, cited_references
from lnlab.report.paper.write import write_paper
from lnlab.report.write import write_report
from tests.report.latex_reader import commands
from tests.support.report_folders import save_folder

REPORTS = Path(__file__).parents[2] / "reports"
PAGE_WIDTH = re.compile(rb"/MediaBox\s*\[\s*0 0 ([\d.]+) ([\d.]+)")


@pytest.fixture(scope="module")
def paper(folder, tmp_path_factory):
    out = tmp_path_factory.mktemp("paper")
    write_paper([folder], out)
    return out


def width_of(pdf):
    return float(PAGE_WIDTH.search(pdf)[1])


def line_chart(series, width=780, **extra):
    values = [{"x": x, "y": x, "series": name} for name in series for x in (1, 2)]
    encoding = {channel: {"field": channel, "type": "quantitative"} for channel in "xy"}
    colour = {"field": "series", "type": "nominal", "legend": {"orient": "top"}}
    view = {"mark": "line", "encoding": {**encoding, "color": colour}, "width": width, "height": 300}
    config = {"config": {"axis": {"labelFontSize": 12, "titleFontSize": 13}, "legend": {"labelFontSize": 13}}}
    return {"datasets": {"points": values}, "data": {"name": "points"}, **config, **view, **extra}


def test_letters_of_a_figure_are_seven_and_a_half_points_and_none_is_wider_than_the_text():
    pdf, width = drawn_pdf(line_chart(["a", "b"], width=600))
    assert pdf[:8] == b"%PDF-1.5"
    assert 600 < width * 13 / 7.5 < 700
    assert width_of(pdf) == pytest.approx(width, abs=1)
    wide, width = drawn_pdf(line_chart(["a"], width=1200))
    assert width == 486
    assert width_of(wide) == pytest.approx(486, abs=1)


def test_a_paper_is_one_reference_with_authors_year_title_and_address():
    first = (
        "Xiong et al. 2020, On Layer Normalization (arXiv 2002.04745); Zhang, Dauphin and Ma 2019 (arXiv 1901.09321)"
    )
    references = cited_references([first, "Zhang, Dauphin and Ma 2019, Fixup (arXiv 1901.09321)", "Yu 2024"])
    assert [(r.key, r.authors, r.title) for r in references] == [
        ("xiong2020", ("Xiong", "others"), "On Layer Normalization"),
        ("zhang2019", ("Zhang", "Dauphin", "Ma"), "Fixup"),
    ]
    assert cite(first, references) == r"\cite{xiong2020,zhang2019}"
    assert cite("Yu 2024", references) == ""
    assert "author = {Zhang and Dauphin and Ma}" in bibtex(references)


def test_two_papers_of_one_author_and_year_have_two_keys():
    text = "Liu et al. 2020, Admin (arXiv 2004.08249); Liu et al. 2020, RAdam (arXiv 1908.03265)"
    assert {r.key for r in cited_references([text])} == {"liu2020", "liu2020b"}


def test_prose_names_the_numbers_of_verdicts(verdicts):
    verdict = verdicts[0]
    sentence = sentence_with_numbers(f"Yes, {{{verdict.claim}}} of {{{verdict.claim}.n}}, {{x}} 5 %", "spec", verdicts)
    assert sentence == rf"Yes, \lnlab{{spec:{verdict.claim}}} of \lnlab{{spec:{verdict.claim}.n}}, \{{x\}} 5 \%"
    assert number_values(replace(verdict, estimate=6.3, low=5.2, high=7.6))[verdict.claim] == "6.3 [5.2,\u00a07.6]"


def test_a_number_is_named_without_the_signs_that_latex_reads_otherwise(verdicts):
    verdict = replace(verdicts[0], claim="grows[100 % of {a}]")
    definitions = number_definitions("spec", [verdict])
    assert r"\csname lnlab@spec:grows[100 - of -a-]\endcsname" in definitions
    named = set(re.findall(r"lnlab@(spec:[^}]*)\\endcsname\{", definitions))
    assert named == {number_name("spec", key) for key in number_values(verdict)}


def test_files_and_labels_begin_with_the_spec(paper):
    names = {path.name for path in paper.iterdir()}
    assert {"article.tex", "references.bib", "xiong_fig3-figure-1.pdf", "xiong_fig3-verdicts.tex"} <= names
    figure = (paper / "xiong_fig3-figure-1.tex").read_text()
    assert r"\label{fig:xiong_fig3:1}" in figure
    assert "Student interval" in figure


def test_no_name_of_a_report_is_a_command(small, tmp_path):
    facts, results, verdicts = small
    name = "100% #1 & {a}_b~^^5cinput{^^2fetc^^2fpasswd}"
    save_folder(tmp_path / name, replace(facts, name=name, sections=()), results, verdicts)
    (tmp_path / "spec").mkdir()
    save_folder(tmp_path / "spec" / "calm", replace(facts, name="calm", sections=()), results, verdicts)
    write_paper([tmp_path / name], tmp_path / "attacked")
    write_paper([tmp_path / "spec" / "calm"], tmp_path / "calm")
    for path in (tmp_path / "calm").glob("*.tex"):
        (other,) = (tmp_path / "attacked").glob(path.name.replace("calm", "*"))
        assert list(commands(other.read_text())) == list(commands(path.read_text()))
    assert "^^" not in "".join(path.name + path.read_text() for path in (tmp_path / "attacked").glob("*.tex"))


def test_braces_in_a_title_are_paired_as_bibtex_counts_them():
    (reference,) = cited_references(["Xiong et al. 2020, On }} Norms { (arXiv 2002.04745)"])
    text = bibtex([reference])
    assert text.count("{") == text.count("}")
    assert r"On \textbraceright{}\textbraceright{} Norms \textbraceleft{}" in text


def test_two_reports_of_one_spec_are_refused(folder, tmp_path, golden):
    with golden.raises(ReportError):
        write_paper([folder, folder], tmp_path)


def test_every_character_of_committed_texts_has_its_latex():
    texts = [path.read_text() for path in REPORTS.glob("*/real/data/experiment.json")]
    letters = set("".join(json.dumps(json.loads(text), ensure_ascii=False) for text in texts))
    assert letters
    assert {letter for letter in letters if ord(letter) > 0x24F and not escape_latex(f"v{letter}").isascii()} == set()


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
def test_the_article_compiles_without_an_overfull_box(small, tmp_path):
    facts, results, verdicts = small
    write_report(tmp_path / "report", facts, results, verdicts)
    paper = tmp_path / "paper"
    write_paper([tmp_path / "report"], paper)
    for command in (["pdflatex", "-interaction=batchmode", "article"], ["bibtex", "article"]) * 2 + (
        ["pdflatex", "-interaction=batchmode", "article"],
    ):
        subprocess.run(command, cwd=paper, check=True, capture_output=True)
    log = (paper / "article.log").read_text(errors="replace")
    assert not re.findall(r"Overfull \\hbox.*|undefined.*|LaTeX Warning: .*|PDF inclusion.*", log)
