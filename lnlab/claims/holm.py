"""``p_(i) ≤ α / (m - i + 1)`` for i = 1, 2, ... until the first failure: Holm's step-down test (Holm, 1979)."""

from collections.abc import Sequence


def holm_rejections(p: Sequence[float], alpha: float) -> list[bool]:
    """Which of several hypotheses are rejected, with at most ``alpha`` chance of any wrong one."""
    rejected = [False] * len(p)
    for rank, i in enumerate(sorted(range(len(p)), key=p.__getitem__)):
        if p[i] > alpha / (len(p) - rank):
            break
        rejected[i] = True
    return rejected
