"""``lnlab doctor``: what this machine has, and what is missing."""

from dataclasses import asdict

from lnlab.app.request import open_store
from lnlab.cli.options import AsJsonOption, StoreFolder
from lnlab.cli.terminal import out, print_json

DOCTOR_EXAMPLE = "Example: [bold]lnlab doctor --json[/bold]"


def doctor(folder: StoreFolder, as_json: AsJsonOption = False) -> None:
    """Show what this machine has for lnlab.

    Versions, threads, the store and whether it can be written, free disk, folders of data with the corpora in them, a
    browser, and what each extra lacks, with the command that installs it. Nothing is changed.
    """
    from lnlab.app.doctor import examine

    findings = examine(open_store(folder))
    if as_json:
        print_json([asdict(finding) for finding in findings])
        return
    width = max(len(finding.what) for finding in findings)
    for finding in findings:
        remedy = f"; {finding.remedy}" if finding.remedy else ""
        out().print(f"{finding.what:<{width}}  {finding.found}{remedy}")
