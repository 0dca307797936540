"""What became of every run: a table of how many finished, diverged and learned, and where they ended."""

import math
from collections.abc import Callable, Mapping, Sequence

import polars as pl

from lnlab.keys import Json
from lnlab.report.data.run_outcomes import Arm, arm, arms, known, last_of, middle_of, rows_of
from lnlab.report.data.series import missing
from lnlab.report.section import Section, Table, sections
from lnlab.report.table import Cell, Grid
from lnlab.report.words.reference_words import measurable, reference_in_words
from lnlab.report.words.wording import count, listing, number, tight
from lnlab.report.words.wording import quantity as called
from lnlab.report.words.wording import unit as titled
from lnlab.tables import Results

LEARNED, TRAINS = "learned_fraction", 0.9
"""A run that has learned more than this share of what can be learned has trained."""
_NUMBERS = ("final_nll", "best_nll_of_run", "sum_learning_rate")
DIVERGED = "diverged"
SCHEMA = {"variant": pl.String, "what": pl.String, "estimate": pl.Float64, "low": pl.Float64, "high": pl.Float64}
SCHEMA |= {"n": pl.Int64}
HEADINGS = dict(zip(SCHEMA, ("variant", "what", "count or median", "lowest", "highest", "runs"), strict=True))


@sections.register("outcomes", implied=(LEARNED,))
def outcomes(results: Results, *, where: dict[str, Json] | None = None, numbers: list[str] | None = None) -> Section:
    """``k/n finished, k/n diverged, k/n learned``: a row a variant, with medians [lowest, highest] over its runs.

    A run has learned if its learned fraction, of what the ``reference`` of ``where`` has, is above .9; there is no such
    column where no reference is named and one is needed. ``numbers`` are quantities of a whole run: its final and its
    best loss and the sum of its learning rates, if nothing is said; those that nobody has measured have no column. A
    run that diverged ranks worst.
    """
    runs, names = arms(results, where or {})
    selection = where or {}
    asked = [q for q in (LEARNED, *(numbers or _NUMBERS)) if known(results, q) and measurable(results, selection, q)]
    found = {quantity: last_of(results, runs, quantity, selection) for quantity in dict.fromkeys(asked)}
    values = {quantity: each for quantity, (each, _) in found.items()}
    every = [arm(name, runs.filter(pl.col("series") == name), values) for name in names]
    rows = rows_of(found)
    if runs["status"].null_count() == runs.height:
        return Section("No run has ended yet", missing=missing(runs), rows=rows)
    shown = [q for q in asked if q != LEARNED and any(each.numbers[q] for each in every)]
    return Section(_finding(every, asked), (), (_table(every, asked, shown, selection),), missing(runs), rows)


def _table(every: Sequence[Arm], asked: Sequence[str], shown: Sequence[str], where: Mapping[str, Json]) -> Table:
    """Exact, one row an entry, and for readers a row a variant."""
    learned = ("learned",) if LEARNED in asked else ()
    heads = ("variant", "finished", "diverged", *learned, *map(called, shown), "missing")
    body = tuple(_line(each, learned=bool(learned), shown=shown) for each in every)
    entries = [(each.name, *entry) for each in every for entry in _entries(each, asked)]
    return Table(
        pl.DataFrame(entries, schema=SCHEMA, orient="row"),
        HEADINGS,
        _caption(asked, shown, where),
        Grid("", heads, body),
    )


def _line(each: Arm, *, learned: bool, shown: Sequence[str]) -> tuple[Cell, ...]:
    steps = ", ".join("?" if step is None else f"{step:,}" for step in each.diverged)
    gone = f"{len(each.diverged)}/{each.runs}" + (f" at step {steps}" if steps else "")
    whole = f"{each.finished}/{each.runs}" + (f", {each.stopped} stopped early" if each.stopped else "")
    share = ((f"{_learned(each)}/{each.runs}", True),) if learned else ()
    spreads = ((spread(each.numbers[quantity]), True) for quantity in shown)
    rest = (str(each.others) if each.others else "–", True)
    return ((each.name, False), (whole, False), (gone, False), *share, *spreads, rest)


def spread(values: Sequence[float], infinite: str = DIVERGED, say: Callable[[float], str] = number) -> str:
    """``2.31 [2.28, 2.40]``: the median between the lowest and the highest; one number where all are the same."""
    if not values:
        return "–"
    ends = (middle_of(values) or 0.0, values[0], values[-1])
    told = [infinite if value == math.inf else say(value) for value in ends]
    return told[0] if len(set(values)) < 2 else tight(f"{told[0]} [{told[1]}, {told[2]}]")


def _learned(each: Arm) -> int:
    return sum(value > TRAINS for value in each.numbers[LEARNED])


def _entries(each: Arm, asked: Sequence[str]) -> list[tuple[object, ...]]:
    counts = {"finished": each.finished, "diverged": len(each.diverged), "missing": each.others}
    counts |= {"learned": _learned(each)} if LEARNED in asked else {}
    told: list[tuple[object, ...]] = [(what, float(k), None, None, each.runs) for what, k in counts.items()]
    for quantity, values in each.numbers.items():
        told.append(
            (called(quantity), middle_of(values), *(values[:1] or (None,)), *(values[-1:] or (None,)), len(values))
        )
    return told


def _caption(asked: Sequence[str], shown: Sequence[str], where: Mapping[str, Json]) -> str:
    said = ["How the runs of each variant ended: how many of all finished, how many diverged and after which update."]
    if LEARNED in asked:
        best = reference_in_words({**where, "quantity": LEARNED})
        told = f"0 is the entropy of the tokens' frequencies or worse, 1 the lowest median final nll among {best}"
        said.append(f"A run has learned if its learned fraction is above 0.9: {told}.")
    if shown:
        what = "; ".join(map(titled, shown))
        said.append(f"Medians over runs [lowest, highest]: {what}. A run that diverged ranks worst.")
    return " ".join(said)


def _finding(every: Sequence[Arm], asked: Sequence[str]) -> str:
    """How many of all runs came to which end, and whose diverged."""
    total, finished = sum(each.runs for each in every), sum(each.finished for each in every)
    gone, others = sum(len(each.diverged) for each in every), sum(each.others for each in every)
    parts = [f"{finished} finished"] + ([f"{gone} diverged{_whose(every)}"] if gone else [])
    parts += [f"{others} {'is' if others == 1 else 'are'} missing"] if others else []
    said = f"All {count(total, 'run')} finished" if finished == total else f"Of {count(total, 'run')}, {listing(parts)}"
    return said + (f"; {sum(map(_learned, every))} learned" if LEARNED in asked else "")


def _whose(every: Sequence[Arm]) -> str:
    lost: Mapping[str, str] = {each.name: f"{len(each.diverged)} of {each.runs}" for each in every if each.diverged}
    told = listing(f"{k} of {name}" for name, k in lost.items())
    return f" ({told})" if len(every) > 1 and len(lost) <= 3 else ""
