"""Draw all that a reader sees from a folder of tables: page, notebook, figures, tables. The command line calls this."""

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from urllib.parse import unquote

import polars as pl

from lnlab.claims.claim import Claim, Verdict
from lnlab.claims.verdict_rows import verdict_frame
from lnlab.claims.verdict_text import VERDICT_SYMBOLS
from lnlab.errors import ReportError
from lnlab.files import replacing
from lnlab.html_tables import html_card
from lnlab.issues import Issue
from lnlab.keys import digest_bytes
from lnlab.portable_names import why_unportable
from lnlab.report.charts.render import to_svg
from lnlab.report.charts.thumbnail import thumbnail_spec
from lnlab.report.compose import ReportPart, build_all_parts, numbered_parts
from lnlab.report.contents import read_file
from lnlab.report.default_sections import with_default_sections
from lnlab.report.drawing import WHOLE_REPORT, Drawing
from lnlab.report.facts import ReportFacts
from lnlab.report.folder import NOTEBOOK_FILE, THUMBNAIL_FILE, parse_report, read_folder, report_data, write_files
from lnlab.report.page import figures, html
from lnlab.report.page.latex import booktabs_table
from lnlab.report.page.notebook import notebook_text
from lnlab.report.referee import with_review
from lnlab.report.same_question import refuse_other_question, with_origin
from lnlab.report.table import csv_bytes, reader_grid
from lnlab.seed_words import seeds_called, seeds_word
from lnlab.tables import Results

_VERDICT_HEADINGS = {
    "says": "claim",
    "verdict": "verdict",
    "statistic": "statistic",
    "estimate": "estimate",
    "low": "low",
    "high": "high",
    "level": "level",
    "region_low": "at least",
    "region_high": "at most",
    "n": "seeds",
    "inside": "inside",
    "detail": "detail",
    "law": "law",
    "law_word": "law is",
    "margin": "margin",
    "look": "look",
}


@dataclass(frozen=True, repr=False)
class Report:
    """What was written. A notebook shows a link to the page.

    Attributes:
        files: every file, the page first.
        failed: the sections in whose place the page has a reason (``ReportPart.error``).
        empty: the sections that the page leaves out, as they have nothing to show.
    """

    files: list[Path]
    failed: list[ReportPart]
    empty: list[ReportPart]

    @property
    def page(self) -> Path:
        """The page."""
        return self.files[0]

    def __repr__(self) -> str:
        return f"Report({self.page.as_posix()!r}, {len(self.files)} files)"

    def _repr_html_(self) -> str:
        lacks = [f"section {part.number} could not be made: {part.error}" for part in self.failed]
        lines = [f"{len(self.files):,} files in {self.page.parent.as_posix()}", *lacks]
        return html_card(self.page.as_posix(), lines, page=self.page)


def report_folder(root: Path, name: str, profile: str | None) -> Path:
    """``root/name`` for the default profile, ``root/name/profile`` for another."""
    return root / name / profile if profile else root / name


def write_report(
    out: Path,
    facts: ReportFacts,
    results: Results,
    verdicts: Sequence[Verdict],
    *,
    claims: Sequence[Claim] = (),
    drawing: Drawing = WHOLE_REPORT,
    spec: Path | None = None,
    replace: bool = False,
) -> Report:
    """Write ``out/data`` from the results, then everything else from ``out/data`` alone.

    Args:
        out: the folder of this report, see ``report_folder``.
        facts: what no table says.
        results: what the experiment found so far.
        verdicts: in the order of the spec.
        claims: the claims they are of, resolved, in that order, so that the rows they read are kept, and a page without
            sections has those of its claims.
        drawing: how it is drawn.
        spec: the file of the spec, by which a report of another question in ``out`` is recognised.
        replace: whether such a one is replaced.

    Returns:
        what was written, and which sections could not be made.

    Raises:
        ReportError: the folder cannot be written or holds the report of another question, or the templates are not
            there.
    """
    if why := why_unportable(facts.name):
        remedy = "name another folder, which names the report"
        raise ReportError(Issue("wrong-value", str(out), f"gives its report a name that {why}", remedy))
    if not replace:
        refuse_other_question(out, facts, spec)
    with seeds_called(results.runs):
        facts = with_default_sections(with_origin(out, facts, spec), results, verdicts, claims)
        facts = with_review(facts, results, verdicts, claims, out)
    return write_drawn(out, report_data(facts, results, verdicts, claims, out), drawing)


def render_report(out: Path, drawing: Drawing = WHOLE_REPORT) -> Report:
    """Make the page, the notebook, the figures and the tables again from ``out/data`` and nothing else.

    Arguments, return value and errors as in ``write_report``.
    """
    return write_drawn(out, {}, drawing)


