"""Quantities that follow from stored ones. They are named in a selection like any other: ``quantity: <name>``.

A builder is ``(results) -> rows``: a frame of ``run variant seed step quantity``, site columns and ``value``,
or ``(results, reference) -> rows`` where its facts have a ``reference``.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import polars as pl

from lnlab.facts import Facts, QuantityWords
from lnlab.registry import Registry
from lnlab.specfile.expressions import Expression, expression_of
from lnlab.tables import Results


@dataclass(frozen=True)
class QuantityFacts(Facts):
    """What a derived quantity says of itself.

    Attributes:
        of: the stored quantities that it is made of, so that a report need not keep the others. None means unknown.
        reads: the rows of these that it reads, so that a report need not keep the others. None means all of them.
        table: the table that it is made of, where that holds no quantities.
        needs: what must have been measured for it, in words.
        unmet: what an infinite number says of a run that has come to its end, in words. None means that it failed.
        trained: whether it is there only where a run trains.
        across: whether a run's number is made of other runs' too.
        over: the path of the setting that it is taken over: one number is left of all runs that differ there alone.
        best: whether it is, or follows from, the best along ``over``, which is better by chance where there are more.
        reference: whether it is measured against variants that a selection names as its ``reference``, and which these
            are where none is named: the ``best`` of all, or those that are ``compared``.
        bimodal: the largest span over seeds of its numbers of one variant for which a mean can be judged. None means no
            limit.
        fraction: whether its numbers lie between 0 and 1.
        rate: whether they are learning rates of a grid, 0 for none: their logarithms are compared, by the median.
        of_learning: whether it says something only of a run that learns at most of the rates it is taken over.
        whole_run: whether it is one number of a run, which in an expression goes with every step of the run.
        parts: of an expression the quantities that it names.
        words: what pages call it. None means the words of its name.
    """

    of: tuple[str, ...] | None = None
    reads: Callable[[pl.DataFrame], pl.DataFrame] | None = None
    table: Literal["sites", "curves", "lines", "histograms", "spectra", "texts"] | None = None
    needs: str | None = None
    unmet: str | None = None
    trained: bool = False
    across: bool = False
    over: str | None = None
    best: bool = False
    reference: Literal["best", "compared"] | None = None
    bimodal: float | None = None
    fraction: bool = False
    rate: bool = False
    of_learning: bool = False
    whole_run: bool = False
    parts: tuple[str, ...] = ()
    words: QuantityWords | None = None


def _facts_of_expression(expression: Expression) -> QuantityFacts:
    """What follows for an expression from the facts of the derived quantities that it names."""
    named = {name: quantity_facts(name) for name in expression.quantities}
    derived = [facts for facts in named.values() if facts is not None]
    known = not any(facts.of is None and facts.table is None for facts in derived)
    # Where one part does not say what it is made of, nobody may leave out rows (None).
    of = dict.fromkeys(part for name, facts in named.items() for part in ((name,) if facts is None else facts.of or ()))
    return QuantityFacts(
        of=tuple(of) if known else None,
        table=next((facts.table for facts in derived if facts.table), None),
        needs=" and ".join(dict.fromkeys(facts.needs for facts in derived if facts.needs)) or None,
        unmet=next((facts.unmet for facts in derived if facts.unmet), None),
        trained=any(facts.trained for facts in derived),
        across=any(facts.across for facts in derived),
        over=next((facts.over for facts in derived if facts.over), None),
        best=any(facts.best for facts in derived),
        reference=next((facts.reference for facts in derived if facts.reference), None),
        bimodal=min((facts.bimodal for facts in derived if facts.bimodal is not None), default=None),
        whole_run=len(derived) == len(named) and all(facts.whole_run for facts in derived),
        parts=expression.quantities,
    )


quantities: Registry[Callable[..., pl.DataFrame]] = Registry("quantity", QuantityFacts)
"""Builders ``(results: Results) -> rows``. An expression is registered nowhere."""


def quantity_facts(name: object) -> QuantityFacts | None:
    """The facts of a derived quantity, registered or an expression. None means that the name is of no such quantity."""
    if name in quantities.entries:
        facts: QuantityFacts = quantities.entries[str(name)].facts
        return facts
    expression = expression_of(name) if isinstance(name, str) else None
    return None if expression is None else _facts_of_expression(expression)


def register_alike(
    rows: Callable[..., pl.DataFrame], table: Iterable[tuple[str, Any, QuantityWords, str]], /, **facts: Any
) -> None:
    """Register quantities that differ in one expression, a line each.

    Args:
        rows: ``(name, expression, results) -> rows``, with a ``reference`` behind the results where the facts have one.
        table: of each quantity its name, its expression, its words, and its formula with its source, as a docstring.
        facts: that all of them state.
    """
    for name, expression, words, formula in table:
        build = partial(rows, name, expression)
        build.__doc__ = formula
        quantities.register(name, words=words, **facts)(build)


STATE = ("run", "variant", "seed", "step")
SITE = ("stack", "layer", "sublayer", "tensor", "index")


def quantity_fact(selection: Mapping[str, Any], fact_name: str) -> Any:
    """A fact of the derived quantity that a selection names, the first of several that states it, or None."""
    quantity = selection.get("quantity")
    names = quantity if isinstance(quantity, list | tuple) else [quantity]
    values = (getattr(facts, fact_name) for name in names if (facts := quantity_facts(name)) is not None)
    return next((value for value in values if value), None)


def stored_rows(results: Results, quantity: str) -> pl.DataFrame:
    """The rows of a stored quantity in the table ``sites``: state, site and value."""
    return results.tables["sites"].filter(pl.col("quantity") == quantity).select(*STATE, *SITE, "value")


def quantity_product(
    left: pl.DataFrame, right: pl.DataFrame, name: str, *, at: tuple[str, ...] = SITE, power: float = 1.0
) -> pl.DataFrame:
    """``left · right^power`` at the same state and site. The site columns are those of ``left``.

    Args:
        left: rows of one quantity.
        right: rows of another, at most one for each state and value of ``at``.
        name: what the product is called.
        at: the site columns in which the two must agree. Null agrees with null.
        power: -1 gives a quotient.
    """
    other = right.select(*STATE, *at, pl.col("value").alias("_other"))
    joined = left.join(other, on=[*STATE, *at], how="inner", nulls_equal=True, maintain_order="left")
    value = pl.col("value") * pl.col("_other").pow(power)
    return joined.select(*STATE, pl.lit(name).alias("quantity"), *SITE, value.alias("value"))
