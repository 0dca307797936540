"""Table of how many runs finished, diverged and learned, and of their final numbers."""

import math
from collections.abc import Sequence

import polars as pl

from lnlab.analyse.quantities.targets import TARGET_FACTOR
from lnlab.keys import Json
from lnlab.report.data.run_outcomes import (
    SeriesOutcome,
    is_known_quantity,
    labelled_runs,
    last_numbers,
    median_or_none,
    merged_source_rows,
    series_outcome,
)
from lnlab.report.data.series import missing_runs_sentence
from lnlab.report.section import Section, Table, sections
from lnlab.report.table import Cell, Grid
from lnlab.report.words.quantity_words import quantity_name, quantity_with_unit
from lnlab.report.words.reference_words import has_reference, reference_text
from lnlab.report.words.statistic import MEDIAN_AND_RANGE
from lnlab.report.words.wording import count_noun, format_number, in_variant, join_words, nonbreaking
from lnlab.tables import Results

_LEARNED, _LEARNED_THRESHOLD = "learned_fraction", 0.9
"""A run that has learned more than this share of what can be learned has trained."""
_NUMBERS = ("final_nll", "best_nll_of_run", "sum_learning_rate")
_TIMES = ("time_to_target", "epochs_to_target")
"""A run that diverged, or never gets there, takes longer than all others."""
_DIVERGED, _NEVER = "diverged", "not reached"
OUTCOME_SCHEMA = {
    "variant": pl.String,
    "what": pl.String,
    "estimate": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
}
OUTCOME_SCHEMA |= {"n": pl.Int64}
OUTCOME_HEADINGS = dict(
    zip(OUTCOME_SCHEMA, ("variant", "what", "count or median", "lowest", "highest", "runs"), strict=True)
)


@sections.register("outcomes", implied=(_LEARNED,))
def outcomes(results: Results, *, where: dict[str, Json] | None = None, numbers: list[str] | None = None) -> Section:
    """``k/n finished, k/n diverged, k/n learned``: one row per variant, with medians [lowest, highest] over its runs.

    A run has learned if its learned fraction, measured against ``reference`` in ``where``, is above 0.9; there is no
    such column where no reference is named and one is needed. ``numbers`` are quantities of a whole run: its final and
    its best loss and the sum of its learning rates by default; those that nobody has measured have no column. A run
    that diverged ranks worst. ``time_to_target`` and ``epochs_to_target`` count up to a loss that all compared variants
    reach.
    """
    runs, names = labelled_runs(results, where or {})
    selection = where or {}
    names_of_numbers = (_LEARNED, *(numbers or _NUMBERS))
    quantities = [q for q in names_of_numbers if is_known_quantity(results, q) and has_reference(results, selection, q)]
    measured = {quantity: last_numbers(results, runs, quantity, selection) for quantity in dict.fromkeys(quantities)}
    values = {quantity: frame for quantity, (frame, _) in measured.items()}
    variants = [series_outcome(name, runs.filter(pl.col("series") == name), values) for name in names]
    rows = merged_source_rows(measured)
    if runs["status"].null_count() == runs.height:
        return Section("No run has ended yet", missing=missing_runs_sentence(runs), rows=rows)
    columns = [q for q in quantities if q != _LEARNED and any(variant.numbers[q] for variant in variants)]
    learned = _LEARNED in quantities
    others = any(variant.others for variant in variants)
    body: list[tuple[Cell, ...]] = []
    entries: list[tuple[object, ...]] = []
    for variant in variants:
        n = variant.runs
        steps = ", ".join("?" if step is None else f"{step:,}" for step in variant.diverged)
        stopped = f", {variant.stopped} stopped early" if variant.stopped else ""
        texts = (
            f"{variant.finished}/{n}{stopped}",
            f"{len(variant.diverged)}/{n}{f' at step {steps}' if steps else ''}",
        )
        cells = [f"{_learned(variant)}/{n}"] if learned else []
        cells += [median_with_range(variant.numbers[name], _NEVER if name in _TIMES else _DIVERGED) for name in columns]
        cells += [str(variant.others)] if others else []
        body.append((*((text, False) for text in (variant.name, *texts)), *((text, True) for text in cells)))
        counts = {"finished": variant.finished, "diverged": len(variant.diverged), "missing": variant.others}
        counts |= {"learned": _learned(variant)} if learned else {}
        entries += [(variant.name, name, float(count), None, None, n) for name, count in counts.items()]
        entries += [
            (variant.name, quantity_name(quantity), median_or_none(ranked), *(ranked[:1] or (None,)),
             *(ranked[-1:] or (None,)), len(ranked))
            for quantity, ranked in variant.numbers.items()
        ]  # fmt: skip
    exact = pl.DataFrame(entries, schema=OUTCOME_SCHEMA, orient="row")
    subject = "Outcome of the runs by variant: finished of all, diverged, and the update of divergence"
    if learned:
        best = reference_text({**selection, "quantity": _LEARNED})
        scale = f"0 is the entropy of the token frequencies or worse, 1 the lowest median final nll of {best}"
        subject += f". A run has learned if its learned fraction is above 0.9: {scale}"
    if columns:
        subject += f". Columns: {'; '.join(map(quantity_with_unit, columns))}"
    notes = ["Diverged runs rank worst."] if columns else []
    if any(column in _TIMES for column in columns):
        compared = reference_text({**selection, "quantity": _TIMES[0]})
        notes.append(
            f"Target: {TARGET_FACTOR} times the highest median final validation loss of {compared}, interpolated "
            "linearly; variants that learned less than a quarter of the best do not count."
        )
    of_columns = exact.filter(pl.col("what").is_in([quantity_name(column) for column in columns]))
    heads = ("variant", "finished", "diverged", *(["learned"] if learned else []), *map(quantity_name, columns))
    table = Table(
        exact,
        OUTCOME_HEADINGS,
        subject,
        Grid("", (*heads, *(["missing"] if others else [])), tuple(body)),
        statistics=((MEDIAN_AND_RANGE, of_columns),),
        replicate="run",
        notes=tuple(notes),
    )
    return Section(_finding(variants, quantities), tables=(table,), missing=missing_runs_sentence(runs), rows=rows)


