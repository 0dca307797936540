"""``lnlab why``: from a number on a page to its rows, runs and formula, or from a failed run to its log and reason."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lnlab.app.formats import format_count, format_duration
from lnlab.app.request import open_store
from lnlab.claims.verdict_text import elsewhere_text, law_text, level_text, verdict_label
from lnlab.cli.options import AsJsonOption, Plugins, StoreFolder
from lnlab.cli.terminal import one_line, out, print_json, terminal_table

if TYPE_CHECKING:
    from lnlab.app.why.claim_trace import ClaimTrace
    from lnlab.app.why.run_trace import RunTrace

WHY_EXAMPLE = (
    "Example: [bold]lnlab why xiong_fig3:post_grows[/bold], "
    "[bold]lnlab why reports/xiong_fig3/real/index.html#claim-1[/bold], [bold]lnlab why 3f2a9c[/bold]"
)
_WIDTH = 12


def why(
    address: Annotated[
        str,
        typer.Argument(metavar="ADDRESS", help="spec:claim, a link to a claim on a page, or the key of a run."),
    ],
    folder: StoreFolder,
    plugins: Plugins,
    profile: Annotated[
        str | None,
        typer.Option("--profile", "-p", metavar="NAME", help="Of the report; real, else the default, if not given."),
    ] = None,
    reports: Annotated[Path, typer.Option("--reports", metavar="FOLDER", help="Where reports are looked for.")] = Path(
        "reports"
    ),
    rows: Annotated[int, typer.Option("--rows", min=0, metavar="N", help="How many rows of each selection.")] = 5,
    as_json: AsJsonOption = False,
) -> None:
    """Say where a number comes from, or how a run ended.

    Every estimate on a page is the number of a claim: spec:claim names it by its id or by its number on the page. The
    answer shows the quantity with its formula as it was registered, the rows that were selected, the states, runs and
    settings behind them, each seed's number, and the file and the line where the claim was declared and judged. A
    report below --reports comes before what the store holds. The folder of a report can stand in place of the spec.

    The key of a run, or its beginning (of at least six digits), shows what the run was, what was measured, how it ended
    and why, and what its worker printed last.
    """
    from lnlab.app.why.claim_trace import trace_claim
    from lnlab.app.why.run_trace import trace_run
    from lnlab.app.why.sources import parse_address, source_of_claim
    from lnlab.committed.registries import load_registries

    parsed = parse_address(address)
    store = open_store(folder)
    if isinstance(parsed, str):
        run = trace_run(parsed, reports, store)
        print_json(asdict(run)) if as_json else _print_run(run)
    else:
        known = load_registries(plugins)
        claim = trace_claim(source_of_claim(parsed, profile, reports, store), parsed.claim, known, rows)
        print_json(asdict(claim)) if as_json else _print_claim(claim)


def _line(name: str, text: object) -> None:
    """Print a line with its name in front, unless the text is empty."""
    if text not in ("", None, ()):
        out().print(f"{name:<{_WIDTH}} {one_line(str(text))}")


def _print_claim(trace: "ClaimTrace") -> None:
    verdict = trace.verdict
    _line("claim", f"{verdict.claim}, number {trace.number} of {trace.experiment}")
    _line("says", verdict.says)
    _line("verdict", verdict_label(verdict))
    _line("law", law_text(verdict))
    _line("look", level_text(verdict))
    _line("margin", verdict.margin if verdict.margin == "ours" else "")
    _line("elsewhere", elsewhere_text(verdict))
    _line("numbers", trace.numbers)
    _line("reason", verdict.reason)
    _line("scope", verdict.scope)
    _line("seeds", ", ".join(f"{seed}: {number:.4g}" for seed, number in sorted(verdict.seeds.items())))
    _line("declared", trace.declared)
    _line("judged in", trace.judged)
    _line("page", trace.page)
    _line("plan", trace.plan[:16])
    for citation in trace.cites:
        _line("cites", citation)
    for selection in trace.selections:
        out().print("")
        _line(selection.role, selection.conditions)
        for quantity in selection.quantities:
            _line("quantity", quantity.words or quantity.name)
            _line("formula", quantity.formula)
            _line("computed by", quantity.origin)
        _line("problem", selection.problem)
        states = ("initialization" if step == 0 else f"after update {step}" for step in selection.steps)
        _line("states", ", ".join(states))
        for variant in selection.variants:
            keys = " ".join(run[:12] for run in variant.runs)
            _line("runs", f"{variant.variant}: seeds {variant.seeds} ({variant.statuses}); keys {keys}")
        if not selection.problem:
            _line("rows", f"{format_count(selection.rows, 'row')}; the first {len(selection.first_rows)}:")
        if selection.first_rows:
            columns = list(selection.first_rows[0])
            cells = [
                [f"{x:.6g}" if isinstance(x, float) else "" if x is None else one_line(str(x)) for x in row.values()]
                for row in selection.first_rows
            ]
            out().print(terminal_table(columns, cells, numeric=["seed", "step", "layer", "index", "x", "value"]))


def _print_run(trace: "RunTrace") -> None:
    from lnlab.report.page.methods import setting_leaves

    outcome = trace.outcome
    _line("run", f"{trace.run} of {trace.experiment}")
    _line("is", trace.name)
    _line("status", outcome["status"])
    _line("reason", outcome["reason"])
    _line("updates", f"{outcome['done'] or 0} of {outcome['steps']}")
    _line("time", "" if outcome["seconds"] is None else format_duration(float(outcome["seconds"])))
    versions = ", ".join(f"{name} {version}" for name, version in sorted(outcome["versions"].items()))
    _line("machine", ", ".join(filter(None, [outcome["device"], versions])))
    _line("trajectory", trace.trajectory)
    _line("variant", trace.variant)
    leaves = setting_leaves(trace.setting)
    texts = (f"{path} {value if isinstance(value, str) else json.dumps(value)}" for path, value in leaves)
    _line("setting", "; ".join(texts))
    for probe in trace.probes:
        steps = f" at update {', '.join(map(str, probe.steps))}" if probe.steps else ""
        counts = ", ".join(f"{format_count(number, 'row')} of {table}" for table, number in probe.rows.items())
        _line("measured", f"{probe.probe}{steps}: {counts or 'no rows'}")
    if trace.log:
        out().print("printed last:")
        for text in trace.log.splitlines():
            out().print(f"{' ' * (2 + len(text) - len(text.lstrip()))}{one_line(text)}")
