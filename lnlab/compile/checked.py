"""A spec as checked so far, which each pass of ``compile.check`` reads and extends."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lnlab.compile.content_keys import ContentKeys, VariantKeys
from lnlab.compile.digests import Input
from lnlab.compile.interned import InternedSetting, Variant
from lnlab.compile.resolve.choices import Registries
from lnlab.compile.resolved_sweep import ResolvedSweep
from lnlab.compile.selection.axes import Axes
from lnlab.compile.selection.requested import ResolvedRequests
from lnlab.compile.sweep.methods import METHODS
from lnlab.compile.sweep.overlay import MergedSpec
from lnlab.compile.tuning.choose import CHOOSE, TuningChoice
from lnlab.compile.tuning.problems import TuningPlan
from lnlab.issues import Issue, Where
from lnlab.keys import Json
from lnlab.specfile.experiment import SETTING, Experiment
from lnlab.specfile.load import SpecDocument
from lnlab.specfile.read import Reading


@dataclass(frozen=True)
class CheckedSpec:
    """A checked spec with what was derived on the way. It is valid where ``issues`` is empty.

    Attributes:
        document: the spec's file.
        profile: that it is checked in.
        merged: with profile and overrides.
        reading: of what is merged, by the grammar.
        experiment: what was read. Once runs are known, what its claims require no longer names grids.
        content_keys: of its settings.
        memory: bytes that one run may need at its peak. None means unlimited, and that no file is read.
        limit: number of points of the sweep that are checked. None means all.
        sweep: its settings.
        axes: what they vary in.
        ancestors: the specs whose runs begin with these.
        requests: its probes, sections and claims.
        choices: what it chooses on tuning seeds.
        tuning: how it does.
        grid_seeds: the grids with seeds of their own: the name of each, the conditions that its runs meet, its seeds.
        grids_of_choices: by the place of a choice, the names of the grids that it is for and the conditions that their
            runs meet. Both are empty where it is for all.
        cited: the files of verdicts that its claims cite.
        sources: the runs of other specs that its own begin with, by the canonical text of their init.
        source_files: what these depend on.
        issues: what is wrong with it, as the user reads it.
    """

    document: SpecDocument
    profile: str | None
    merged: MergedSpec
    reading: Reading
    experiment: Experiment
    content_keys: ContentKeys
    memory: int | None
    limit: int | None
    sweep: ResolvedSweep
    axes: Axes
    ancestors: tuple[Path, ...] = ()
    requests: ResolvedRequests = field(default_factory=ResolvedRequests)
    choices: tuple[TuningChoice, ...] = ()
    tuning: TuningPlan | None = None
    grid_seeds: tuple[Mapping[str, Json], ...] = ()
    grids_of_choices: Mapping[Where, tuple[tuple[str, ...], Mapping[str, Json]]] = field(default_factory=dict)
    cited: tuple[Input, ...] = ()
    sources: Mapping[str, "SourceRun"] = field(default_factory=dict)
    source_files: tuple[Input, ...] = ()
    issues: Sequence[Issue] = ()

    @property
    def registries(self) -> Registries:
        """The registries of the pieces that choices name."""
        return self.content_keys.registries

    @property
    def reads_files(self) -> bool:
        """Whether corpora and other specs are read."""
        return self.memory is not None

    @property
    def settings(self) -> list[InternedSetting]:
        """The resolved settings, each once, in the order of the sweep."""
        return self.sweep.settings

    @property
    def knows_its_runs(self) -> bool:
        """Whether no mistake hides runs. Only then is an empty selection a mistake by itself."""
        hiding = (*SETTING, METHODS, CHOOSE, "sweep", "seeds", "grid_seeds")
        chosen = self.tuning is not None or not self.experiment.choose
        grammar = any(flaw.path[:1] and flaw.path[0] in hiding for flaw in self.reading.issues)
        return chosen and not (self.merged.issues or self.sweep.issues or self.sweep.cut or grammar)

    @property
    def judged(self) -> Sequence[Variant]:
        """The variants that are judged, in the order of the sweep: of what is chosen, at the first candidate."""
        return self.sweep.variants if self.tuning is None else self.tuning.assumed()

    def seeds_of(self, grids: Collection[int]) -> tuple[int, ...]:
        """The seeds of runs of these grids, without those of single claims."""
        experiment, names = self.experiment, self.merged.grid_names
        if not experiment.grid_seeds:
            return experiment.seeds
        own = (experiment.grid_seeds.get(names[grid], experiment.seeds) for grid in sorted(grids) if names)
        return tuple(dict.fromkeys(seed for seeds in own for seed in seeds))

    @property
    def inputs(self) -> tuple[Input, ...]:
        """The files whose content the plan depends on."""
        return (*self.sweep.inputs, *self.cited, *self.source_files)


@dataclass(frozen=True)
class SourceRun:
    """A run of another spec at the step whose state others begin with. Its seed is theirs unless one is named.

    Attributes:
        checked: the other spec.
        setting: resolved.
        keys: of the setting.
        step: of the state.
        seed: the only seed. None means the seed of the run that begins with it.
    """

    checked: CheckedSpec
    setting: InternedSetting
    keys: VariantKeys
    step: int
    seed: int | None

    @property
    def content(self) -> list[Json]:
        """What it adds to the key of an initial state, besides that state's own seed."""
        return [self.keys.start, self.keys.movement, self.step, self.seed]

    def seed_for(self, seed: int) -> int:
        """The seed of the run that a run of ``seed`` begins with."""
        return seed if self.seed is None else self.seed
