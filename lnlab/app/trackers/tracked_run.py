"""What a tracker is shown of a run: its settings, its curves and how it ended."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from json import loads
from typing import TYPE_CHECKING

from lnlab.app.missing_work import run_names
from lnlab.keys import Json, canonical, digest

if TYPE_CHECKING:
    from lnlab.claims.claim import Verdict
    from lnlab.tables import Results

SettingValue = bool | int | float | str


@dataclass(frozen=True)
class TrackedRun:
    """A run that came to an end.

    Attributes:
        key: of the run.
        name: its axes and seed.
        status: finished, diverged, failed, ...
        seconds: that it took.
        steps: updates made.
        settings: dotted path -> value, the seed and every default included.
        curves: (``split/quantity``, step, value), in the order of their steps.
    """

    key: str
    name: str
    status: str
    seconds: float
    steps: int
    settings: Mapping[str, SettingValue]
    curves: Sequence[tuple[str, int, float]]

    @cached_property
    def digest(self) -> str:
        """Of all that is shown, the time it took apart: equal digests, nothing to show anew."""
        curves = [(name, step, repr(value)) for name, step, value in self.curves]
        return digest([self.key, self.name, self.status, dict(self.settings), curves])

    def seconds_at(self, step: int) -> float:
        """Seconds from the start of the run to a step, at an even pace."""
        return self.seconds * step / self.steps if self.steps else 0.0


@dataclass(frozen=True)
class TrackedVerdicts:
    """The verdicts of an experiment: claim -> verdict, and claim -> sentence with the reason."""

    by_claim: Mapping[str, str]
    sentences: Mapping[str, str]

    @cached_property
    def digest(self) -> str:
        """Of all that is shown."""
        return digest([dict(self.by_claim), dict(self.sentences)])


def tracked_runs(results: "Results") -> Iterator[TrackedRun]:
    """The runs that came to an end of their own; of one that was interrupted the rest is still to come."""
    names = run_names(results.runs, results.axes)
    curves: dict[str, list[tuple[str, int, float]]] = {}
    for run, step, split, quantity, value in (
        results.tables["curves"].select("run", "step", "split", "quantity", "value").iter_rows()
    ):
        curves.setdefault(run, []).append((f"{split}/{quantity}", step, value))
    columns = "run", "seed", "status", "seconds", "done", "setting"
    for run, seed, status, seconds, done, setting in results.runs.select(columns).iter_rows():
        if status in (None, "interrupted"):
            continue
        settings = {"seed": seed, **_flat(loads(setting))}
        yield TrackedRun(
            key=run,
            name=names[run],
            status=status,
            seconds=seconds or 0.0,
            steps=done or 0,
            settings=settings,
            curves=curves.get(run, ()),
        )


def tracked_verdicts(verdicts: "Sequence[Verdict]") -> TrackedVerdicts:
    """The verdicts of claims as a tracker shows them."""
    sentences = {verdict.claim: f"{verdict.verdict}: {verdict.says} ({verdict.reason})" for verdict in verdicts}
    return TrackedVerdicts({verdict.claim: verdict.verdict for verdict in verdicts}, sentences)


def _flat(setting: Json, path: str = "") -> dict[str, SettingValue]:
    """The leaves of a setting by dotted path; a list, an empty choice and null as JSON."""
    if not isinstance(setting, dict) or not setting:
        return {path: setting if isinstance(setting, SettingValue) else canonical(setting)}
    return {
        leaf: value
        for key, inner in setting.items()
        for leaf, value in _flat(inner, f"{path}.{key}" if path else key).items()
    }
