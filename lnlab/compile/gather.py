"""Settings, seeds and probes -> runs and trajectories, each state and each measurement once."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from lnlab.compile.check import Checked
from lnlab.compile.identity import Identities, Identity
from lnlab.compile.questions import Asked
from lnlab.compile.rounds import Round
from lnlab.compile.work import Measurement, Run, Setting, Trajectory
from lnlab.keys import Json, digest
from lnlab.registry import Choice
from lnlab.spec.moments import due

Due = dict[int, list[tuple[str, Choice]]]
"""Step -> the probes due there, with their keys."""


@dataclass(slots=True)
class _Growing:
    """A trajectory while runs are still joining it."""

    seed: int
    setting: Setting
    steps: int
    measurements: list[Measurement] = field(default_factory=list)


@dataclass
class Work:
    """What there is to do, as it is gathered; ``inits`` has each distinct initial state with the init it comes from."""

    settings: dict[str, Setting] = field(default_factory=dict)
    points: dict[str, dict[str, Json]] = field(default_factory=dict)
    runs: list[Run] = field(default_factory=list)
    needs: list[tuple[str, int, Choice, str]] = field(default_factory=list)
    inits: dict[str, Choice] = field(default_factory=dict)
    _growing: dict[str, _Growing] = field(default_factory=dict)
    _known: set[str] = field(default_factory=set)

    def add(self, setting: Setting, point: dict[str, Json], identity: Identity, due: Due, seeds: Iterable[int]) -> None:
        """One variant with all its seeds."""
        self.settings[identity.variant] = setting
        self.points[identity.variant] = point
        for seed in seeds:
            state = identity.state(seed)
            self.inits[state] = setting["init"]
            key = identity.trajectory(state)
            run = Run(digest(["run", key, identity.steps]), key, identity.steps, identity.variant, seed)
            self.runs.append(run)
            self._measure(run, state, self._grow(run, setting), due)

    def _grow(self, run: Run, setting: Setting) -> _Growing:
        """The trajectory of a run; the longest run on it decides its steps."""
        growing = self._growing.setdefault(run.trajectory, _Growing(run.seed, setting, run.steps))
        if run.steps > growing.steps:
            growing.setting, growing.steps = setting, run.steps
        return growing

    def _measure(self, run: Run, state: str, growing: _Growing, due: Due) -> None:
        """What the run needs; what nobody measured yet is measured on its trajectory."""
        for step, probes in due.items():
            at = state if step == 0 else run.trajectory
            for probe_key, probe in probes:
                key = digest(["measurement", at, step, probe_key])
                self.needs.append((run.key, step, probe, key))
                if key not in self._known:
                    self._known.add(key)
                    growing.measurements.append(Measurement(key, step, probe))

    def trajectories(self) -> tuple[Trajectory, ...]:
        """The trajectories in the order of their first runs; measurements by step."""
        return tuple(
            Trajectory(key, t.seed, t.setting, t.steps, tuple(sorted(t.measurements, key=lambda m: m.step)))
            for key, t in self._growing.items()
        )


def gather(checked: Checked, this: Round) -> Work:
    """The work that one round of a checked spec asks for; runs that choose are not measured."""
    work, identities = Work(), checked.identities
    probes = [] if this.undecided else checked.questions.probes
    schedules: dict[int, Due] = {}
    for setting, point in this.settings:
        identity = identities.of(setting)
        if identity.steps not in schedules:
            schedules[identity.steps] = _due(probes, identity.steps, identities)
        work.add(setting, point, identity, schedules[identity.steps], this.experiment.seeds)
    return work


def _due(probes: Iterable[Asked], steps: int, identities: Identities) -> Due:
    """Which probes look at a run of ``steps`` updates, and when; one that is listed twice looks once."""
    found: dict[int, dict[str, Choice]] = {}
    for probe in probes:
        key = str(identities.choice("probe", probe.choice))
        for step in due(probe.at, steps):
            found.setdefault(step, {})[key] = probe.choice
    return {step: list(each.items()) for step, each in sorted(found.items())}