def write_drawn(out: Path, data: Mapping[str, bytes], drawing: Drawing) -> Report:
    """Draw everything that a reader sees, from these data alone, and put both into a folder, all at once or nothing.

    Args:
        out: the folder.
        data: the files ``data/*``. If empty, those in ``out`` are read.
        drawing: how it is drawn.

    Raises:
        ReportError: as in ``write_report``. The folder is left unchanged.
    """
    folders = html.template_folders()
    read = parse_report(data, out) if data else read_folder(out)
    with seeds_called(read[1].runs):
        return _drawn(out, data, drawing, folders, *read)


def _drawn(
    out: Path,
    data: Mapping[str, bytes],
    drawing: Drawing,
    folders: Sequence[Path],
    facts: ReportFacts,
    results: Results,
    verdicts: Sequence[Verdict],
) -> Report:
    # the folder of all reports, two above that of a profile (report_folder)
    reports = out.parent.parent if out.name == facts.profile else out.parent
    root = None if drawing.single_file else _seen_from(out, reports)
    all_parts = build_all_parts(facts, results, verdicts, root)
    drawn_parts = figures.draw_parts(numbered_parts(all_parts))
    script, style = html.page_script(folders), html.page_style(folders)
    assets = reports / "assets"
    shared = None if drawing.single_file else assets / f"vega-{digest_bytes(script.encode())[:16]}.js"
    script_path = None if shared is None else _seen_from(out, shared)
    page = html.render_page(
        folders,
        facts,
        results,
        verdicts,
        drawn_parts,
        root=root,
        script=script,
        style=style,
        shared=script_path,
        lean=drawing.lean,
        is_there=(lambda address: out.joinpath(unquote(address)).is_file())
        if drawing.links is None
        else drawing.links.__contains__,
    )
    files = {"index.html": page.encode()}
    numbered = list(chain.from_iterable(drawn.figures for drawn in drawn_parts))
    if numbered and not (drawing.lean and drawing.single_file):
        files[THUMBNAIL_FILE] = to_svg(thumbnail_spec(numbered[0].spec)).encode()
    if drawing.lean:
        files |= {
            f"figures/{figure.stem}.svg": figure.svg.encode() for figure in numbered[:1] if not drawing.single_file
        }
    else:
        files[NOTEBOOK_FILE] = notebook_text(facts, verdicts, drawn_parts).encode()
        for figure in numbered:
            files |= figures.figure_files(figure, png=drawing.png)
        if script_path is not None:  # a page of one file shares its script with no other
            files |= html.figure_pages(folders, facts, drawn_parts, style, f"../{script_path}")
        for drawn in drawn_parts:  # the tables for papers (TeX) and spreadsheets (CSV)
            tables = drawn.part.section.tables if drawn.part.section else ()
            for table, grid in zip(tables, drawn.tables, strict=True):
                files[f"tables/{grid.stem}.csv"] = csv_bytes(table.rows, table.headings)
                files[f"tables/{grid.stem}.tex"] = booktabs_table(grid, f"tab:{grid.stem}").encode()
        if verdicts:
            frame, headings = verdict_frame(verdicts), {**_VERDICT_HEADINGS, "n": seeds_word()}
            marked = pl.col("verdict").replace_strict(VERDICT_SYMBOLS, default="?") + " " + pl.col("verdict")
            shown = reader_grid(frame.with_columns(marked.alias("verdict")), headings, "Claims and verdicts.")
            files["tables/verdicts.csv"] = csv_bytes(frame, headings)
            files["tables/verdicts.tex"] = booktabs_table(shown, "tab:verdicts").encode()
    if shared is not None:  # before the page that reads it; its name says what it holds
        try:
            if not shared.is_file() or shared.read_bytes() != script.encode():
                shared.parent.mkdir(parents=True, exist_ok=True)
                with replacing(shared) as file:
                    file.write(script.encode())
        except OSError as error:
            what = f"cannot be written: {(error.strerror or str(error)).lower()}"
            remedy = "choose another folder with --out, or --single-file"
            raise ReportError(Issue("unwritable", str(shared), what, remedy)) from error
    own = (NOTEBOOK_FILE, "figures", "tables", *(("data",) if data else ()))
    written = write_files(out, {**files, **data}, own)
    pages = written[: len(files)]
    if shared is not None:
        _drop_unused(assets)
        pages.append(shared)
    failed = [drawn.part for drawn in drawn_parts if drawn.part.error]
    return Report([*pages, *written[len(files) :]], failed, [part for part in all_parts if part.shows_nothing])


def _seen_from(out: Path, path: Path) -> str:
    """A path as a page in ``out`` names it."""
    return Path(os.path.relpath(path, out)).as_posix()


def _drop_unused(assets: Path) -> None:
    """Remove scripts of earlier versions that no page of these reports reads any more."""
    scripts = sorted(assets.glob("vega-*.js"))
    if len(scripts) > 1:
        pages = []
        for path in assets.parent.glob("**/index.html"):
            with suppress(ReportError):  # what is no regular file is no page of ours
                pages.append(read_file(path.parent, path.name) or b"")
        for path in scripts:
            if not any(path.name.encode() in page for page in pages):
                path.unlink(missing_ok=True)
