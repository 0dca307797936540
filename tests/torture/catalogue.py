"""Every fault there is, in the order of the table."""

from tests.torture import (
    damage_faults,
    disk_faults,
    kill_faults,
    lease_faults,
    loader_faults,
    process_faults,
    recorder_faults,
    worker_faults,
)
from tests.torture.faults import FAULTS

FILES = damage_faults, disk_faults, worker_faults, kill_faults, lease_faults, loader_faults, process_faults
FILES += (recorder_faults,)
GROUPS_OF_SPECS = (loader_faults.GROUP,)
"""What is injected into texts of specs; all other faults befall runs."""

__all__ = ["FAULTS", "GROUPS_OF_SPECS"]
