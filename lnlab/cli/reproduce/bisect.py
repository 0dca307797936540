"""``lnlab bisect``: which change between two versions moved a verdict."""

from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lnlab.app.formats import format_count
from lnlab.app.request import open_store
from lnlab.cli.options import AsJsonOption, Plugins, Quiet, StoreFolder
from lnlab.cli.terminal import err, one_line, out, print_json

if TYPE_CHECKING:
    from lnlab.app.bisection.search import Trial

BISECT_EXAMPLE = "Example: [bold]lnlab bisect post_grows HEAD~5:specs/xiong_fig3.lock specs/xiong_fig3.lock[/bold]"


def bisect(
    claim: Annotated[str, typer.Argument(metavar="CLAIM", help="The id of the claim.")],
    good: Annotated[str, typer.Argument(metavar="GOOD", help="A lock or the folder of a report, or REV:path of one.")],
    bad: Annotated[str, typer.Argument(metavar="BAD", help="The same later, with another verdict.")],
    folder: StoreFolder,
    plugins: Plugins,
    workers: Annotated[
        int | None, typer.Option("--workers", "-w", min=1, help="Processes that compute; one a core if not given.")
    ] = None,
    as_json: AsJsonOption = False,
    quiet: Quiet = False,
) -> None:
    """Find what moved the verdict of a claim between two versions: a change of the spec, of code, or of a corpus.

    Where today's code and corpora give the runs of GOOD other keys, the spec of GOOD is judged first: if its verdict
    has moved already, the piece whose version changed, or the corpus, is named. Else a binary search over the changes
    of the spec (the declaration of the claim first, then probes, seeds, the sweep and each setting) finds the one that
    moves the verdict. A spec in between is judged on the rows of GOOD or BAD where they have all that the claim reads;
    what is missing is computed into the store, for the runs that the claim selects alone. Changes that make no valid
    spec by themselves are named together.

    Where nothing of that explains it, and the working folder is in a clone of lnlab's repository, a binary search over
    the commits that changed its code names the one: each is taken out of git, and computes what the spec needs for this
    claim in a process and a store of its own.

    Exit codes: 0 the change is named; 2 the command is wrong, or both have the same verdict.
    """
    from lnlab.app.bisection.judge import ClaimJudge
    from lnlab.app.bisection.search import bisect_claim
    from lnlab.app.comparison.sides import read_side
    from lnlab.app.request import load_registries
    from lnlab.app.rounds.units import RunOptions
    from lnlab.consoles import stderr_console
    from lnlab.corpora.files.fetch import data_roots

    def on_trial(trial: "Trial") -> None:
        if not (quiet or as_json):
            err().print(one_line(f"{trial.what}: {trial.verdict}"))

    known = load_registries(plugins)
    options = RunOptions(workers, retry_failed=False, quiet=True, save_every=60.0, console=stderr_console())
    with ExitStack() as stack:
        first, last = (stack.enter_context(read_side(name, None, known)) for name in (good, bad))
        judge = ClaimJudge(
            claim=claim,
            profile=last.profile,
            known=known,
            store=open_store(folder),
            sides=(first, last),
            options=options,
            roots=data_roots(Path()),
        )
        found = bisect_claim(first, last, judge, on_trial)
    if as_json:
        print_json(asdict(found))
        return
    out().print(one_line(f"{claim}: {found.good} → {found.bad}, moved by {found.cause}:"))
    for change in found.changes:
        out().print(f"  {one_line(change)}")
    if not quiet:
        computed = f"{format_count(found.units, 'unit')} computed"
        err().print(f"{format_count(len(found.trials), 'spec')} judged, {computed}")
