"""A folder that a paper can include: figures, tables, numbers and references of one or several reports.

Names and labels begin with the spec, so that several reports share a folder. ``article.tex`` uses all of it.
"""

from collections.abc import Sequence
from itertools import chain
from pathlib import Path

from lnlab.errors import ReportError
from lnlab.issues import Issue
from lnlab.report.compose import build_parts
from lnlab.report.folder import read_folder, write_files
from lnlab.report.page.figures import draw_parts
from lnlab.report.page.latex import escape_latex
from lnlab.report.paper.drawing import COLUMN, drawn_pdf
from lnlab.report.paper.numbers import name_in_tex, number_definitions, sentence_with_numbers
from lnlab.report.paper.references import bibtex, cite, cited_references
from lnlab.report.paper.tables import section_table, verdict_tables
from lnlab.report.words.answer_text import answers_of_profile
from lnlab.seed_words import seeds_called


def write_paper(folders: Sequence[Path], out: Path) -> list[Path]:
    """Write the figures, tables, numbers and references of reports into ``out``, the article first.

    Args:
        folders: reports, each of another spec.
        out: the folder.

    Raises:
        ReportError: a report cannot be read, two are of one spec, a section cannot be made, or ``out`` not be written.
    """
    reports = []
    for folder in folders:
        facts, results, verdicts = read_folder(folder)
        with seeds_called(results.runs):
            parts = draw_parts(build_parts(facts, results))
        for part in parts:
            if part.part.error:
                what = f"section {part.part.number}: {part.part.error}"
                raise ReportError(Issue("failed", folder.as_posix(), what, "fix it first"))
        reports.append((facts, results, verdicts, parts))
    names = [name_in_tex(facts.name) for facts, *_ in reports]
    for name in {name for name in names if names.count(name) > 1}:
        raise ReportError(Issue("duplicate", "lnlab paper", f"two reports are of {name}", "name one report a spec"))
    texts = ((facts.source.get("cite", ""), *facts.sources.values()) for facts, *_ in reports)
    references = cited_references(chain.from_iterable(texts))
    files: dict[str, bytes] = {}
    bodies = []
    for facts, results, verdicts, parts in reports:
        with seeds_called(results.runs):
            name = name_in_tex(facts.name)
            files[f"{name}-numbers.tex"] = number_definitions(name, verdicts).encode()
            answers = [sentence_with_numbers(str(a["says"]), name, verdicts) for a in answers_of_profile(facts)]
            head = (rf"\section{{{escape_latex(facts.title)}}}", escape_latex(facts.question), *answers)
            body = ["\n\n".join(head)]
            for drawn in parts:
                section = drawn.part.section
                heading = (drawn.part.heading or (section.finding if section else "")).strip().rstrip(".")
                for figure in drawn.figures:
                    stem = f"{name}-{figure.stem}"
                    files[f"{stem}.pdf"], width = drawn_pdf(figure.spec)
                    text = _FIGURE.format(
                        environment="figure" if width <= COLUMN else "figure*",
                        file=stem,
                        headline=rf"\textbf{{{escape_latex(heading)}.}} " if heading else "",
                        caption=escape_latex(figure.chart.caption),
                        label=f"fig:{name}:{figure.number}",
                    )
                    files[f"{stem}.tex"] = text.encode()
                    body.append(rf"\input{{{stem}}}")
                for grid in drawn.tables:
                    if (table := section_table(name, grid)) is not None:
                        files[f"{name}-{grid.stem}.tex"] = table.encode()
                        body.append(rf"\input{{{name}-{grid.stem}}}")
            tables = list(verdict_tables(facts, verdicts, cite(facts.source.get("cite", ""), references)))
            if tables:
                files[f"{name}-verdicts.tex"] = "\n".join(tables).encode()
                body.append(rf"\input{{{name}-verdicts}}")
            bodies.append("\n".join([*body, r"\clearpage"]))  # figures that float stay in the section of their spec
    inputs = "\n".join(rf"\input{{{name}-numbers}}" for name in names)
    article = _ARTICLE.format(inputs=inputs, body="\n".join(bodies))
    return write_files(
        out, {"article.tex": article.encode(), "references.bib": bibtex(references).encode(), **files}, ()
    )


_FIGURE = r"""\begin{{{environment}}}[tp]
\centering
\includegraphics{{{file}}}
\caption{{{headline}{caption}}}
\label{{{label}}}
\end{{{environment}}}
"""

_ARTICLE = r"""% pdflatex article && bibtex article && pdflatex article && pdflatex article
\documentclass[10pt,twocolumn]{{article}}
\usepackage[T1]{{fontenc}}
\usepackage[utf8]{{inputenc}}
\usepackage{{textcomp}}
\usepackage[textwidth=6.75in,textheight=9in,columnsep=0.25in]{{geometry}}
\usepackage{{array,booktabs,graphicx,url}}
\extrafloats{{200}}
\pdfsuppresswarningpagegroup=1 % every figure has bands that are transparent
\emergencystretch=3em
{inputs}
\begin{{document}}
{body}
\nocite{{*}}
\bibliographystyle{{plain}}
\bibliography{{references}}
\end{{document}}
"""
