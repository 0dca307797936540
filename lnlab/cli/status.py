"""``lnlab status``: what is in the store, per experiment: done, missing, failed, and why."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lnlab.app.missing_work import failures, grouped, settled, statuses
from lnlab.app.request import open_store, refuse_absent_profile
from lnlab.cli.options import AsJson, Folder, MaybeSpec, Profile
from lnlab.cli.terminal import count, out, print_json, quantity
from lnlab.errors import LabError, Problem

if TYPE_CHECKING:
    from lnlab.store.plans import Stored
    from lnlab.store.store import Store

EXAMPLE = "Example: [bold]lnlab status specs/xiong_fig3.yaml[/bold]"


def status(
    folder: Folder,
    spec: MaybeSpec = None,
    profile: Profile = None,
    every: Annotated[bool, typer.Option("--all", help="Older versions of each experiment as well.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show what the store holds.

    For each experiment: what is done, missing and failed, and why.
    """
    store = open_store(folder)
    if spec is not None:
        refuse_absent_profile(spec, profile)
    found = [_described(store, stored) for stored in _chosen(store, spec, profile, every=every)]
    if as_json:
        print_json(found)
    elif not found and spec is not None:
        raise LabError(Problem(str(spec), f"was never run in the store {store.root}", f"lnlab run {spec} first"))
    else:
        _print_all(store, found)


def _chosen(store: "Store", spec: Path | None, profile: str | None, *, every: bool) -> "list[Stored]":
    """The plans asked for, the one used last first; of each question only the newest version, unless all are asked."""
    from lnlab.store.plans import newest_first

    found: dict[object, Stored] = {}
    for stored in newest_first(store.root):
        if spec is not None and Path(stored.spec).resolve() != spec.resolve():
            continue
        if profile is None or stored.profile == profile:
            question = stored.digest if every else (stored.spec, stored.profile, stored.overrides)
            found.setdefault(question, stored)
    return list(found.values())


def _described(store: "Store", stored: "Stored") -> dict[str, Any]:
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
        "runs": statuses(results),
        "failures": failures(results),
        "missing": dict(grouped(miss.reason for miss in lacking if not settled(miss))),
    }


def _print_all(store: "Store", found: list[dict[str, Any]]) -> None:
    """Every experiment, what cannot be read at all, and how large the store is."""
    damage = store.damage()
    for each in found:
        _print(each)
    for sentence in damage:
        out().print(f"damaged: {sentence}; run its spec again: what is finished is kept")
    number, size = store.size()
    held = f"{count(number, 'file')}, {quantity(size, 'B')}" if found or damage else "empty"
    out().print(f"{store.root}: {held}")


def _print(each: dict[str, Any]) -> None:
    """One experiment: a line of counts, then every failure and every reason for what is missing."""
    asked = [f"--profile {each['profile']}" if each["profile"] else "", *(f"-s {word}" for word in each["overrides"])]
    name = " ".join(word for word in [each["name"], *asked] if word)
    found = ", ".join(f"{number} {word.replace('_', ' ')}" for word, number in each["runs"].items())
    what = "tuning run" if each["undecided"] else "run"
    out().print(f"{name}: {count(sum(each['runs'].values()), what)}: {found}")
    for failure in each["failures"]:
        out().print(f"  {failure['run']}: {failure['status'].replace('_', ' ')}: {failure['reason']}")
    for reason, number in each["missing"].items():
        out().print(f"  {count(number, 'unit')}: {reason}")
