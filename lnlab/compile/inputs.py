"""Files whose content a plan depends on: those that a spec names itself, and no download with a known checksum.

A registered entry that reads such files has the fact ``inputs``.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lnlab.facts import DataFacts
from lnlab.registry import Choice, Registry, Roots


def files_of(registry: Registry[Any], choice: Choice, roots: Roots) -> Iterator[Path]:
    """The files that a resolved choice and the choices in it name.

    Raises:
        LabError: one of them does not exist.
    """
    entry = registry[choice["kind"]]
    if isinstance(entry.facts, DataFacts) and entry.facts.inputs is not None:
        yield from entry.facts.inputs(roots, choice)
    for name, nested in entry.nested.items():
        yield from files_of(nested, choice[name], roots)
