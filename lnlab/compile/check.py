"""Everything that can be wrong with a spec, found before anything is done: the front of the compiler."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from lnlab.compile.checks.probe_times import looks
from lnlab.compile.content_keys import Identities
from lnlab.compile.cost.cost import machine_memory
from lnlab.compile.digests import Input
from lnlab.compile.resolve.choices import Registries
from lnlab.compile.resolved_sweep import Settled, settle
from lnlab.compile.selection.axes import Axes
from lnlab.compile.selection.measured_quantities import quantities_of, splits_of, stated
from lnlab.compile.selection.requested import Questions, implausible, questions
from lnlab.compile.selection.selection import Ground
from lnlab.compile.selection.variants import Variants
from lnlab.compile.source_spans import Spot, in_order, problems
from lnlab.compile.sweep.methods import METHODS
from lnlab.compile.sweep.overlay import Draft, Found, draft
from lnlab.compile.tuning.problems import Tuning, tuning, variants_of
from lnlab.compile.tuning.select import SELECT, choosing
from lnlab.compile.work import Setting
from lnlab.errors import Problem, SpecError
from lnlab.keys import Json
from lnlab.registry import Flaw, Flawed, Roots
from lnlab.specfile.columns import TIMES
from lnlab.specfile.experiment import SETTING, Experiment
from lnlab.specfile.load import Document
from lnlab.specfile.override import Override, parse_override
from lnlab.specfile.read import Reading, read_experiment

MOST_RUNS = 1_000_000
GLANCE = 100
"""Points of a profile that is not chosen that are looked at all the same."""


@dataclass
class Checked:
    """A spec that was looked at from all sides. It is sound where ``problems`` is empty."""

    document: Document
    draft: Draft
    experiment: Experiment
    settled: Settled
    questions: Questions
    axes: Axes
    identities: Identities
    tuning: Tuning | None = None
    problems: list[Problem] = field(default_factory=list)

    @property
    def settings(self) -> list[Setting]:
        """The resolved settings, each once, in the order of the sweep."""
        return self.settled.settings

    def point(self, number: int) -> dict[str, Json]:
        """The values of the axes at a setting, by its number."""
        return self.axes.point(self.settings[number], self.settled.methods[number])

    @property
    def inputs(self) -> tuple[Input, ...]:
        """The files whose content the plan depends on."""
        return self.settled.inputs


def check(
    document: Document,
    registries: Registries,
    roots: Roots,
    *,
    profile: str | None,
    overrides: Sequence[str],
    memory: int | None = None,
    files: bool = True,
) -> Checked:
    """Look at everything; ``problems`` of the result are in the order of the file, those of arguments last.

    Without ``files`` no corpus is looked at, and nothing that depends on one: how long an epoch is, who has memory.
    """
    given, arguments = _overrides(overrides)
    made = draft(document, profile, given)
    reading = read_experiment(made.data)
    identities = Identities(registries, roots)
    available = machine_memory() if memory is None else memory
    settled = settle(reading, made, identities, available if files else None)
    asked = questions(reading, made, registries)
    axes = Axes(settled.axes, registries)
    checked = Checked(document, made, reading.experiment, settled, asked, axes, identities)
    found: Found = made.flaws + [(made.spot(flaw.path), flaw) for flaw in reading.flaws] + settled.found + asked.found
    found += looks(asked, settled, made, registries) if files and not settled.partial else []
    checked.tuning, wrong = _tuning(reading, made, settled, axes)
    found += wrong + _whole(reading, checked) + _others(document, profile, identities)
    if not made.flaws and not settled.found and not wrong and not any(_shapes(flaw) for flaw in reading.flaws):
        flaws = (*reading.flaws, *(flaw for _, flaw in asked.found))
        every_probe = not any(flaw.path[:1] == ("probes",) for flaw in flaws)
        found += implausible(asked, _ground(checked, every_probe=every_probe), made)
    checked.problems = in_order(document, arguments + problems(document, found))
    return checked


def _overrides(arguments: Sequence[str]) -> tuple[list[Override], list[tuple[Spot, Problem]]]:
    """The overrides that can be read, and what is wrong with the others."""
    given: list[Override] = []
    wrong: list[tuple[Spot, Problem]] = []
    for argument in arguments:
        try:
            given.append(parse_override(argument))
        except SpecError as error:
            wrong += [(Spot(argument=each.where), each) for each in error.problems]
    return given, wrong


def _shapes(flaw: Flaw) -> bool:
    """Whether a flaw of the grammar hides part of the runs, so that a selection may find nothing because of it."""
    return bool(flaw.path) and flaw.path[0] in (*SETTING, METHODS, SELECT, "sweep", "seeds")


def _others(document: Document, chosen: str | None, identities: Identities) -> Found:
    """What is wrong with the lines of the profiles that are not chosen, as far as their first points show it."""
    profiles = document.data.get("profiles")
    found: Found = []
    for name in profiles if isinstance(profiles, dict) else ():
        if name != chosen:
            made = draft(document, name, [])
            reading = read_experiment(made.data)
            flaws = made.flaws + [(made.spot(flaw.path), flaw) for flaw in reading.flaws]
            flaws += settle(reading, made, identities, None, most=GLANCE).found
            flaws += questions(reading, made, identities.registries).found
            flaws += choosing(reading, made, identities.registries)[1]
            found += [(spot, flaw) for spot, flaw in flaws if spot.path[:2] == ("profiles", name)]
    return found


def _tuning(reading: Reading, made: Draft, settled: Settled, axes: Axes) -> tuple[Tuning | None, Found]:
    """What is to be decided before anything is judged, and what is wrong with it."""
    chosen, found = choosing(reading, made, axes.registries)
    if chosen is None or settled.found or settled.partial or made.flaws:
        return None, found
    try:
        return tuning(chosen, settled, axes), []
    except Flawed as error:
        return None, [(made.spot(flaw.path), flaw) for flaw in error.flaws]


def _whole(reading: Reading, checked: Checked) -> Found:
    """What is wrong with the experiment as a whole."""
    found: Found = []
    settled, made = checked.settled, checked.draft
    runs = len(settled.settings) * len(reading.experiment.seeds)
    if checked.tuning is not None:
        tried = sum(len(contest.candidates) for contest in checked.tuning.contests)
        runs = tried * len(checked.tuning.choosing.seeds)
        runs += checked.tuning.judged_variants * len(reading.experiment.seeds)
    if runs > MOST_RUNS:
        flaw = Flaw(("seeds",), f"{runs:,} runs; at most {MOST_RUNS:,}", "sweep fewer values, or take fewer seeds")
        found.append((made.spot(("seeds",)), flaw))
    trains = any(setting["train"]["steps"] for setting in settled.settings)
    if "probes" not in made.data and settled.settings and not (trains or settled.partial):
        found.append((made.spot(()), Flaw((), "nothing would be measured", "add probes: [{kind: ...}]")))
    return found


def _ground(checked: Checked, *, every_probe: bool) -> Ground:
    """What selections are checked against; of quantities nothing unless every probe is sound."""
    memo: list[Variants | None] = []

    def unchanged() -> Variants | None:
        if not memo:
            memo.append(_unchanged(checked) if checked.draft.touched else None)
        return memo[0]

    ground = _ungrounded(checked, unchanged)
    trained = any(steps for steps, _ in ground.variants.at("train.steps"))
    trained = trained or (checked.draft.touched and _names_training(checked.document.data))
    splits = splits_of(checked.questions, trained=trained)
    quantities = None
    if every_probe:
        quantities = quantities_of(checked.questions, checked.identities.registries, splits, trained=trained)
    return replace(ground, quantities=quantities, splits=splits, spec=checked.document.data)


def _ungrounded(checked: Checked, unchanged: Callable[[], Variants | None]) -> Ground:
    """What selections are checked against, but for the quantities."""
    registries = checked.identities.registries
    facts: dict[str, Any] = {
        "taken_over": stated(registries, "over"),
        "told_by": stated(registries, "told_by"),
        "against": stated(registries, "reference"),
    }
    rules = list(registries["convergence"].entries) if "convergence" in registries else None
    seeds, tuned = checked.experiment.seeds, checked.tuning
    if tuned is None:
        variants = Variants(checked.settings, checked.settled.methods)
        return Ground(variants, checked.point, unchanged, seeds, None, rules=rules, **facts)
    judged, path = tuned.assumed(checked.settings), tuned.choosing.path

    def point(number: int) -> dict[str, Json]:
        """The axes that a claim may pin; what is chosen is none of them."""
        found = checked.axes.point(judged[number].setting, judged[number].method)
        return {axis: value for axis, value in found.items() if axis != path} | {TIMES: judged[number].times}

    ground = Ground(variants_of(judged), point, unchanged, seeds, None, rules=rules, **facts)
    return replace(ground, chosen=path)


def _unchanged(checked: Checked) -> Variants | None:
    """The variants of the spec without profile and overrides; None where it has none of its own."""
    plain = draft(checked.document, None, [])
    reading = read_experiment(plain.data)
    settled = settle(reading, plain, checked.identities, memory=None)
    tuned, found = _tuning(reading, plain, settled, Axes(settled.axes, checked.identities.registries))
    if settled.found or found:
        return None
    return variants_of(tuned.assumed(settled.settings)) if tuned else Variants(settled.settings, settled.methods)


def _names_training(data: Json) -> bool:
    """Whether a spec says anything of training, whatever a profile makes of it."""
    grids = data.get("sweep")
    swept = [key for grid in (grids if isinstance(grids, list) else ()) if isinstance(grid, dict) for key in grid]
    return "train" in data or any(key.startswith("train.") for key in swept)
