"""What selections are checked against: the variants of a checked spec, and what is measured of them."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from lnlab.compile.checked import Checked
from lnlab.compile.selection.measured_quantities import quantities_of, splits_of, stated_facts
from lnlab.compile.tuning.problems import variants_of
from lnlab.keys import Json
from lnlab.select.planned import PlannedRuns
from lnlab.select.variants import Variants
from lnlab.specfile.columns import TIMES


def selection_context(
    checked: Checked, unchanged_variants: Callable[[], Variants | None], *, every_probe: bool
) -> PlannedRuns:
    """What selections are checked against; of quantities nothing unless every probe is sound.

    Args:
        checked: the spec, its runs being known.
        unchanged_variants: those of the spec without profile and overrides; asked for once, if at all.
        every_probe: whether every probe is sound.
    """
    memo: list[Variants | None] = []

    def unchanged() -> Variants | None:
        if not memo:
            memo.append(unchanged_variants() if checked.merged.touched else None)
        return memo[0]

    context = _context_without_quantities(checked, unchanged)
    trained = any(steps for steps, _ in context.variants.at("train.steps"))
    trained = trained or (checked.merged.touched and _names_training(checked.document.data))
    splits = splits_of(checked.requests, trained=trained)
    quantities = None
    if every_probe:
        quantities = quantities_of(checked.requests, checked.content_keys.registries, splits, trained=trained)
    return replace(context, quantities=quantities, splits=splits, spec=checked.document.data)


def _context_without_quantities(checked: Checked, unchanged: Callable[[], Variants | None]) -> PlannedRuns:
    """What selections are checked against, but for the quantities."""
    registries = checked.content_keys.registries
    quantity_facts: dict[str, Any] = {
        "taken_over": stated_facts(registries, "over"),
        "told_by": stated_facts(registries, "told_by"),
        "counted_at": stated_facts(registries, "x"),
        "against": stated_facts(registries, "reference"),
    }
    rules = list(registries["convergence"].entries) if "convergence" in registries else None
    seeds = checked.experiment.all_seeds
    tuning_plan = checked.tuning
    if tuning_plan is None:
        variants = Variants(checked.settings, checked.sweep.methods)
        return PlannedRuns(
            variants=variants,
            point=checked.point,
            unchanged=unchanged,
            seeds=seeds,
            quantities=None,
            rules=rules,
            **quantity_facts,
        )
    judged = tuning_plan.assumed(checked.settings)
    path = tuning_plan.select.path

    def point(number: int) -> dict[str, Json]:
        """The axes that a claim may pin; what is chosen is none of them."""
        values = checked.axes.point(judged[number].setting, judged[number].method)
        return {axis: value for axis, value in values.items() if axis != path} | {TIMES: judged[number].times}

    context = PlannedRuns(
        variants=variants_of(judged),
        point=point,
        unchanged=unchanged,
        seeds=seeds,
        quantities=None,
        rules=rules,
        **quantity_facts,
    )
    return replace(context, chosen=path)


def _names_training(data: Json) -> bool:
    """Whether the file of a spec sets anything of training, in the base or in a grid."""
    sweep = data.get("sweep")
    grids = list(sweep.values()) if isinstance(sweep, dict) else sweep if isinstance(sweep, list) else []
    swept = [key for grid in grids if isinstance(grid, dict) for key in grid]
    return "train" in data or any(key.startswith("train.") for key in swept)
