"""What ``check``, ``run`` and ``report`` do of a spec whose results are a table from elsewhere."""

from pathlib import Path

from lnlab.app.formats import format_count
from lnlab.app.table_specs import table_spec
from lnlab.cli.codes import CONTRADICTED, FAILED
from lnlab.cli.drawn import DrawingOptions, print_report
from lnlab.cli.terminal import out, print_json
from lnlab.seed_words import seeds_called


def check_table_spec(path: Path, text: str | None = None, *, as_json: bool) -> None:
    """Read the table, judge the claims, and print the counts of runs, variants and claims.

    Raises:
        LabError: everything that is wrong with the spec, or its files.
    """
    spec = table_spec(path, text)
    verdicts = spec.verdicts()
    runs = spec.measurements.results.runs
    variants = format_count(runs["variant"].n_unique(), "variant")
    text = f"{path}: ok: {format_count(runs.height, 'run')}, {variants}, {format_count(len(verdicts), 'claim')}"
    if not as_json:
        out().print(text, markup=False)


def run_table_spec(path: Path, *, as_json: bool, strict: bool) -> int:
    """Judge the claims and print the verdicts, without computing anything. Returns the exit code.

    Raises:
        LabError: as ``check_table_spec``.
    """
    from lnlab.cli.verdicts import print_verdicts, verdict_as_plain

    spec = table_spec(path)
    verdicts = spec.verdicts()
    if as_json:
        print_json({"verdicts": [verdict_as_plain(verdict) for verdict in verdicts]})
    else:
        with seeds_called(spec.measurements.results.runs):
            print_verdicts(verdicts)
    contradicted = strict and any(verdict.verdict == "contradicted" for verdict in verdicts)
    return CONTRADICTED if contradicted else 0


def report_table_spec(path: Path, target: Path | None, drawing: DrawingOptions, *, replace: bool) -> int:
    """Write its page. Returns the exit code.

    Raises:
        LabError: as ``check_table_spec``, or the folder cannot be written.
    """
    report = table_spec(path).write(target, spec=path, replace=replace, drawing=drawing)
    print_report(report, report.files[0].parent, str(path), drawing)
    if drawing.as_json:
        print_json([file.as_posix() for file in report.files])
    return FAILED if report.failed else 0
