"""Probes that could not look: at moments a run does not have, at data without an end, at models that say nothing."""

from typing import Any

from lnlab.compile.checks.data_checks import reads_all
from lnlab.compile.resolve.choices import Registries
from lnlab.compile.resolve.epochs import counts_epochs, moments
from lnlab.compile.resolved_sweep import Settled
from lnlab.compile.selection.requested import Questions
from lnlab.compile.source_spans import Spot
from lnlab.compile.sweep.overlay import Draft, Found
from lnlab.errors import nearest
from lnlab.keys import Json
from lnlab.registry import Entry, Flaw, Where


def looks(asked: Questions, settled: Settled, made: Draft, registries: Registries) -> Found:
    """Everything that is wrong with where and when the probes look."""
    return [flaw for check in (_moments, _endless, _mute) for flaw in check(asked, settled, made, registries)]


def _moments(asked: Questions, settled: Settled, made: Draft, registries: Registries) -> Found:
    """Probes, and evaluations, that look at moments a run does not have."""
    found: dict[tuple[Where, str], tuple[Spot, Flaw]] = {}
    for setting in settled.settings:
        train = setting["train"]
        due: list[tuple[Where, Json, Entry[Any] | None]] = [
            ((*probe.path, "at"), probe.at, registries["probe"][probe.choice["kind"]]) for probe in asked.probes
        ]
        due += [(("train", "evaluate"), train["evaluate"], None)] if train["steps"] else []
        for path, at, entry in due:
            try:
                moments(entry, at, train["steps"], settled.epochs.updates(setting) if counts_epochs(at) else None)
            except ValueError as error:
                flaw = Flaw(path, str(error), "write init, end, or steps that the run has")
                found[path, str(error)] = (made.spot(path), flaw)
    return list(found.values())


def _endless(asked: Questions, settled: Settled, made: Draft, registries: Registries) -> Found:
    """Probes that would read every batch of a task that has no end."""
    tasks = [registries["task"][kind] for kind in sorted({setting["task"]["kind"] for setting in settled.settings})]
    found: Found = []
    for probe in asked.probes:
        entry = registries["probe"][probe.choice["kind"]]
        for task in tasks:
            if task.facts.endless and reads_all(entry, probe.choice):
                path, what = (*probe.path, "batches"), f"'{task.name}' has no end, and '{entry.name}' reads all of it"
                found.append((made.spot(path), Flaw(path, what, "give a number of batches")))
    return found


def _mute(asked: Questions, settled: Settled, made: Draft, registries: Registries) -> Found:
    """Probes that ask for translations where a model or a task has none."""
    found: Found = []
    for probe in asked.probes:
        if not registries["probe"][probe.choice["kind"]].facts.translates:
            continue
        for part in ("model", "task"):
            able = [entry.name for entry in registries[part] if entry.facts.translates]
            for kind in sorted({setting[part]["kind"] for setting in settled.settings} - set(able)):
                path, what = (*probe.path, "kind"), f"the {part} '{kind}' translates nothing"
                found.append((made.spot(path), Flaw(path, what, nearest("", able))))
    return found
