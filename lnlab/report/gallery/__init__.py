"""What the page of one experiment needs and no other: a file for each such page, named as its spec.

A file registers the kinds of claims and sections, with their drawing, that stand in that spec alone. They are known
like all others, and ``lnlab list`` says which page they are for. Probes and quantities stay in their own rooms: workers
load probes and import nothing that draws, and rows are read without the sections.

Only ``registries`` imports these files, so that any of them can be deleted with its spec.
"""

from collections.abc import Callable
from typing import Any


def page_of_builder(build: Callable[..., Any]) -> str | None:
    """The page that alone needs a builder, or None if it is for all."""
    room, _, page = build.__module__.rpartition(".")
    return page if room == __name__ else None
