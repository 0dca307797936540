"""Settings, seeds and probes -> runs and trajectories, each state and each measurement once."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from lnlab.compile.check import Checked
from lnlab.compile.content_keys import Identities, Identity
from lnlab.compile.resolve.epochs import counts_epochs, moments
from lnlab.compile.selection.requested import Asked
from lnlab.compile.stages import Round
from lnlab.compile.work import Measurement, Run, Setting, Trajectory, looks_ahead
from lnlab.keys import Json, canonical, digest
from lnlab.registry import Choice
from lnlab.specfile.columns import EVALUATION

Due = dict[int, list[tuple[str, Choice, bool]]]
"""Step -> the probes due there: key, choice, and whether it looks ahead at what moves the state."""


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
            for probe_key, probe, ahead in probes:
                at = state if step == 0 and not ahead else run.trajectory
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
    schedules: dict[tuple[int, float | None, str], Due] = {}
    for setting, point in this.settings:
        identity, looks = identities.of(setting), _looks(probes, setting, identities)
        epoch = checked.settled.epochs.updates(setting) if any(counts_epochs(at) for _, at in looks) else None
        name = (identity.steps, epoch, canonical(setting["train"]["evaluate"]))
        if name not in schedules:
            schedules[name] = _due(looks, identity.steps, epoch, identities)
        work.add(setting, point, identity, schedules[name], this.experiment.seeds)
    return work


def _looks(asked: Iterable[Asked], setting: Setting, identities: Identities) -> list[tuple[Choice, Json]]:
    """The probes that look at a run, and when; a run that trains is evaluated too."""
    looks = [(probe.choice, probe.at) for probe in asked]
    probes, train = identities.registries["probe"], setting["train"]
    if train["steps"] and EVALUATION in probes.entries:
        looks.insert(0, (probes.resolve(EVALUATION), train["evaluate"]))
    return looks


def _due(looks: list[tuple[Choice, Json]], steps: int, epoch: float | None, identities: Identities) -> Due:
    """Which probes look at a run of ``steps`` updates, by step; one that is listed twice looks once."""
    found: dict[int, dict[str, tuple[str, Choice, bool]]] = {}
    for choice, at in looks:
        entry, key = identities.registries["probe"][choice["kind"]], str(identities.choice("probe", choice))
        ahead = looks_ahead(identities.registries["probe"], choice)
        for step in moments(entry, at, steps, epoch):
            found.setdefault(step, {})[key] = key, choice, ahead
    return {step: list(probes.values()) for step, probes in sorted(found.items())}
