"""Every check of a spec before anything is run: the front end of the compiler."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from lnlab.compile.checks.answers import answer_issues
from lnlab.compile.checks.citations import citation_issues, cited_inputs
from lnlab.compile.checks.probe_times import probe_time_issues
from lnlab.compile.content_keys import ContentKeys
from lnlab.compile.cost.cost import machine_memory
from lnlab.compile.digests import Input
from lnlab.compile.resolve.choices import Registries
from lnlab.compile.resolved_sweep import ResolvedSweep, resolve_sweep
from lnlab.compile.selection.axes import Axes
from lnlab.compile.selection.grid_conditions import Grids, replace_grids, requirements_without_grids
from lnlab.compile.selection.inheritance import with_claims_written_out
from lnlab.compile.selection.measured_quantities import quantities_of, splits_of, stated_facts
from lnlab.compile.selection.requested import ResolvedRequests, resolve_requests, selection_issues
from lnlab.compile.selection.selection import SelectionContext
from lnlab.compile.selection.variants import Variants
from lnlab.compile.source_runs import SourceRun, resolve_sources
from lnlab.compile.source_spans import SourceLocation, as_problems, problems_in_order
from lnlab.compile.sweep.methods import METHODS
from lnlab.compile.sweep.overlay import Issues, MergedSpec, merge_spec
from lnlab.compile.tuning.problems import TuningPlan, plan_tuning, variants_of
from lnlab.compile.tuning.select import SELECT, resolve_select
from lnlab.compile.work import ResolvedSetting
from lnlab.errors import Problem, SpecError
from lnlab.keys import Json
from lnlab.registry import Flaw, Flawed, Roots
from lnlab.specfile.citations import EVIDENCE
from lnlab.specfile.columns import TIMES
from lnlab.specfile.experiment import SETTING, Experiment
from lnlab.specfile.load import SpecDocument
from lnlab.specfile.override import Override, parse_override
from lnlab.specfile.read import Reading, read_experiment

MOST_RUNS = 1_000_000
PROFILE_POINTS = 100
"""Points that are checked of each profile that is not chosen."""


@dataclass
class Checked:
    """A checked spec with what was derived on the way. It is valid where ``problems`` is empty."""

    document: SpecDocument
    merged: MergedSpec
    experiment: Experiment
    sweep: ResolvedSweep
    requests: ResolvedRequests
    axes: Axes
    content_keys: ContentKeys
    tuning: TuningPlan | None = None
    cited: tuple[Input, ...] = ()
    sources: dict[str, SourceRun] = field(default_factory=dict)
    source_files: tuple[Input, ...] = ()
    problems: list[Problem] = field(default_factory=list)

    @property
    def settings(self) -> list[ResolvedSetting]:
        """The resolved settings, each once, in the order of the sweep."""
        return self.sweep.settings

    def point(self, number: int) -> dict[str, Json]:
        """The values of the axes at a setting, by its number."""
        return self.axes.point(self.settings[number], self.sweep.methods[number])

    @property
    def inputs(self) -> tuple[Input, ...]:
        """The files whose content the plan depends on."""
        return (*self.sweep.inputs, *self.cited, *self.source_files)


def check_spec(
    document: SpecDocument,
    registries: Registries,
    roots: Roots,
    *,
    profile: str | None,
    overrides: Sequence[str],
    memory: int | None = None,
    files: bool = True,
    ancestors: tuple[Path, ...] = (),
) -> Checked:
    """Check everything; ``problems`` of the result are in the order of the file, those of arguments last.

    Without ``files`` no corpus is read and no other spec, and what depends on one is not checked: the length of an
    epoch, peak memory, the runs that others begin with. ``ancestors`` are the specs whose runs begin with these.
    """
    changes, argument_problems = parse_overrides(overrides)
    merged = with_claims_written_out(merge_spec(document, profile, changes), registries)
    reading = read_experiment(merged.data)
    content_keys = ContentKeys(registries, roots)
    available_memory = machine_memory() if memory is None else memory
    sweep = resolve_sweep(reading, merged, content_keys, available_memory if files else None)
    requests = resolve_requests(reading, merged, registries)
    axes = Axes(sweep.axes, registries)
    checked = Checked(document, merged, reading.experiment, sweep, requests, axes, content_keys)
    source_issues = resolve_sources(checked, profile, ancestors, partial(check_spec, memory=memory)) if files else []
    issues: Issues = [*merged.issues, *merged.located(reading.flaws), *sweep.issues, *requests.issues, *source_issues]
    issues += probe_time_issues(requests, sweep, merged, registries) if files and not sweep.partial else []
    issues += citation_issues(requests, merged, document, registries)
    issues += answer_issues(reading.experiment, merged, document, registries)
    checked.cited = cited_inputs(requests, document) if files else ()
    checked.tuning, tuning_issues = _resolve_tuning(reading, merged, sweep, axes)
    issues += [*tuning_issues, *_issues_of_experiment(reading, checked)]
    issues += _issues_of_other_profiles(document, profile, content_keys)
    if not (merged.issues or sweep.issues or tuning_issues or any(map(_hides_runs, reading.flaws))):
        flaws = (*reading.flaws, *(flaw for _, flaw in requests.issues))
        every_probe = not any(flaw.path[:1] == ("probes",) for flaw in flaws)
        chosen = checked.tuning.select.path if checked.tuning else None
        grids = Grids(sweep, axes, merged.grid_names, chosen)
        issues += replace_grids(requests, grids, merged)
        checked.experiment = requirements_without_grids(reading.experiment, grids)
        issues += selection_issues(requests, _selection_context(checked, every_probe=every_probe), merged)
    checked.problems = problems_in_order(document, argument_problems + as_problems(document, issues))
    return checked


def parse_overrides(arguments: Sequence[str]) -> tuple[list[Override], list[tuple[SourceLocation, Problem]]]:
    """The overrides that can be read, and what is wrong with the others."""
    overrides: list[Override] = []
    unreadable: list[tuple[SourceLocation, Problem]] = []
    for argument in arguments:
        try:
            overrides.append(parse_override(argument))
        except SpecError as error:
            unreadable += [(SourceLocation(argument=problem.where), problem) for problem in error.problems]
    return overrides, unreadable


def _hides_runs(flaw: Flaw) -> bool:
    """Whether a flaw of the grammar hides some runs, so that a selection may select none because of it."""
    return bool(flaw.path) and flaw.path[0] in (*SETTING, METHODS, SELECT, "sweep", "seeds")


def _issues_of_other_profiles(document: SpecDocument, chosen: str | None, content_keys: ContentKeys) -> Issues:
    """What is wrong with the lines of the profiles that are not chosen, as far as their first points show it."""
    profiles = document.data.get("profiles")
    issues: Issues = []
    for name in profiles if isinstance(profiles, dict) else ():
        if name != chosen:
            merged = with_claims_written_out(merge_spec(document, name, []), content_keys.registries)
            reading = read_experiment(merged.data)
            profile_issues = [*merged.issues, *merged.located(reading.flaws)]
            profile_issues += resolve_sweep(reading, merged, content_keys, None, limit=PROFILE_POINTS).issues
            profile_issues += resolve_requests(reading, merged, content_keys.registries).issues
            profile_issues += resolve_select(reading, merged, content_keys.registries)[1]
            issues += [(location, flaw) for location, flaw in profile_issues if location.path[:2] == ("profiles", name)]
    return issues


def _resolve_tuning(
    reading: Reading, merged: MergedSpec, sweep: ResolvedSweep, axes: Axes
) -> tuple[TuningPlan | None, Issues]:
    """What is to be decided before anything is judged, and what is wrong with it."""
    select, issues = resolve_select(reading, merged, axes.registries)
    if select is None or sweep.issues or sweep.partial or merged.issues:
        return None, issues
    try:
        return plan_tuning(select, sweep, axes), []
    except Flawed as error:
        return None, merged.located(error.flaws)


def _issues_of_experiment(reading: Reading, checked: Checked) -> Issues:
    """What is wrong with the experiment as a whole."""
    issues: Issues = []
    sweep, merged = checked.sweep, checked.merged
    runs = len(sweep.settings) * len(reading.experiment.seeds)
    if checked.tuning is not None:
        candidates = sum(len(tuning_problem.candidates) for tuning_problem in checked.tuning.problems)
        runs = candidates * len(checked.tuning.select.seeds)
        runs += checked.tuning.judged_variants * len(reading.experiment.seeds)
    if runs > MOST_RUNS:
        flaw = Flaw(("seeds",), f"{runs:,} runs; at most {MOST_RUNS:,}", "sweep fewer values, or take fewer seeds")
        issues.append((merged.location(("seeds",)), flaw))
    trains = any(setting["train"]["steps"] for setting in sweep.settings)
    only_cites = bool(checked.requests.claims) and all(EVIDENCE in claim.choice for claim in checked.requests.claims)
    if "probes" not in merged.data and sweep.settings and not (trains or sweep.partial or only_cites):
        issues.append((merged.location(()), Flaw((), "nothing would be measured", "add probes: [{kind: ...}]")))
    return issues


def _selection_context(checked: Checked, *, every_probe: bool) -> SelectionContext:
    """What selections are checked against; of quantities nothing unless every probe is sound."""
    memo: list[Variants | None] = []

    def unchanged() -> Variants | None:
        if not memo:
            memo.append(_unchanged_variants(checked) if checked.merged.touched else None)
        return memo[0]

    context = _context_without_quantities(checked, unchanged)
    trained = any(steps for steps, _ in context.variants.at("train.steps"))
    trained = trained or (checked.merged.touched and _names_training(checked.document.data))
    splits = splits_of(checked.requests, trained=trained)
    quantities = None
    if every_probe:
        quantities = quantities_of(checked.requests, checked.content_keys.registries, splits, trained=trained)
    return replace(context, quantities=quantities, splits=splits, spec=checked.document.data)


def _context_without_quantities(checked: Checked, unchanged: Callable[[], Variants | None]) -> SelectionContext:
    """What selections are checked against, but for the quantities."""
    registries = checked.content_keys.registries
    quantity_facts: dict[str, Any] = {
        "taken_over": stated_facts(registries, "over"),
        "told_by": stated_facts(registries, "told_by"),
        "against": stated_facts(registries, "reference"),
    }
    rules = list(registries["convergence"].entries) if "convergence" in registries else None
    seeds, tuning_plan = checked.experiment.seeds, checked.tuning
    if tuning_plan is None:
        variants = Variants(checked.settings, checked.sweep.methods)
        return SelectionContext(variants, checked.point, unchanged, seeds, None, rules=rules, **quantity_facts)
    judged, path = tuning_plan.assumed(checked.settings), tuning_plan.select.path

    def point(number: int) -> dict[str, Json]:
        """The axes that a claim may pin; what is chosen is none of them."""
        values = checked.axes.point(judged[number].setting, judged[number].method)
        return {axis: value for axis, value in values.items() if axis != path} | {TIMES: judged[number].times}

    context = SelectionContext(variants_of(judged), point, unchanged, seeds, None, rules=rules, **quantity_facts)
    return replace(context, chosen=path)


def _unchanged_variants(checked: Checked) -> Variants | None:
    """The variants of the spec without profile and overrides; None where it has none of its own."""
    base = merge_spec(checked.document, None, [])
    reading = read_experiment(base.data)
    sweep = resolve_sweep(reading, base, checked.content_keys, memory=None)
    tuning_plan, issues = _resolve_tuning(reading, base, sweep, Axes(sweep.axes, checked.content_keys.registries))
    if sweep.issues or issues:
        return None
    return variants_of(tuning_plan.assumed(sweep.settings)) if tuning_plan else Variants(sweep.settings, sweep.methods)


def _names_training(data: Json) -> bool:
    """Whether the file of a spec sets anything of training, in the base or in a grid."""
    sweep = data.get("sweep")
    grids = list(sweep.values()) if isinstance(sweep, dict) else sweep if isinstance(sweep, list) else []
    swept = [key for grid in grids if isinstance(grid, dict) for key in grid]
    return "train" in data or any(key.startswith("train.") for key in swept)
