"""What a claim cites of other experiments: claims by their spec, read from the verdicts in their reports."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import lnlab
from lnlab.keys import Json

EVIDENCE = "evidence"
"""The parameter of a claim that cites: name of a spec -> ids of its claims."""
AUTHORED = "real"
"""The profile whose report is committed, and whose results the author's sentences are about."""
VERDICTS_NAME = "verdicts.parquet"
"""The file of verdicts among the tables of a report."""
_PACKAGE = Path(lnlab.__file__).parent


@dataclass(frozen=True, slots=True)
class Citation:
    """A claim of another experiment: its spec's name, the profile of its report, and its id."""

    spec: str
    profile: str
    claim: str


def citations_of(claim: Mapping[str, Json]) -> Iterator[Citation]:
    """Every claim that a resolved claim cites, and what it requires, in order."""
    for part in (claim, *(claim.get("requires") or ())):
        for spec, names in (part.get(EVIDENCE) or {}).items():
            yield from (Citation(spec, part["profile"], name) for name in names)


def verdicts_path(root: Path, citation: Citation) -> Path:
    """The file of verdicts of the cited experiment, in a folder of reports."""
    return root / citation.spec / citation.profile / "data" / VERDICTS_NAME


def find_verdicts(spec: Path, citation: Citation) -> Path:
    """The file of verdicts below ``reports``, in the working folder or in one that holds the spec that cites it.

    Where there is none, the one in the working folder that could be.
    """
    places = [verdicts_path(folder / "reports", citation) for folder in (Path(), *spec.resolve().parents)]
    return next((place for place in places if place.is_file()), places[0]).absolute()


def shipped_specs() -> dict[str, Path]:
    """The specs that come with lnlab by name: inside the package, or beside it in a checkout."""
    inside = _PACKAGE / "shipped_specs"
    folder = inside if inside.is_dir() else _PACKAGE.parent / "specs"
    return {spec.stem: spec for spec in sorted(folder.glob("*.yaml"))}


def specs_at_hand(spec: Path) -> dict[str, Path]:
    """The specs by name that one can cite: those beside it, and those that come with lnlab."""
    # A spec beside this one goes before a shipped one of the same name.
    return shipped_specs() | {path.stem: path for path in sorted(spec.parent.glob("*.yaml"))}
