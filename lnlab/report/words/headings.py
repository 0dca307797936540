"""Headings that a template makes: they name two series at most, as a longer list says nothing at a glance."""

from collections.abc import Iterable

from lnlab.report.words.wording import join_words

MAX_NAMED = 2


def two_at_most(clauses: Iterable[str], *, sentences: bool = True) -> str:
    """The clauses of a heading, one for each series; of more than two the first two, and how many more there are.

    Args:
        clauses: in the order of the series.
        sentences: whether each could stand alone; else they are a list.
    """
    texts = list(clauses)
    if (more := len(texts) - MAX_NAMED) > 0:
        texts = [*texts[:MAX_NAMED], f"{more} more in the figure"]
    return "; ".join(texts) if sentences else join_words(texts)
