"""Every fault there is, in the order of the table."""

import damage_faults
import disk_faults
import kill_faults
import lease_faults
import loader_faults
import loader_keys
import loader_typos
import loader_values
import process_faults
import worker_faults
from faults import FAULTS

GROUPS_OF_SPECS = (loader_faults.GROUP, loader_keys.GROUP)
"""What is injected into texts of specs; all other faults befall runs."""

__all__ = [
    "FAULTS",
    "GROUPS_OF_SPECS",
    "damage_faults",
    "disk_faults",
    "kill_faults",
    "lease_faults",
    "loader_faults",
    "loader_keys",
    "loader_typos",
    "loader_values",
    "process_faults",
    "worker_faults",
]
