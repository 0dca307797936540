"""``lnlab check``: are specs right?"""

import gc
from dataclasses import asdict
from pathlib import Path

from lnlab.app.formats import format_count
from lnlab.app.planning.checks import SpecSummary, check_profiles, early_mistakes
from lnlab.app.request import STANDARD_INPUT, Request
from lnlab.app.table_specs import refuse_overrides, states_results
from lnlab.cli.options import AsJsonOption, Overrides, Plugins, Profile, Specs
from lnlab.cli.table_specs import check_table_spec
from lnlab.cli.terminal import err, out, print_json
from lnlab.committed.registries import load_registries
from lnlab.errors import LabError
from lnlab.issues import Issue
from lnlab.specfile.load import read_piped_text
from lnlab.training_extra import INSTALL, absent_packages

_COMMITTED = "real"
"""The profile that answers are about where they name none, and whose review is told then, if the spec has it."""
_PIPED = Path("-")
"""How a command line names standard input."""
CHECK_EXAMPLE = "Example: [bold]lnlab check specs/*.yaml[/bold]"


def check_specs(
    specs: Specs,
    overrides: Overrides,
    plugins: Plugins,
    profile: Profile = None,
    as_json: AsJsonOption = False,
) -> None:
    """Check specs and build their models.

    Without --profile and -s, the default and every profile of each.
    Mistakes of the grammar are told alone, each with its line and column, as others may follow from them. Else tells
    every other problem at once, and instantiates each distinct model on the meta device. Of models that differ only in
    widths or vocabulary, one is built whole, and each other with one layer per stack. Needs no corpus. SPEC - is read
    from standard input.
    """
    texts = {STANDARD_INPUT: read_piped_text(STANDARD_INPUT)} if _PIPED in specs else {}
    named = [STANDARD_INPUT if spec == _PIPED else spec for spec in specs]
    requests = {spec: Request(spec, profile, tuple(overrides), tuple(plugins), text=texts.get(spec)) for spec in named}
    tables = [spec for spec in requests if states_results(spec, texts.get(spec))]
    early: dict[Path, list[Issue]] = {}
    if not plugins:  # these register pieces, and may do more with torch than name it
        written = [spec for spec in requests if spec not in tables]
        found = early_mistakes([requests[spec] for spec in written])
        early = {spec: issues for spec, issues in zip(written, found, strict=True) if issues}
    problems = [issue for issues in early.values() for issue in issues]
    left = {spec: request for spec, request in requests.items() if spec not in early}
    known = load_registries(plugins) if left else {}
    gc.freeze()  # what was imported stays for good, and need not be looked through for garbage again
    summaries: list[SpecSummary] = []
    for spec, request in left.items():
        if spec in tables:
            try:
                refuse_overrides(spec, profile, overrides)
                check_table_spec(spec, texts.get(spec), as_json=as_json)
            except LabError as error:
                problems += error.issues
            continue
        right, wrong = check_profiles(request, known)
        summaries += right
        problems += wrong
        if not as_json:
            reviewed = profile or next((_COMMITTED for summary in right if summary.profile == _COMMITTED), None)
            for summary in right:
                runs = format_count(summary.runs, "run")
                models = format_count(summary.models, "model")
                tuning = f"{format_count(summary.tuning_runs, 'tuning run')}, " if summary.tuning_runs else ""
                which = f"{summary.spec}: {summary.profile or 'default'}"
                out().print(f"{which}: ok: {tuning}{runs}, {models}, {format_count(summary.claims, 'claim')}")
                for note in filter(None, (summary.note, *summary.notes)):
                    out().print(f"{which}: {note}")
                if summary.profile == reviewed:
                    for line in summary.review:
                        out().print(f"{which}: review {line}", markup=False)
    if as_json:
        print_json([asdict(summary) for summary in summaries])
    if summaries and absent_packages():
        err().print(f"no model was built and no corpus read, which needs torch; {INSTALL}", markup=False)
    if problems:
        raise LabError(*dict.fromkeys(problems))
