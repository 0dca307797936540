"""How many updates and epochs each variant takes to reach a target loss. Some runs never reach it."""

import math
from collections.abc import Mapping, Sequence

import polars as pl

from lnlab.analyse.quantities.targets import TARGET_FACTOR, target_crossings
from lnlab.keys import Json
from lnlab.report.data.run_outcomes import (
    RunNumbers,
    SeriesOutcome,
    is_known_quantity,
    labelled_runs,
    last_numbers,
    median_or_none,
    merged_source_rows,
    series_outcome,
)
from lnlab.report.data.series import missing_runs_sentence, source_rows_of
from lnlab.report.data.training_curves import epochs_per_update, last_rows
from lnlab.report.section import Section, Table, sections
from lnlab.report.sections.outcomes import OUTCOME_HEADINGS, OUTCOME_SCHEMA, median_with_range
from lnlab.report.table import Cell, Grid
from lnlab.report.words.quantity_words import quantity_name
from lnlab.report.words.reference_words import reference_text
from lnlab.report.words.statistic import MEDIAN_AND_RANGE
from lnlab.report.words.wording import MAX_NAMED, count_noun, format_short, format_value, join_words
from lnlab.select.select import select_measured_rows
from lnlab.tables import ENDED_STATUSES, Results

_UPDATES, _EPOCHS = "time_to_target", "epochs_to_target"
_TIME_UNITS = {_UPDATES: "updates", _EPOCHS: "epochs"}
_NEVER = "not reached"


@sections.register("time_to_target", implied=(_UPDATES, _EPOCHS))
def time_to_target(
    results: Results, *, where: dict[str, Json] | None = None, target: float | None = None, quantity: str = "nll"
) -> Section:
    """``min {t : L_t <= target}``: updates and epochs, medians [lowest, highest] over runs; some are not reached.

    ``target`` is a level of the validation ``quantity``; without one it is that of the quantity ``time_to_target``,
    1.02 times the final loss of the worst of the variants that ``where`` selects, or names as its ``reference``. A run
    that diverged, or never gets there, takes longer than all others.
    """
    runs, names = labelled_runs(results, where or {})
    if target is None:
        known = [word for word in _TIME_UNITS if is_known_quantity(results, word)]
        numbers = {word: last_numbers(results, runs, word, where or {}) for word in known}
    else:
        numbers = _crossing_times(results, runs, quantity, target)
    values = {word: frame for word, (frame, _) in numbers.items()}
    variants = [series_outcome(name, runs.filter(pl.col("series") == name), values) for name in names]
    missing_note = missing_runs_sentence(runs)
    rows = merged_source_rows(numbers)
    if not any(variant.numbers.get(_UPDATES) for variant in variants):
        return Section("No run has a time to the target yet", missing=missing_note, rows=rows)
    if target is None:
        reference = reference_text({**(where or {}), "quantity": _UPDATES})
        level = (
            f"{TARGET_FACTOR} times the highest median final nll of {reference}; variants that learned less than a "
            "quarter of the best do not count"
        )
    else:
        level = format_value(target)
    entries: list[tuple[object, ...]] = []
    body: list[tuple[Cell, ...]] = []
    for variant in variants:
        times = variant.numbers[_UPDATES]
        reached = f"{sum(map(math.isfinite, times))}/{len(times)}"  # of the runs that have ended
        spreads = (median_with_range(variant.numbers[word], _NEVER) for word in numbers)
        body.append(((variant.name, False), (reached, True), *((text, True) for text in spreads)))
        for word, ranked in variant.numbers.items():
            if ranked:
                summary = (median_or_none(ranked), ranked[0], ranked[-1], len(ranked))
                entries.append((variant.name, _TIME_UNITS[word], *summary))
    exact = pl.DataFrame(entries, schema=OUTCOME_SCHEMA, orient="row")
    heads = ("variant", "reached", *(_TIME_UNITS[word] for word in numbers))
    table = Table(
        exact,
        OUTCOME_HEADINGS,
        f"Updates until the validation {quantity_name(quantity)}, interpolated linearly, first is at most {level}",
        Grid("", heads, tuple(body)),
        statistics=((MEDIAN_AND_RANGE, exact),),
        replicate="run",
        notes=("Runs that diverge or never reach the target rank last.",),
    )
    return Section(_finding(variants), tables=(table,), missing=missing_note, rows=rows)


def _crossing_times(results: Results, runs: pl.DataFrame, quantity: str, target: float) -> RunNumbers:
    """Updates until the quantity, linear between evaluations, is at the target. Infinite if it never is."""
    in_runs = pl.col("run").is_in(runs["run"].implode())
    rows = select_measured_rows(results, {"quantity": quantity}).filter(in_runs)
    if "split" in rows.columns and "validation" in rows["split"]:
        rows = rows.filter(pl.col("split") == "validation")
    reached = target_crossings(rows.sort("run", "step").with_columns(_goal=pl.lit(target))).rename({"_at": "at"})
    ended = runs.filter(pl.col("status").is_in(ENDED_STATUSES) & pl.col("run").is_in(rows["run"].implode()))
    unreached = (pl.col("status") == "diverged") | pl.col("at").is_null()
    joined = ended.join(reached, on="run", how="left", maintain_order="left").join(
        epochs_per_update(results, runs), on="variant", how="left", maintain_order="left"
    )
    steps = joined.select("run", value=pl.when(unreached).then(math.inf).otherwise(pl.col("at").cast(pl.Float64)))
    numbers: RunNumbers = {_UPDATES: (steps, source_rows_of(results, quantity, rows))}
    shares = joined.filter(pl.col("_share").is_not_null())
    if not shares.is_empty():
        time = pl.col("at") * pl.col("_share")
        epochs = shares.select("run", value=pl.when(unreached).then(math.inf).otherwise(time))
        epoch_rows = last_rows(results, "epoch", runs).select(results.tables["curves"].columns)
        numbers[_EPOCHS] = (epochs, {"curves": epoch_rows})
    return numbers


def _finding(variants: Sequence[SeriesOutcome]) -> str:
    """State after how many updates each variant reaches the target, the fastest first."""
    times: Mapping[str, float] = {
        variant.name: middle
        for variant in variants
        if (middle := median_or_none(variant.numbers[_UPDATES])) is not None
    }
    reached = {name: time for name, time in sorted(times.items(), key=lambda pair: pair[1]) if math.isfinite(time)}
    never = [name for name in times if name not in reached]
    clauses = [f"{name} reaches the target after {format_short(time)} updates" for name, time in reached.items()]
    if len(clauses) > MAX_NAMED:
        clauses = [
            clauses[0],
            f"the slowest of {count_noun(len(reached), 'variant')} is {clauses[-1].replace(' reaches the target', '')}",
        ]
    never_text = join_words(never) if len(never) <= MAX_NAMED else count_noun(len(never), "variant")
    if never:
        clauses.append(f"{never_text} {'does' if len(never) == 1 else 'do'} not reach it")
    return "; ".join(clauses)
