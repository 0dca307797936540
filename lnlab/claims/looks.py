"""Several looks at growing data: each has its own level, and all together keep the error probability of one look.

    looks: 1            α_1 = .05, and the claim is then closed
    looks: open         α_k = .05 / 2^k
    looks: [sizes]      the same over the K declared sizes, of which the last takes the rest
    a closed claim that is looked at again: α_1 = .05 stands, α_k = .05 / 2^k for k >= 2, and the bound grows to .075

The probabilities of a wrong verdict at each look are added (Boole). Any test at level α_k may therefore be used, and no
joint distribution is needed. The levels halve: the first looks spend most of the level, and no number of further looks
exhausts it.
"""

from collections.abc import Sequence
from typing import Literal

from lnlab.claims.significance import ALPHA
from lnlab.specfile.looks import OPEN

DeclaredLooks = Literal[1, "open"] | Sequence[int]


def level(look: int, declared: DeclaredLooks = 1) -> float:
    """The two-sided level of a look.

    Args:
        look: its number, from 1.
        declared: as a spec declares its looks.

    Raises:
        ValueError: more looks than were declared.
    """
    if declared == OPEN:
        return float(ALPHA / 2**look)
    if declared == 1:
        return ALPHA if look == 1 else float(ALPHA / 2**look)
    n_looks = len(declared)
    if look > n_looks:
        raise ValueError(f"look {look} of {n_looks} that were declared")
    # The last look takes the rest, which is as much as the look before had.
    return float(ALPHA / 2 ** min(look, n_looks - 1))


def spent(look: int, declared: DeclaredLooks = 1) -> float:
    """The probability of either wrong word that looks 1 to ``look`` may spend, reserved levels included."""
    if declared != 1 or look == 1:
        return ALPHA
    return ALPHA + sum(level(k, declared) for k in range(2, look + 1))
