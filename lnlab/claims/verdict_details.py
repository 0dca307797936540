"""What is said beside the word of a verdict."""

from typing import Literal

Detail = Literal[
    "the other way",
    "no effect that matters",
    "in its direction",
    "direction open",
    "better than the range",
    "worse than the range",
    "above the range",
    "below the range",
    "depends on the setting",
]
"""What a verdict says beside its word: two of contradicted, two of smaller, four of beyond, and one of undecided."""
LawWord = Literal["compatible", "rejected"]
"""Whether the interval holds the value that the sentence names."""
