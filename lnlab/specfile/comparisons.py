"""What no numbers could answer: a range, an order or a comparison of a claim that is wrong in itself."""

from collections.abc import Iterator, Mapping

from lnlab.issues import Issue
from lnlab.keys import Json


def flaws_of_comparison(choice: Mapping[str, Json]) -> Iterator[Issue]:
    """What is wrong with the parameters of a claim among themselves.

    Args:
        choice: its kind and parameters, resolved.
    """
    between, order, delta = choice.get("between"), choice.get("order"), choice.get("delta")
    if between is not None and between[0] > between[1]:
        what = f"{between[0]:g} is above {between[1]:g}"
        yield Issue("out-of-range", ("between",), what, "write the lower end first")
    if isinstance(order, str) and "~" in order and delta is not None and delta < 0:
        what = "no two values are alike within a negative delta"
        yield Issue("out-of-range", ("delta",), what, "write the largest difference that counts as alike")
    of, to = choice.get("of"), choice.get("to")
    # One value may be written as a list of one.
    if (
        of
        and isinstance(to, Mapping)
        and all(word in of and _values(of[word]) == _values(value) for word, value in to.items())
    ):
        what = "it changes nothing of 'of': both sides are the same runs"
        yield Issue("no-effect", ("to",), what, "name what the other side has")


def _values(condition: Json) -> list[Json]:
    return list(condition) if isinstance(condition, list | tuple) else [condition]
