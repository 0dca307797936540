"""How many bytes of a store each trajectory takes, loose or packed."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from lnlab.store.packs import Packs
from lnlab.store.records.layout import sizes_below


def trajectory_sizes(root: Path) -> Mapping[str, int]:
    """Trajectory -> bytes: those of its folder, and its share of each block of a pack that holds some of it.

    The files of a block are compressed together, so its bytes are divided by the number of stretches.

    Raises:
        StoreError: this user may not read the store.
    """
    sizes: Counter[str] = Counter()
    for folder in (root / "trajectories").glob("??/*"):
        sizes[folder.name] += sum(sizes_below(folder))
    for pack in Packs(root).current():
        for block in pack.blocks:
            stretches = sum(map(len, block.holds.values()))
            for trajectory, names in block.holds.items():
                sizes[trajectory] += block.length * len(names) // stretches
    return sizes