def median_with_range(values: Sequence[float], infinite: str = _DIVERGED) -> str:
    """``2.31 [2.28, 2.40]``: the median with the lowest and the highest, or one number if all are the same."""
    if not values:
        return "–"
    summary = (median_or_none(values) or 0.0, values[0], values[-1])
    texts = [infinite if value == math.inf else format_number(value) for value in summary]
    return texts[0] if len(set(values)) < 2 else nonbreaking(f"{texts[0]} [{texts[1]}, {texts[2]}]")


def _learned(variant: SeriesOutcome) -> int:
    return sum(value > _LEARNED_THRESHOLD for value in variant.numbers[_LEARNED])


def _finding(variants: Sequence[SeriesOutcome], quantities: Sequence[str]) -> str:
    """State how many of all runs ended in which way, and which variants had diverged runs."""
    total = sum(variant.runs for variant in variants)
    finished = sum(variant.finished for variant in variants)
    diverged = sum(len(variant.diverged) for variant in variants)
    others = sum(variant.others for variant in variants)
    parts = [f"{finished} finished"]
    if diverged:
        counts = [
            f"{len(variant.diverged)} of {variant.runs} {in_variant(variant.name)}"
            for variant in variants
            if variant.diverged
        ]
        by_variant = f" ({join_words(counts)})" if len(variants) > 1 and len(counts) <= 3 else ""
        parts.append(f"{diverged} diverged{by_variant}")
    parts += [f"{others} {'is' if others == 1 else 'are'} missing"] if others else []
    finding = (
        f"All {count_noun(total, 'run')} finished"
        if finished == total
        else f"Of {count_noun(total, 'run')}, {join_words(parts)}"
    )
    return finding + (f"; {sum(map(_learned, variants))} learned" if _LEARNED in quantities else "")
