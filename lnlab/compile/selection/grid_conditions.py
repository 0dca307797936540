"""``grid: name`` in a selection, replaced by conditions on axes: those that tell the grid's runs from all others."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from lnlab.compile.resolved_sweep import ResolvedSweep, variants_of
from lnlab.compile.selection.axes import Axes
from lnlab.compile.selection.requested import ResolvedRequest, ResolvedRequests
from lnlab.compile.sweep.overlay import unknown_grid
from lnlab.issues import Issue
from lnlab.keys import Json, canonical
from lnlab.registry import Choice, Flawed
from lnlab.select.selection import value_list
from lnlab.setting import path_words
from lnlab.specfile.columns import GRID
from lnlab.specfile.experiment import Experiment


class Grids:
    """The named grids of a sweep as conditions on its axes."""

    def __init__(
        self,
        sweep: ResolvedSweep,
        axes: Axes,
        names: Sequence[str],
        chosen: Collection[str],
        unchanged: "Callable[[], Grids | None]" = lambda: None,
    ) -> None:
        """Of these settings.

        Args:
            sweep: resolved.
            axes: of the settings.
            names: of the grids, in order.
            chosen: the paths whose values are chosen on tuning seeds, so that no condition can name them.
            unchanged: returns the grids of the spec without profile and overrides, or None where it cannot be known.
        """
        self.unchanged = unchanged
        self.sweep = sweep
        self.names = names
        self.points = list(map(axes.point, sweep.variants))
        # An axis that holds a chosen parameter has another value in the judged runs, too.
        above = {path_words(path)[:length] for path in chosen for length in range(1, len(path_words(path)) + 1)}
        self.paths = [path for path in axes.paths if path_words(path) not in above]
        self.variants = variants_of(sweep.variants)

    def conditions(self, names: Json, replaced: Collection[str] = ()) -> dict[str, Json]:
        """The conditions that the runs of these grids meet, and no others.

        A grid that the profile leaves out selects none of its runs: it has the conditions that it has without profile.

        Args:
            names: of one grid, or of several.
            replaced: keys of the selection that these conditions change: such an axis is named although the grid has
                all its values.

        Raises:
            Flawed: a grid has no such name, or its axes do not tell its runs from those of other grids.
        """
        present = [name for name in value_list(names) if name in self.names]
        absent = [name for name in value_list(names) if name not in self.names]
        before = self.unchanged() if absent else None
        for name in absent:
            if before is None or name not in before.names:
                raise Flawed(unknown_grid((GRID,), name, self.names))
        if before is not None and not present:
            conditions = before.conditions(names, replaced)
            if self.variants.selected(conditions):
                what = f"the profile has no grid '{', '.join(absent)}', and runs that look like its own"
                raise Flawed(Issue("conflict", (GRID,), what, "name axes instead"))
            return conditions
        numbers = {self.names.index(name) for name in present}
        members = [number for number, variant in enumerate(self.sweep.variants) if numbers & set(variant.grids)]
        conditions = {}
        for path in self.paths:
            values = _distinct(self.points[number][path] for number in members)
            # An axis of which these grids have all values tells their runs from no others.
            if path in replaced or len(values) < len(_distinct(point[path] for point in self.points)):
                # A list alone would name its items: one that is the value of an axis stands in a list of one.
                conditions[path] = values[0] if len(values) == 1 and not isinstance(values[0], list) else values
        others = self.variants.selected(conditions) - set(members)
        if others:
            differing = ", ".join(sorted({self.names[grid] for n in others for grid in self.sweep.variants[n].grids}))
            named = ", ".join(map(str, value_list(names)))
            what = f"the axes cannot distinguish the runs of '{named}' from those of {differing}"
            raise Flawed(Issue("conflict", (GRID,), what, "name axes instead"))
        return conditions


def _distinct(values: Iterable[Json]) -> list[Json]:
    return list({canonical(value): value for value in values}.values())


def replace_grids(requests: ResolvedRequests, grids: Grids) -> tuple[ResolvedRequests, list[Issue]]:
    """The requests with conditions in place of ``grid`` in every selection, and what is wrong with its names.

    Those that name a grid wrongly are left out, as other issues of their selections follow from it.
    """
    issues: list[Issue] = []

    def replaced_in(named: list[ResolvedRequest]) -> list[ResolvedRequest]:
        """The requests with each grid named in them replaced by its conditions. Flaws go to ``issues``."""
        remaining = []
        for request in named:
            try:
                remaining.append(replace(request, choice=_choice_without_grid(request.choice, grids)))
            except Flawed as error:
                issues.extend(flaw.below(*request.path) for flaw in error.issues)
        return remaining

    sections, claims = replaced_in(requests.sections), replaced_in(requests.claims)
    return replace(requests, sections=sections, claims=claims, requires=replaced_in(requests.requires)), issues


def requirements_without_grids(experiment: Experiment, grids: Grids) -> Experiment:
    """The experiment with ``grid`` replaced in what its claims require, which is judged as the spec writes it.

    A requirement that names a grid wrongly stays as it is: ``replace_grids`` reports it.
    """

    def replaced_or_unchanged(required: Choice) -> Choice:
        try:
            return _choice_without_grid(required, grids)
        except Flawed:
            return required

    claims = tuple(
        claim.model_copy(update={"requires": tuple(map(replaced_or_unchanged, claim.requires))})
        for claim in experiment.claims
    )
    return experiment.model_copy(update={"claims": claims})


def _choice_without_grid(stated: Mapping[str, Json], grids: Grids) -> Choice:
    """A section, a claim or a test that one requires, with conditions on axes in place of ``grid``."""
    choice = dict(stated)
    for word in ("of", "where", "to", "less", "less_to"):
        selection = choice.get(word)
        if not isinstance(selection, dict) or GRID not in selection:
            continue
        try:
            conditions = grids.conditions(selection[GRID], () if word in ("of", "where") else choice.get("of", ()))
        except Flawed as error:
            raise Flawed(*(flaw.below(word) for flaw in error.issues)) from error
        choice[word] = {**conditions, **{key: value for key, value in selection.items() if key != GRID}}
    return choice
