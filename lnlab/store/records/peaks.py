"""How much memory the worker of each trajectory needed, kept beside the plan for which it was computed."""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from lnlab.errors import StoreError
from lnlab.store import files
from lnlab.store.records.checksummed import CorruptFile, from_checksummed_json, read_bytes, to_checksummed_json
from lnlab.store.records.layout import plan_folder

PEAKS_FILE = "peaks.json"


def read_peaks(root: Path, digest: str) -> dict[str, int]:
    """Peak memory in bytes by trajectory, of those computed for this plan. Empty if the file is absent or damaged."""
    path = plan_folder(root, digest) / PEAKS_FILE
    try:
        return dict(from_checksummed_json(read_bytes(path), path))
    except CorruptFile:
        return {}


def keep_peaks(root: Path, digest: str, peaks: Mapping[str, int]) -> None:
    """Add peaks to those of a plan. If the store cannot be written, estimates stay without their actual value."""
    if peaks:
        with suppress(StoreError):
            content = to_checksummed_json(read_peaks(root, digest) | dict(peaks))
            files.make_folder(plan_folder(root, digest))
            files.replace(plan_folder(root, digest) / PEAKS_FILE, content)
