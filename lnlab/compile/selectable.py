"""What selections are checked against: the variants of a checked spec, and what is measured of them."""

from collections.abc import Callable
from functools import cache

from lnlab.compile.checked import Checked
from lnlab.compile.selection.measured_quantities import (
    measured_steps,
    quantities_of,
    sources_of_quantities,
    splits_of,
    stated_facts,
)
from lnlab.compile.tuning.problems import variants_of
from lnlab.keys import Json
from lnlab.select.planned import PlannedRuns
from lnlab.select.variants import Variants
from lnlab.specfile.columns import TIMES


def planned_runs(
    checked: Checked, unchanged_variants: Callable[[], Variants | None], *, every_probe: bool
) -> PlannedRuns:
    """What selections are checked against. Quantities are known only if every probe is sound.

    Args:
        checked: the spec, once its runs are known.
        unchanged_variants: those of the spec without profile and overrides. It is called once at most.
        every_probe: whether every probe is sound.
    """
    registries = checked.content_keys.registries
    unchanged = cache(lambda: unchanged_variants() if checked.merged.touched else None)
    chosen: tuple[str, ...] = ()
    if checked.tuning is None:
        variants, point = Variants(checked.settings, checked.sweep.methods), checked.point
    else:
        judged = checked.tuning.assumed()
        chosen, variants = checked.tuning.paths, variants_of(judged)

        def point(number: int) -> dict[str, Json]:
            """The axes that a claim may pin, without those that are chosen."""
            values = checked.axes.point(judged[number].setting, judged[number].method)
            return {axis: value for axis, value in values.items() if axis not in chosen} | {TIMES: judged[number].times}

    trained = any(steps for steps, _ in variants.at("train.steps"))
    if checked.merged.touched and not trained:  # of the spec without its profile some run may train
        data = checked.document.data
        sweep = data.get("sweep")
        grids = list(sweep.values()) if isinstance(sweep, dict) else sweep if isinstance(sweep, list) else []
        swept = [key for grid in grids if isinstance(grid, dict) for key in grid]
        trained = "train" in data or any(key.startswith("train.") for key in swept)
    splits = splits_of(checked.requests, trained=trained)
    expressions = checked.requests.expressions
    runs = PlannedRuns(
        variants=variants,
        point=point,
        unchanged=unchanged,
        seeds=checked.experiment.all_seeds,
        quantities=quantities_of(checked.requests, registries, splits, trained=trained) if every_probe else None,
        splits=splits,
        against=stated_facts(registries, "reference", expressions),
        taken_over=stated_facts(registries, "over", expressions),
        told_by=stated_facts(registries, "told_by", expressions),
        counted_at=stated_facts(registries, "x"),
        steps=measured_steps(checked.requests, registries, checked.sweep),
        rules=list(registries["convergence"].entries) if "convergence" in registries else None,
        sources=sources_of_quantities(registries),
        derived=list(registries["quantity"].entries) if "quantity" in registries else (),
        chosen=chosen,
        spec=checked.document.data,
    )
    return runs.with_expressions(expressions)
