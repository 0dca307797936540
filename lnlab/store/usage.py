"""How many bytes of a store each trajectory takes, loose or packed."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from lnlab.store.packs import Packs
from lnlab.store.records.layout import sizes_below


def trajectory_sizes(root: Path) -> Mapping[str, int]:
    """Trajectory -> bytes: those of its folder, and its share of the packs that hold some of it.

    Raises:
        StoreError: this user may not read the store.
    """
    sizes: Counter[str] = Counter()
    for folder in (root / "trajectories").glob("??/*"):
        sizes[folder.name] += sum(sizes_below(folder))
    for pack in Packs(root).current():
        for trajectory, size in pack.sizes().items():
            sizes[trajectory] += int(size)
    return sizes
