"""Addressed randomness: each draw has its own seed, made of (seed, purpose, what), so that no draw can move another.

Order, workers, resumption and probes therefore cannot change a number, and two variants of one seed start from the
same weights and see the same batches (a paired comparison).
"""

from dataclasses import dataclass

from lnlab.keys import Json, digest


@dataclass(frozen=True)
class Draw:
    """The randomness of one replicate: ``draw("init", "encoder", 1, "w1")`` is the seed of that one tensor."""

    seed: int

    def __call__(self, purpose: str, *what: Json) -> int:
        """The first 63 bits of the SHA-256 of (seed, purpose, what): a seed for a CPU generator."""
        return int(digest([self.seed, purpose, *what])[:16], 16) >> 1
