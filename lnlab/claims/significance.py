"""What judging and its words share, without imports that load frames."""

ALPHA = 0.05
"""The largest probability of a wrong verdict, either word, that a claim may spend. It is the level of a single look."""

ROUNDING = 1e-5
"""The relative distance to a named value that the rounding of float32 can make of an exact number."""


def holds_value(low: float, high: float, value: float) -> bool:
    """Whether an interval holds a value, up to ``ROUNDING``."""
    rounding = ROUNDING * max(abs(value), abs(low), abs(high))
    return low - rounding <= value <= high + rounding
