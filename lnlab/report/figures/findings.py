"""State in a sentence how lines grow and which power they follow. It is the heading where a spec writes none."""

from collections.abc import Mapping, Sequence
from statistics import fmean

import polars as pl

from lnlab.analyse.statistics.intervals import t_interval
from lnlab.analyse.statistics.slopes import log_slopes
from lnlab.report.data.figure import FigureData
from lnlab.report.data.labels import SINGLE_SERIES
from lnlab.report.words.quantity_words import quantity_name
from lnlab.report.words.wording import (
    MAX_NAMED,
    format_interval,
    format_number,
    format_short,
    format_value,
    growth_in_words,
    in_variant,
    is_level,
    two_at_most,
)
from lnlab.seed_words import counted_seeds, seed_word


def not_told_apart(first: pl.DataFrame, second: pl.DataFrame) -> bool:
    """Whether the paired 95 % interval over seeds of the difference of two ``seed value`` tables contains 0.

    One common seed has no interval, so that its numbers are as they are.
    """
    pairs = first.join(second, on="seed").filter(pl.col("value").is_finite() & pl.col("value_right").is_finite())
    if pairs.height < 2:
        return False
    difference = t_interval((pairs["value"] - pairs["value_right"]).to_numpy())
    return difference.low <= 0 <= difference.high


def change_in_words(pairs: Sequence[tuple[float, float]], who: str, span: str, *, log: bool, quantity: str = "") -> str:
    """The change from first to last, within each seed and then over seeds.

    A direction is stated only where the interval leaves no other.
    """
    change = t_interval([last / first if log else last - first for first, last in pairs], log=log)
    means = [fmean(values) for values in zip(*pairs, strict=True)]
    first, last = map(format_number, means)
    # one seed has no interval, and its direction is said as it is
    if change.n > 1 and change.low <= (1 if log else 0) <= change.high:
        seen = f"{format_short(change.estimate)}×" if log else f"{first} to {last}"
        if is_level(change.low, change.high, log=log, scale=max(map(abs, means))):
            return f"{who} stays level ({seen if log else last}){span}"
        # "LayerNorm rises" would be read as the norm itself
        of_whom = f"the {quantity_name(quantity)} {in_variant(who)}" if quantity else who
        return f"{counted_seeds(len(pairs))} leave open whether {of_whom} rises or falls ({seen}){span}"
    if log:
        return f"{who} {growth_in_words(change.estimate)}{span}"
    return f"{who} {'rises' if change.estimate > 0 else 'falls'} from {first} to {last}{span}"


def change_finding(data: FigureData, quantity: str, x: str, place: str, *, log: bool) -> str:
    """State how each line changes from its first to its last position. The first clause names the span.

    Args:
        data: seeds by panel, series and position.
        quantity: that is drawn.
        x: a column, or a path of the setting, whose values the sentence names.
        place: the position in words.
        log: whether changes are ratios.
    """
    first, last = (format_value(position) for position in (data.seeds["x"].min(), data.seeds["x"].max()))
    stretch = "from the first to the last" if log else "between the first and the last"
    span = f" from {first} to {last} {place}" if "." in x else f" {stretch} {place}"
    clauses, without = [], []
    for panel in data.panels or (None,):
        for name in data.names:
            who = f"the {quantity_name(quantity)}" if name == SINGLE_SERIES else name
            who += f" ({panel})" if panel else ""
            of_line = pl.col("panel").eq_missing(pl.lit(panel, pl.String)) & (pl.col("series") == name)
            line = data.seeds.filter(of_line)
            ends = line.filter(pl.col("x").is_in([line["x"].min(), line["x"].max()])).sort("seed", "x")
            values = ends.group_by("seed", maintain_order=True).agg(pl.col("value"))["value"].to_list()
            pairs = [(pair[0], pair[1]) for pair in values if len(pair) == 2]
            if pairs:
                clauses.append(
                    change_in_words(pairs, who, span, log=log, quantity="" if name == SINGLE_SERIES else quantity)
                )
                span = ""
            else:
                without.append(f"{who} was measured at fewer than two positions")
    text = two_at_most([*clauses, *without])
    return text[:1].upper() + text[1:]


def size_exponents(seeds: pl.DataFrame) -> list[float]:
    """The slope of log value on log x of every seed that has all sizes, two at least, by ordinary least squares."""
    whole = seeds.filter(pl.len().over("seed") == seeds["x"].n_unique())
    return [float(v) for v in log_slopes(whole, ["seed"], "x", "value").sort("seed")["slope"].drop_nulls()]


def size_finding(data: FigureData, quantity: str, size: str) -> str:
    """State the fitted exponent of each series. A direction is stated only where its interval leaves no other."""
    slopes = {name: size_exponents(data.seeds.filter(pl.col("series") == name)) for name in data.names}
    if len(slopes) > MAX_NAMED and all(slopes.values()):
        return f"With {size}, {exponent_range({name: fmean(values) for name, values in slopes.items()})}"
    sizes = data.points["x"].unique().sort()
    span = float(sizes[-1] / sizes[0])
    subjects = {name: f"the {quantity_name(quantity)}" if name == SINGLE_SERIES else name for name in slopes}
    clauses = (f"{subjects[name]} {exponent_in_words(values, span)}" for name, values in slopes.items())
    return f"With {size}, {two_at_most(clauses)}"


def exponent_in_words(slopes: Sequence[float], span: float) -> str:
    """Describe the exponents of all seeds, where the largest size is ``span`` times the smallest."""
    if not slopes:
        return "has too few sizes for an exponent"
    exponent = t_interval(slopes)
    if exponent.n < 2:
        return f"has the exponent {format_interval(exponent.estimate, None, None)} in its only {seed_word()}"
    verb = "rises" if exponent.estimate > 0 else "falls"
    if exponent.low <= 0 <= exponent.high:
        level = is_level(span**exponent.low, span**exponent.high, log=True)
        verb = "stays level" if level else f"shows no clear direction over {counted_seeds(len(slopes))}"
    return f"{verb} (exponent {format_interval(exponent.estimate, exponent.low, exponent.high)})"


def exponent_range(means: Mapping[str, float]) -> str:
    """State the smallest and the largest exponent of many series."""
    extremes = [pick(means, key=lambda name: means[name]) for pick in (min, max)]
    numbers = [format_value(round(means[name], 2) + 0.0) for name in extremes]
    if len({*numbers}) == 1:
        return f"all {len(means)} exponents are {numbers[0]}"
    low, high = (f"{number} ({name})" for number, name in zip(numbers, extremes, strict=True))
    return f"{len(means)} exponents from {low} to {high}"


def pairs_finding(data: FigureData, x: str, y: str, least_places: int) -> str:
    """The exponent with which one number follows another, within each seed of so many places and then over seeds."""
    exponents = []
    for name in data.names:
        line = data.seeds.filter(pl.col("series") == name)
        slopes = log_slopes(line, ["seed"], "x", "value", least_places)["slope"].drop_nulls()
        exponent = t_interval(slopes.to_numpy()) if len(slopes) else None
        bounds = (exponent.low, exponent.high) if exponent and exponent.n > 1 else (None, None)
        text = format_interval(exponent.estimate, *bounds) if exponent else "none"
        exponents.append(text if name == SINGLE_SERIES else f"{text} ({name})")
    named = two_at_most(exponents, sentences=False)
    return f"The {quantity_name(y)} follows the {quantity_name(x)} with the exponent {named}"
