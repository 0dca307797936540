"""``lnlab status``: what is in the store, per experiment: done, missing, failed, and why."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lnlab.app.formats import format_count, format_quantity
from lnlab.app.missing_work import ended_by_itself, reason_counts, status_counts_of_runs, unfinished_runs
from lnlab.app.request import Request, open_store, refuse_absent_profile
from lnlab.cli.options import AsJsonOption, OptionalSpec, Profile, StoreFolder
from lnlab.cli.terminal import out, print_json
from lnlab.errors import LabError, Problem

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

    For each experiment: what is done, missing and failed, and why.
    """
    store = open_store(folder)
    if spec is not None:
        refuse_absent_profile(Request(spec, profile))
    plans = _selected_plans(store, spec, profile, all_versions=all_versions)
    experiments = [_experiment_facts(store, stored) for stored in plans]
    if as_json:
        print_json(experiments)
    elif not experiments and spec is not None:
        raise LabError(Problem(str(spec), f"was never run in the store {store.root}", f"lnlab run {spec} first"))
    else:
        _print_all(store, experiments)


def _selected_plans(
    store: "Store", spec: Path | None, profile: str | None, *, all_versions: bool
) -> "list[StoredPlan]":
    """The selected plans, the one used last first; without ``all_versions`` only the newest of each experiment."""
    from lnlab.store.plans import plans_newest_first

    newest: dict[object, StoredPlan] = {}
    for stored in plans_newest_first(store.root):
        if spec is not None and Path(stored.spec).resolve() != spec.resolve():
            continue
        if profile is None or stored.profile == profile:
            question = stored.digest if all_versions else (stored.spec, stored.profile, stored.overrides)
            newest.setdefault(question, stored)
    return list(newest.values())


def _experiment_facts(store: "Store", stored: "StoredPlan") -> dict[str, Any]:
    """One experiment as plain values."""
    results = store.results(stored.digest)
    lacking = store.lacks(stored).values()
    return {
        "name": stored.name,
        "spec": stored.spec,
        "profile": stored.profile,
        "overrides": list(stored.overrides),
        "plan": stored.digest,
        "undecided": stored.undecided,
        "runs": status_counts_of_runs(results),
        "failures": unfinished_runs(results),
        "missing": dict(reason_counts(miss.reason for miss in lacking if not ended_by_itself(miss))),
    }


def _print_all(store: "Store", experiments: list[dict[str, Any]]) -> None:
    """Every experiment, what cannot be read at all, and how large the store is."""
    damage = store.damage()
    for experiment in experiments:
        _print(experiment)
    for sentence in damage:
        out().print(f"damaged: {sentence}; run its spec again: what is finished is kept")
    number, size = store.size()
    contents = f"{format_count(number, 'file')}, {format_quantity(size, 'B')}" if experiments or damage else "empty"
    out().print(f"{store.root}: {contents}")


def _print(experiment: dict[str, Any]) -> None:
    """One experiment: a line of counts, then every failure and every reason for what is missing."""
    profile = [f"--profile {experiment['profile']}"] if experiment["profile"] else []
    name = " ".join([experiment["name"], *profile, *(f"-s {override}" for override in experiment["overrides"])])
    counts = ", ".join(f"{number} {word.replace('_', ' ')}" for word, number in experiment["runs"].items())
    what = "tuning run" if experiment["undecided"] else "run"
    out().print(f"{name}: {format_count(sum(experiment['runs'].values()), what)}: {counts}")
    for failure in experiment["failures"]:
        status = failure["status"].replace("_", " ")
        out().print(f"  {failure['run']}: {status}: {failure['reason']} (lnlab why {failure['key'][:12]})")
    for reason, number in experiment["missing"].items():
        out().print(f"  {format_count(number, 'unit')}: {reason}")
