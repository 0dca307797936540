"""Examples in shards of nearly one length, so that little of a pass is padding.

The longest come first: threads that work through the shards then end nearly at the same time.
"""

from collections.abc import Sequence


def shards(lengths: Sequence[int], budget: int) -> list[list[int]]:
    """The examples of each shard, sorted by length; padded to its longest, a shard has at most ``budget`` elements.

    Raises:
        ValueError: an example alone exceeds the budget, or has no length.
    """
    if lengths and not 0 < min(lengths) <= max(lengths) <= budget:
        raise ValueError(f"found lengths from {min(lengths)} to {max(lengths)}, expected 1 to the budget {budget}")
    groups: list[list[int]] = []
    for i in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        if not groups or lengths[groups[-1][0]] * (len(groups[-1]) + 1) > budget:
            groups.append([])
        groups[-1].append(i)
    return groups
