"""``lnlab diff``: two specs, locks or reports side by side."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from lnlab.cli.codes import FAILED
from lnlab.cli.options import AsJsonOption, Plugins, Quiet
from lnlab.cli.terminal import err, one_line, out, print_json

if TYPE_CHECKING:
    from lnlab.committed.comparison.differences import SideDifference

DIFF_EXAMPLE = "Example: [bold]lnlab diff specs/xiong_fig3.lock reports/xiong_fig3/real[/bold]"
_MOST_PRINTED = 20
_LONGEST = 60
_SIDES_HELP = "A spec, a lock, or the folder of a report."


def diff(
    a: Annotated[str, typer.Argument(metavar="A", help=_SIDES_HELP)],
    b: Annotated[str, typer.Argument(metavar="B", help="What it is compared with.")],
    plugins: Plugins,
    profile: Annotated[
        str | None, typer.Option("--profile", "-p", metavar="NAME", help="The profile of a side that is a spec.")
    ] = None,
    as_json: AsJsonOption = False,
    quiet: Quiet = False,
) -> None:
    """Say in what two sides differ, the shortest list first.

    Compares the resolved settings, what the spec asks beyond them (claims, probes, sections), the runs with their
    seeds, the numbers of each quantity, and the verdicts with their estimates and 95 % intervals. Numbers that differ
    by less than 1e-9 of themselves are the same. Of a lock its report is compared. A spec has no numbers and no
    verdicts. The look of pages is not compared: lnlab verify does that.

    Exit codes: 0 both say the same; 1 they differ; 2 the command is wrong.
    """
    from lnlab.committed.comparison.differences import compare
    from lnlab.committed.comparison.sides import read_side
    from lnlab.committed.registries import load_registries

    # Without plugins they are loaded only where a side has to be compiled.
    known = load_registries(plugins) if plugins else None
    comparison = compare(*(read_side(name, profile, known) for name in (a, b)))
    if as_json:
        kinds = {kind: [asdict(entry) for entry in entries] for kind, entries in comparison.differences.items()}
        print_json(
            {
                "a": comparison.a,
                "b": comparison.b,
                "same": comparison.same,
                "sentence": comparison.sentence,
                "differences": kinds,
                "not_compared": dict(comparison.not_compared),
            }
        )
    else:
        for kind, entries in comparison.differences.items():
            _print_list(kind, entries)
        if not quiet:
            for kind, reason in comparison.not_compared.items():
                err().print(one_line(f"{kind} not compared: {reason}"))
        out().print(one_line(comparison.sentence))
    raise typer.Exit(0 if comparison.same else FAILED)


def _print_list(kind: str, entries: "tuple[SideDifference, ...]") -> None:
    out().print(f"{kind}:")
    for entry in entries[:_MOST_PRINTED]:
        a, b = entry.a, entry.b
        if max(len(a), len(b)) > 2 * _LONGEST:  # only what stands around the first place where they differ
            place = next((n for n, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
            start = max(0, place - _LONGEST // 3) if place > _LONGEST else 0
            a, b = _excerpt(a, start), _excerpt(b, start)
        out().print(f"  {one_line(f'{entry.where}: {a} → {b}')}")
    if len(entries) > _MOST_PRINTED:
        out().print(f"  {len(entries) - _MOST_PRINTED:,} more: --json has all")


def _excerpt(text: str, start: int) -> str:
    end = start + _LONGEST
    return f"{'…' if start and len(text) > start else ''}{text[start:end]}{'…' if len(text) > end else ''}"
