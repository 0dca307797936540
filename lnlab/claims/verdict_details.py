"""What is said beside the word of a verdict."""

from typing import Literal

Detail = Literal["the other way", "no effect that matters", "in its direction", "direction open"]
"""What a verdict on a margin of ours says beyond its word: the first two of contradicted, the others of smaller."""
LawWord = Literal["compatible", "rejected"]
"""Whether the interval holds the value that the sentence names."""
