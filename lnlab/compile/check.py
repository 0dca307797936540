"""Every check of a spec before anything is run: the front end of the compiler, a tuple of passes.

A pass takes the spec as checked so far. It returns the spec with its additions, and the issues that it found.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

from lnlab.compile.checked import CheckedSpec
from lnlab.compile.content_keys import ContentKeys
from lnlab.compile.cost.cost import machine_memory
from lnlab.compile.files_read import FilesRead
from lnlab.compile.interned import unevaluated
from lnlab.compile.resolve.choices import Registries
from lnlab.compile.resolve.epochs import Epochs
from lnlab.compile.resolved_sweep import ResolvedSweep, resolve_sweep, variants_of
from lnlab.compile.same_runs import same_run_issues
from lnlab.compile.selection.axes import Axes
from lnlab.compile.selection.citations import answer_issues, citation_issues, cited_inputs
from lnlab.compile.selection.claim_seeds import claims_of_grids
from lnlab.compile.selection.grid_conditions import Grids, replace_grids, requirements_without_grids
from lnlab.compile.selection.inheritance import whole_spec
from lnlab.compile.selection.probe_times import measurement_issues, probe_time_issues
from lnlab.compile.selection.requested import resolve_requests
from lnlab.compile.source_runs import resolve_sources
from lnlab.compile.tuning.choose import tuning_choices
from lnlab.compile.tuning.problems import plan_tuning
from lnlab.issues import Issue, Where
from lnlab.keys import Json
from lnlab.registry import Choice, Flawed, Roots
from lnlab.specfile.citations import EVIDENCE
from lnlab.specfile.columns import GRID
from lnlab.specfile.experiment import ClaimText, Experiment
from lnlab.specfile.load import SpecDocument
from lnlab.specfile.read import read_experiment

MOST_RUNS = 150_000
"""Their plan fits into 4 GB: a run takes 8 kB, and 25 kB beside a store that has them all (at 100,000 runs)."""
PROFILE_POINTS = 100
"""Points that are checked of each profile that is not chosen, and of a spec whose grammar is wrong."""
Pass = Callable[[CheckedSpec], tuple[CheckedSpec, list[Issue]]]


def check_spec(
    document: SpecDocument,
    registries: Registries,
    roots: Roots,
    *,
    profile: str | None,
    overrides: Sequence[str],
    memory: int | None = None,
    files: bool = True,
    known_files: FilesRead | None = None,
    other_profiles: bool = True,
    ancestors: tuple[Path, ...] = (),
) -> CheckedSpec:
    """Check everything. The ``issues`` of the result are in the order of the file, those of arguments last.

    Without ``files`` no corpus is read and no other spec, and what depends on one is not checked: the length of an
    epoch, peak memory, the runs that others begin with. What is in ``known_files`` is not read. Without
    ``other_profiles`` the lines of those that are not chosen are not checked. ``ancestors`` are the specs whose runs
    begin with these.
    """
    # None also says that no file is read (``CheckedSpec.reads_files``).
    available_memory = (machine_memory() if memory is None else memory) if files else None
    content_keys = ContentKeys(registries, roots, known_files)
    begun = _begin(document, profile, overrides, content_keys, memory=available_memory)
    # What a passage between parts shows of a spec whose grammar is wrong mostly follows from that.
    passes = PASSES_OF_PARTS if begun.merged.issues or begun.reading.issues else PASSES
    checked, issues = run_passes(passes, replace(begun, ancestors=ancestors))
    issues = begun.merged.located(issues)
    # Of the profiles that are not chosen, as far as their first points show it, what is wrong with their own lines.
    profiles = document.data.get("profiles")
    for name in profiles if isinstance(profiles, dict) and other_profiles else ():
        if name != profile:
            other = _begin(document, name, (), checked.content_keys, limit=PROFILE_POINTS)
            found = other.merged.located(run_passes(PASSES_OF_PARTS, other)[1])
            issues += [issue for issue in found if issue.path[:2] == ("profiles", name)]
    return replace(checked, issues=document.as_read(issues))


def grammar_issues(
    document: SpecDocument, registries: Registries, profile: str | None, overrides: Sequence[str]
) -> list[Issue]:
    """What is wrong with a spec in itself, and with each piece of its settings, of which the first points are read.

    They are a part of the issues that ``check_spec`` finds, known without a probe, a claim, a section or a file.
    """
    begun = _begin(document, profile, overrides, ContentKeys(registries, ()), limit=PROFILE_POINTS)
    return document.as_read(begun.merged.located(run_passes((_read, _resolve), begun)[1]))


def sound_claims(
    document: SpecDocument, registries: Registries, profile: str | None, overrides: Sequence[str]
) -> tuple[Experiment, list[tuple[ClaimText, Choice]]]:
    """Every claim that can be resolved, with its resolved parameters. Flawed claims do not affect the others."""
    checked, _ = run_passes(PASSES, _begin(document, profile, overrides, ContentKeys(registries, ())))
    texts = {claim.id: claim for claim in checked.experiment.claims}
    return checked.experiment, [(texts[str(claim.path[1])], claim.choice) for claim in checked.requests.claims]


def located_issues(
    issues: Iterable[Issue],
    document: SpecDocument,
    registries: Registries,
    profile: str | None,
    overrides: Sequence[str],
) -> list[Issue]:
    """Issues of claims and sections as the user reads them, each once, in the order of the file.

    A part that a claim inherits is located in its section. A requirement by id is located at the claim of that id.

    Args:
        issues: with paths ``claims.<id>.<key>``, ``report.<number>.<key>``, or of the spec itself.
        document: the spec.
        registries: those of claims and sections.
        profile: its profile.
        overrides: the arguments of ``-s``.
    """
    return document.as_read(whole_spec(document, profile, overrides, registries).located(issues))


def run_passes(passes: Sequence[Pass], checked: CheckedSpec) -> tuple[CheckedSpec, list[Issue]]:
    """A spec after these passes, and everything that they say is wrong, in their order."""
    issues: list[Issue] = []
    for apply in passes:
        checked, more = apply(checked)
        issues += more
    return checked, issues


def _begin(
    document: SpecDocument,
    profile: str | None,
    overrides: Sequence[str],
    content_keys: ContentKeys,
    *,
    memory: int | None = None,
    limit: int | None = None,
) -> CheckedSpec:
    """A spec in one of its profiles, read and not yet checked."""
    registries = content_keys.registries
    merged = whole_spec(document, profile, overrides, registries)
    reading = read_experiment(merged.data)
    return CheckedSpec(
        document=document,
        profile=profile,
        merged=merged,
        reading=reading,
        experiment=reading.experiment,
        content_keys=content_keys,
        memory=memory,
        limit=limit,
        sweep=ResolvedSweep(Epochs(registries, content_keys.roots, reading=False)),
        axes=Axes((), registries),
    )


def _read(checked: CheckedSpec) -> tuple[CheckedSpec, list[Issue]]:
    """Report what is wrong with overlays and grammar."""
    return checked, [*checked.merged.issues, *checked.reading.issues]


def _resolve(checked: CheckedSpec) -> tuple[CheckedSpec, list[Issue]]:
    """Resolve the settings, only the first ones of a spec with grammar issues, as it will be checked again."""
    limit = PROFILE_POINTS if checked.reading.issues else checked.limit
    sweep = resolve_sweep(checked.reading, checked.merged, checked.content_keys, checked.memory, limit)
    return replace(checked, sweep=sweep, axes=Axes(sweep.axes, checked.registries)), sweep.issues


def _request(checked: CheckedSpec) -> tuple[CheckedSpec, list[Issue]]:
    """Resolve probes, sections and claims, each by itself."""
    requests = resolve_requests(checked.reading, checked.merged, checked.registries)
    return replace(checked, requests=requests), requests.issues


def _refer(checked: CheckedSpec) -> tuple[CheckedSpec, list[Issue]]:
    """Find the runs of other specs that these begin with, and the claims that are cited or named in the answer."""
    merged, document, registries = checked.merged, checked.document, checked.registries
    issues = citation_issues(checked.requests, merged, document, registries)
    issues += answer_issues(checked.experiment, merged, document, registries)
    if not checked.reads_files:
        return checked, issues
    sources, source_files, flaws = resolve_sources(checked, partial(check_spec, memory=checked.memory))
    keys = checked.content_keys.with_continued({text: run.content for text, run in sources.items()})
    cited = cited_inputs(checked.requests, document)
    referring = replace(checked, sources=sources, source_files=source_files, content_keys=keys, cited=cited)
    return referring, flaws + issues


def _choose(checked: CheckedSpec) -> tuple[CheckedSpec, list[Issue]]:
    """Resolve what is chosen on tuning seeds, except for what depends on settings."""
    choices, issues = tuning_choices(checked.reading, checked.merged, checked.registries)
    return replace(checked, choices=choices), issues


def _tune(checked: CheckedSpec) -> tuple[CheckedSpec, list[Issue]]:
    """Plan what is decided before anything is judged."""
    sweep, merged = checked.sweep, checked.merged
    # Of half a sweep groups lack candidates, which follows from what is reported already.
    if not checked.choices or sweep.issues or sweep.partial or sweep.cut or merged.issues:
        return checked, []
    try:
        tuning = plan_tuning(checked.choices, sweep, checked.axes, merged.grid_names)
        return replace(checked, tuning=tuning), []
    except Flawed as error:
        return checked, list(error.issues)


def _tell_apart(checked: CheckedSpec) -> tuple[CheckedSpec, list[Issue]]:
    """Check that no two settings have the same runs, once all that a run depends on is known."""
    sweep = checked.sweep
    if not checked.reads_files or sweep.partial or sweep.epochs.absent or not checked.knows_its_runs:
        return checked, []
    return checked, same_run_issues(sweep, checked.content_keys)


def _seed(checked: CheckedSpec) -> tuple[CheckedSpec, list[Issue]]:
    """Check the names of grids with seeds of their own, and that no run is of two grids with different ones."""
    stated, names = checked.experiment.grid_seeds, checked.merged.grid_names
    unknown = [issue for name in stated for issue in checked.merged.unknown_grids(("grid_seeds", name), [name])]
    issues = [replace(issue, code="unknown-key") for issue in unknown]  # the name is a key here, and located as one
    if issues or not stated:
        return checked, issues
    apart: dict[tuple[str, str], Issue] = {}
    # Of what is chosen the candidates are compared where the choice is planned.
    grids_of_runs: dict[tuple[str, ...], set[int]] = {}
    for variant in checked.sweep.variants:
        grids_of_runs.setdefault(unevaluated(variant.setting).identity, set()).update(variant.grids)
    several: list[Collection[int]] = [*(variant.grids for variant in checked.judged), *grids_of_runs.values()]
    for grids in several:
        first, *others = sorted(grids)
        for other in others:
            pair = names[first], names[other]
            if set(checked.seeds_of({first})) != set(checked.seeds_of({other})):
                what = f"'{pair[0]}' and '{pair[1]}' have runs in common, and different seeds"
                remedy = "leave these runs out of one of them (except), or give both the same seeds"
                place = ("grid_seeds", pair[1] if pair[1] in stated else pair[0])
                apart[pair] = Issue("conflict", place, what, remedy)
    return checked, list(apart.values())


def _measure(checked: CheckedSpec) -> tuple[CheckedSpec, list[Issue]]:
    """Check where and when probes are applied, that runs are not too many, and that something is measured."""
    sweep = checked.sweep
    issues: list[Issue] = []
    if checked.reads_files and not sweep.partial:
        issues += probe_time_issues(checked.requests, sweep, checked.registries)
    # Of a spec that chooses, candidates run on the tuning seeds, and only what is judged runs on these.
    runs = sum(len(checked.seeds_of(variant.grids)) for variant in checked.judged)
    runs += 0 if checked.tuning is None else checked.tuning.tuning_runs
    if runs > MOST_RUNS:
        what = f"{runs:,} runs; at most {MOST_RUNS:,}"
        issues.append(Issue("too-large", ("seeds",), what, "sweep fewer values, or take fewer seeds"))
    elif checked.reads_files and not sweep.partial:
        issues += measurement_issues(checked.requests, sweep, checked.registries, runs)
    trains = any(variant.setting["train"]["steps"] for variant in sweep.variants)
    only_cites = bool(checked.requests.claims) and all(EVIDENCE in claim.choice for claim in checked.requests.claims)
    if "probes" not in checked.merged.data and sweep.variants and not (trains or sweep.partial or only_cites):
        issues.append(Issue("missing", (), "nothing would be measured", "add probes: [{kind: ...}]"))
    return checked, issues


def _find(checked: CheckedSpec) -> tuple[CheckedSpec, list[Issue]]:
    """Replace the grids that sections and claims name by conditions, now that the runs are known."""
    if not checked.knows_its_runs:
        return checked, []

    @cache
    def unchanged() -> CheckedSpec | None:
        """The runs of the spec without profile and overrides, or None where it has issues."""
        base, flaws = run_passes(_PASSES_OF_RUNS, _begin(checked.document, None, (), checked.content_keys))
        return None if flaws else base

    def grids_of(of: CheckedSpec, before: Callable[[], Grids | None] = lambda: None) -> Grids:
        chosen = of.tuning.paths if of.tuning else ()
        return Grids(of.sweep, of.axes, names=of.merged.grid_names, chosen=chosen, unchanged=before)

    def unchanged_grids() -> Grids | None:
        base = unchanged() if checked.merged.touched else None
        return None if base is None else grids_of(base)

    grids = grids_of(checked, unchanged_grids)
    requests, issues = replace_grids(checked.requests, grids)
    checked = replace(checked, requests=requests, experiment=requirements_without_grids(checked.experiment, grids))

    experiment, merged = checked.experiment, checked.merged
    if issues:  # what a flawed claim reads is not known
        return checked, issues

    def conditions(names: Sequence[str], place: Where) -> dict[str, Json]:
        """The conditions that the runs of these grids meet. What keeps them from being found is an issue."""
        try:
            return grids.conditions(list(names))
        except Flawed as error:
            issues.extend(replace(flaw, place=place) for flaw in error.issues)
            return {}

    of_choices: dict[Where, tuple[tuple[str, ...], Mapping[str, Json]]] = {}
    for choice in checked.choices:
        names = tuple(merged.grid_names[grid] for grid in sorted(choice.grids) if merged.grid_names)
        some = len(names) < len(merged.grid_names)
        of_choices[choice.place] = (names, conditions(names, (*choice.place, GRID))) if some else ((), {})
    checked = replace(checked, grids_of_choices=of_choices)
    if not experiment.grid_seeds or not set(experiment.grid_seeds) <= set(merged.grid_names):
        return checked, issues
    judged = checked.judged
    own = [checked.seeds_of(variant.grids) for variant in judged]
    claim_seeds, apart = claims_of_grids(variants_of(judged), own, requests, checked.registries, experiment.claim_seeds)
    issues += [flaw.below(*request.path) for request, flaw in apart]
    grid_seeds = tuple(
        {"grid": name, "where": conditions([name], ("grid_seeds", name)), "seeds": list(seeds)}
        for name, seeds in experiment.grid_seeds.items()
    )
    experiment = experiment.model_copy(update={"claim_seeds": claim_seeds})
    return replace(checked, experiment=experiment, grid_seeds=grid_seeds), issues


PASSES: tuple[Pass, ...] = (
    _read,
    _resolve,
    _request,
    _refer,
    _choose,
    _tune,
    _tell_apart,
    _seed,
    _measure,
    _find,
)
"""All of them, in this order. Each sees what those before it have added."""
PASSES_OF_PARTS = (_read, _resolve, _request, _choose, _seed)
"""Those that need neither a file nor every point of the sweep, and read each part by itself."""
_PASSES_OF_RUNS = (_resolve, _choose, _tune)
"""Those that say which runs there are."""
