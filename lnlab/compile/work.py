"""The plan as data: what is run, from which initial states, and what is measured along the way, each thing once."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from lnlab.compile.decisions import Decision, Undecided
from lnlab.compile.digests import PlanIdentity
from lnlab.compile.files_read import FilesRead
from lnlab.keys import Json
from lnlab.registry import Choice, Registry
from lnlab.specfile.experiment import Experiment

ResolvedSetting = dict[str, Json]


@dataclass(frozen=True, slots=True)
class Measurement:
    """A probe (resolved, without ``at``) applied to the state of a trajectory after ``step`` updates."""

    key: str
    step: int
    probe: Choice


@dataclass(frozen=True, slots=True)
class StateAddress:
    """A state of a trajectory, by its key and the updates made."""

    trajectory: str
    step: int


@dataclass(frozen=True, slots=True)
class Trajectory:
    """The unit of work: an initial state and all that moves it, with the measurements due along the way.

    Attributes:
        key: of its initial state and all that moves it.
        seed: the replicate.
        setting: resolved.
        steps: updates to make.
        measurements: by step.
        origin: the state of another run that it begins with, as part of the key.
        weights: of that state, as safetensors. None until the unit is handed out.
        kept: whether its last state is such an origin, and so is saved however short it is.
        task: key of its task as the plan has it, with the content of the files that it reads. None where no plan has.
    """

    key: str
    seed: int
    setting: ResolvedSetting
    steps: int
    measurements: tuple[Measurement, ...]
    origin: StateAddress | None = None
    weights: bytes | None = None
    kept: bool = False
    task: str | None = None


@dataclass(frozen=True, slots=True)
class Run:
    """A variant with a seed: the first ``steps`` updates of its trajectory."""

    key: str
    trajectory: str
    steps: int
    variant: str
    seed: int


@dataclass(frozen=True, slots=True)
class DataPass:
    """An init that reads data: how many batches, or None for every batch of an epoch, and how often."""

    init: str
    batches: int | None
    times: int


@dataclass(frozen=True, kw_only=True)
class Stage:
    """What is asked before results are evaluated again: the tuning runs, or the runs that are judged.

    Attributes:
        experiment: after profile and overrides: title, source, claims, report. Tuning runs are not measured, and
            nothing is claimed of them.
        axes: dotted paths that some grid of the sweep varies, as the spec writes them.
        claims: resolved parameters of each claim's kind, in the order of the spec (common fields: ``experiment``).
        sections: the same of each section of the report.
        undecided: what these runs are to choose on tuning seeds. Empty means that they are judged.
        decisions: what was chosen so.
        later: how many runs follow once that is decided.
        grid_seeds: the grids with seeds of their own: ``grid``, ``where`` (the conditions that its runs meet) and
            ``seeds``.
    """

    experiment: Experiment
    axes: tuple[str, ...]
    claims: tuple[Choice, ...] = ()
    sections: tuple[Choice, ...] = ()
    undecided: tuple[Undecided, ...] = ()
    decisions: tuple[Decision, ...] = ()
    later: int = 0
    grid_seeds: tuple[Mapping[str, Json], ...] = ()


@dataclass(frozen=True, kw_only=True)
class Plan(PlanIdentity, Stage):
    """Everything an experiment asks for. Settings and choices are shared between its parts: never change one.

    Attributes:
        settings: variant key -> resolved setting.
        points: variant key -> {axis: value}. A choice is its word where all its parameters are defaults.
        trajectories: merged by key. A measurement that several need belongs to the first.
        needs: (run key, step, resolved probe, measurement key).
        pins: what profile and overrides did to the sweep, in sentences.
        data_passes: what the inits read before any update, counted over distinct initial states.
        files_read: what its keys hold of files.
        sources: what is computed before it: runs of other specs whose last states these runs begin with, one plan for
            each spec and step, the smallest step first.
    """

    settings: dict[str, ResolvedSetting]
    points: dict[str, dict[str, Json]]
    runs: tuple[Run, ...]
    trajectories: tuple[Trajectory, ...]
    needs: tuple[tuple[str, int, Choice, str], ...]
    pins: tuple[str, ...]
    data_passes: tuple[DataPass, ...] = ()
    files_read: FilesRead = field(default_factory=FilesRead)
    sources: "tuple[Plan, ...]" = ()


def needs_next_update(probes: Registry[Any], choice: Choice) -> bool:
    """Whether a probe needs the next update, so that the run must have one."""
    return bool(probes[choice["kind"]].facts.ahead(choice))
