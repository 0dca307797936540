"""How a report is drawn. It is a module of its own, as the command line reads it before it imports what draws."""

from collections.abc import Collection
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Drawing:
    """What the drawing of a report depends on, its data apart. None of it moves a number.

    Attributes:
        single_file: put the script and the figures into the page instead of beside it.
        lean: write what a repository keeps: the page, its data, and the first figure, which the index shows. What the
            page would repeat of its data is left out, and what pages have in common lies beside them once.
        png: draw each figure as PNG as well.
        links: the addresses of the index and of other pages that the page may link to. None means those that exist.
    """

    single_file: bool = False
    lean: bool = False
    png: bool = False
    links: Collection[str] | None = None


WHOLE_REPORT = Drawing()
"""Every file of a report, and the script beside the page."""
