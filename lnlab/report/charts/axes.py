"""Axes with round ticks, chosen here and not in the browser, so that page, file and notebook show the same ones."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise
from typing import Any

from lnlab.claims.verdict_text import MINUS
from lnlab.report.rounding import FILE_DIGITS, rounded
from lnlab.report.words.wording import format_scientific

# each row is finer than the one before: an axis takes the first that gives it three ticks, else equal steps
_STEPS = (
    (1,),
    (1, 2, 5),
    (1, 2, 3, 5, 7),
)
_LEAST = 1e-300  # below it numbers lose their digits


@dataclass(frozen=True)
class Axis:
    """One positional axis: its title with unit, its domain, and its ticks.

    ``epoch`` is the number of its units in an epoch, or 0 if unknown. If it is known, epochs stand below the ticks. An
    axis that is ``linear_within`` a distance of 0 is logarithmic beyond it on both sides.
    """

    title: str
    domain: tuple[float, float]
    ticks: tuple[float, ...]
    log: bool = False
    epoch: float = 0.0
    linear_within: float = 0.0

    @property
    def scale(self) -> dict[str, Any]:
        """The scale in Vega-Lite."""
        # no alt.Scale and alt.Axis: Altair copies all of their ninety fields with every layer that has them
        if self.log:
            return {"type": "log", "domain": list(self.domain), "nice": False}
        if self.linear_within:
            return {"type": "symlog", "constant": self.linear_within, "domain": list(self.domain), "nice": False}
        return {"type": "linear", "domain": list(self.domain), "nice": False, "zero": False}

    @property
    def axis(self) -> dict[str, Any]:
        """The axis in Vega-Lite. Its labels are made from the ticks, as Vega rounds to a step of its own.

        Where the labels are plain decimals, a format string gives the same labels in a tenth of the bytes.
        """
        words = tick_words(self.ticks, log=self.log)
        if self.linear_within:
            sizes = tick_words([abs(tick) for tick in self.ticks if tick], log=True)
            words = {t: (MINUS if t < 0 else "") + sizes[abs(t)] if t else "0" for t in self.ticks}
        epochs = {}
        for tick in self.ticks if self.epoch else ():  # three digits, or all of a whole number
            count = tick / self.epoch
            epochs[tick] = f"{count:,.0f}" if count >= 100 else "".join(tick_words([float(f"{count:.3g}")]).values())
        # trimmed as the format "~" of d3 writes them, so that it can stand for the words
        decimals = max((len(word.partition(".")[2]) for word in words.values()), default=0)
        trimmed = {t: (f"{t:,.{decimals}f}".rstrip("0").rstrip(".") if decimals else f"{t:,.0f}") for t in words}
        if not self.log and not epochs and words == {t: text.replace("-", MINUS) for t, text in trimmed.items()}:
            return {"title": self.title, "values": list(self.ticks), "format": f",.{decimals}~f"}
        if not epochs:
            # indexof compares exactly: six digits will do only where they are the number itself
            places = ",".join(
                f"{place:g}" if float(f"{place:g}") == place else repr(place) for place in map(rounded, words)
            )
            found = f"split('{'|'.join(words.values())}','|')[indexof([{places}],datum.value)]"
            return {"title": self.title, "values": list(self.ticks), "labelExpr": found}
        cases = "".join(
            f"datum.value === {rounded(tick)!r} ? ['{word}', '{epochs[tick]}'] : " for tick, word in words.items()
        )
        return {"title": self.title, "values": list(self.ticks), "labelExpr": f"{cases}''"}


def tick_words(ticks: Iterable[float], *, log: bool = False) -> dict[float, str]:
    """The label of each tick, as short as it can be: ``5.5``, ``20,000``, and a far one as ``10⁷`` or ``2 × 10⁷``.

    Six digits are written, and more (to those of a file) where neighbours differ by less than a thousand units of the
    sixth. On a logarithmic axis each tick is near or far by itself, on a linear one all are what the largest is.
    """
    places = sorted(set(ticks))
    gap = min((b - a for a, b in pairwise(places)), default=math.inf)
    digits = next(
        (d for d in range(6, FILE_DIGITS) if all(abs(float(f"{t:.{d}g}") - t) <= gap / 1000 for t in places)),
        FILE_DIGITS,
    )
    largest = max(map(abs, places), default=0.0)
    words = {}
    for tick in places:
        near = 1e-4 <= tick < 1e6 or (not log and (1e-4 <= largest < 1e9 or tick == 0))
        if near or (log and all(1e-5 < t < 1e6 for t in places)):
            words[tick] = f"{Decimal(f'{tick:.{digits}g}'):,f}".replace("-", MINUS)
        else:
            mantissa, _, power = format_scientific(tick, digits - 1).partition(" × ")
            mantissa = mantissa.rstrip("0").rstrip(".")
            words[tick] = {"1": power, f"{MINUS}1": MINUS + power}.get(mantissa, f"{mantissa} × {power}")
    return words


def logarithmic_axis(title: str, values: Iterable[float]) -> Axis:
    """An axis over positive values with room at both ends, with the roundest ticks of which there are at least three.

    Raises:
        ValueError: a value is not positive, or there is none.
    """
    numbers = list(values)
    if not numbers or min(numbers) <= 0:
        raise ValueError("a logarithmic axis needs positive values")
    low, high = math.log10(min(numbers)), math.log10(max(numbers))
    # equal values, too, need an axis of some length
    margin = max(0.06 * (high - low), 0.05)
    low, high = max(low - margin, -307.0), min(high + margin, 308.0)  # powers of ten beyond these are no floats
    stride = max(1, math.ceil((high - low) / 10))
    decades = [d for d in range(math.floor(low), math.ceil(high) + 1) if d % stride == 0]
    for steps in _STEPS:
        ticks = [s * 10.0**d for d in decades for s in steps if low <= math.log10(s) + d <= high]
        if len(ticks) >= 3:
            break
    else:
        power = 10.0 ** math.floor(math.log10(10**high - 10**low))
        for step in (power, power / 2, power / 5):
            ticks = [n * step for n in range(math.ceil(10**low / step), math.floor(10**high / step) + 1)]
            if len(ticks) >= 3:
                break
    return Axis(title, (10**low, 10**high), tuple(float(f"{t:.6g}") for t in ticks), log=True)


def linear_axis(title: str, values: Iterable[float]) -> Axis:
    """An axis over any finite values, with about six round ticks.

    Raises:
        ValueError: there is no value.
    """
    numbers = list(values)
    if not numbers:
        raise ValueError("an axis needs values")
    low, high = min(numbers), max(numbers)
    # equal values have an axis as long as they are large, and zeros one of length 1
    span = max((high - low) or abs(high) or 1.0, _LEAST)
    low, high = low - 0.05 * span, high + 0.05 * span
    rough_step = (high - low) / 6
    power = 10.0 ** math.floor(math.log10(rough_step))
    step = next(s * power for s in (1, 2, 5, 10) if s * power >= rough_step)
    ticks = [n * step for n in range(math.ceil(low / step), math.floor(high / step) + 1)]
    return Axis(title, (low, high), tuple(float(f"{t:.12g}") for t in ticks))


def signed_logarithmic_axis(title: str, values: Iterable[float], least: float) -> Axis:
    """An axis over numbers of both signs, linear within ``least`` of 0: at most four powers of ten on either side.

    Raises:
        ValueError: there is no value, or ``least`` is not positive.
    """
    numbers = [0.0, *values]
    if len(numbers) == 1 or not least > 0:
        raise ValueError("a signed logarithmic axis needs values, and a part that is linear")
    low, high = min(numbers), max(numbers)
    top, bottom = math.floor(math.log10(max(high, -low, 10 * least))), math.ceil(math.log10(3 * least))
    powers = [10.0**d for d in range(top, bottom - 1, -max(1, math.ceil((top - bottom + 1) / 4)))]
    ticks = sorted([0.0, *(sign * t for t in powers for sign in (1, -1) if low <= sign * t <= high)])
    # by a factor where the axis is logarithmic, and by the part that is linear where no number lies on that side
    return Axis(title, (1.5 * low - least, 1.5 * high + least), tuple(ticks), linear_within=least)


def axis_at_values(title: str, values: Iterable[float], *, log: bool = False, right_margin: float = 0.02) -> Axis:
    """An axis ticked where there are data (layers, sizes), thinned to twelve ticks.

    Args:
        title: with unit.
        values: where there are data.
        log: whether the axis is logarithmic.
        right_margin: free space at the right end, as a share of the span.

    Raises:
        ValueError: there is no value.
    """
    places = sorted(set(values))
    if not places:
        raise ValueError("an axis needs values")
    ticks = tuple(places[:: math.ceil(len(places) / 12)])
    low, high = places[0], places[-1]
    if log and len(places) > 12:  # numbers of a simulation's grid are not round, and far ones are long
        ticks = tuple(tick for tick in logarithmic_axis(title, places).ticks if low <= tick <= high)
    if log:
        span = math.log(high / low) or 1.0
        return Axis(title, (low * math.exp(-0.04 * span), high * math.exp(right_margin * span)), ticks, log=True)
    span = (high - low) or 1.0
    return Axis(title, (low - 0.02 * span, high + right_margin * span), ticks)
