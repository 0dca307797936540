"""``lnlab status``: what is in the store, per experiment: done, missing, failed and why, and running."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lnlab.app.formats import format_count, format_quantity
from lnlab.app.missing_work import ended_by_itself, reason_counts, status_counts_of_runs, unfinished_runs
from lnlab.app.request import Request, open_store, refuse_absent_profile
from lnlab.app.watching import running_units
from lnlab.cli.options import AsJsonOption, OptionalSpec, Profile, StoreFolder
from lnlab.cli.terminal import out, print_json
from lnlab.errors import LabError
from lnlab.issues import Issue
from lnlab.userfiles import LARGEST_SPEC, read_user_file

if TYPE_CHECKING:
    from lnlab.store.plans import StoredPlan
    from lnlab.store.store import Store

STATUS_EXAMPLE = "Example: [bold]lnlab status specs/xiong_fig3.yaml[/bold]"


def status_of_store(
    folder: StoreFolder,
    spec: OptionalSpec = None,
    profile: Profile = None,
    all_versions: Annotated[bool, typer.Option("--all", help="Older versions of each experiment as well.")] = False,
    as_json: AsJsonOption = False,
) -> None:
    """Show what the store holds.

    For each experiment: what is done, missing and failed, and why. Units at work, on this machine or another that
    shares the store, are shown with their training loss, and whether that, the gradient's norm or an attention logit
    jumps. lnlab watch shows these again and again.
    """
    store = open_store(folder, spec)
    if spec is not None:
        refuse_absent_profile(Request(spec, profile))
    plans = _selected_plans(store, spec, profile, all_versions=all_versions)
    experiments: list[dict[str, Any]] = []
    for stored in plans:
        look = store.watch(stored).look()
        results, lacking, units = look.results, look.lacking, running_units(look)
        running = {unit.work.trajectory for unit in units}
        # What nobody works on, and another run of the spec would give it; a unit that ended by itself stays as it is.
        waiting = [miss.reason for key, miss in lacking.items() if key not in running and not ended_by_itself(miss)]
        experiments.append(
            {
                "name": stored.name,
                "spec": stored.spec,
                "profile": stored.profile,
                "overrides": list(stored.overrides),
                "plan": stored.digest,
                "undecided": stored.undecided,
                "runs": status_counts_of_runs(results, running),
                "failures": unfinished_runs(results, running),
                "running": units,
                "missing": dict(reason_counts(waiting)),
            }
        )
    if as_json:
        print_json([{**facts, "running": [unit.to_json() for unit in facts["running"]]} for facts in experiments])
    elif not experiments and spec is not None:
        raise LabError(
            Issue("not-run", str(spec), f"was never run in the store {store.root}", f"lnlab run {spec} first")
        )
    else:
        damage = store.damage()
        for experiment in experiments:
            flags = [f"--profile {experiment['profile']}"] if experiment["profile"] else []
            flags += [f"-s {override}" for override in experiment["overrides"]]
            counts = ", ".join(f"{number} {word.replace('_', ' ')}" for word, number in experiment["runs"].items())
            runs = format_count(sum(experiment["runs"].values()), "tuning run" if experiment["undecided"] else "run")
            out().print(f"{' '.join([experiment['name'], *flags])}: {runs}: {counts}")
            for line in (line for unit in experiment["running"] for line in unit.lines()):
                out().print(f"  {line}")
            for failure in experiment["failures"]:
                status = failure["status"].replace("_", " ")
                out().print(f"  {failure['run']}: {status}: {failure['reason']} (lnlab why {failure['key'][:12]})")
            for reason, number in experiment["missing"].items():
                out().print(f"  {format_count(number, 'unit')}: {reason}")
        for sentence in damage:
            out().print(f"damaged: {sentence}; run its spec again: what is finished is kept")
        number, size = store.size()
        contents = f"{format_count(number, 'file')}, {format_quantity(size, 'B')}" if experiments or damage else "empty"
        out().print(f"{store.root}: {contents}")


def _selected_plans(
    store: "Store", spec: Path | None, profile: str | None, *, all_versions: bool
) -> "list[StoredPlan]":
    """The selected plans, the last used first. Without ``all_versions`` only the newest of each experiment is taken."""
    from lnlab.keys import digest_bytes
    from lnlab.store.plans import plans_newest_first

    newest: dict[object, StoredPlan] = {}
    plans = list(plans_newest_first(store.root))
    if spec is not None:
        # The file may have been reached by a link, then or now. A spec is its text: one that was copied or renamed has
        # the plans of that text.
        of_file = [stored for stored in plans if Path(stored.spec).resolve() == spec.resolve()]
        text = digest_bytes(read_user_file(spec, "spec", LARGEST_SPEC))
        plans = of_file or [stored for stored in plans if stored.text == text]
    for stored in plans:
        if profile is None or stored.profile == profile:
            question = stored.digest if all_versions else (stored.spec, stored.profile, stored.overrides)
            newest.setdefault(question, stored)  # plans come newest first
    return list(newest.values())
