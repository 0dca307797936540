"""Which rows a report's data are known to hold, and whether a claim or a section needs others.

A report keeps the rows that its sections and claims read. A selection is *covered* where it narrows one of which every
row is there; rows of any other selection may be missing without a trace, so that nothing is concluded from them.
"""

from collections.abc import Iterable, Mapping, Sequence

from lnlab.analyse.select.select import listed
from lnlab.claims.claim import Claim, selections
from lnlab.keys import Json, canonical
from lnlab.registry import Flawed
from lnlab.report.facts import COMMON
from lnlab.report.registries import FRAME_REGISTRIES

Selection = Mapping[str, Json]
_Section = Mapping[str, Json]
WHOLE = ("density", "depth_profile", "heatmap", "law_plot", "size_plot", "small_multiples")
"""Kinds of sections that keep every row of their selection; others thin lines or keep last numbers only."""
DRAWN = ("lines", "laws", "between", "bins", "inset", "unit", "width", "statistics", "published", "band", *COMMON)
"""Parameters of sections that change how rows are drawn, and not which."""


def of_claim(claim: Claim) -> list[Selection]:
    """Every selection that a claim reads, those of its requirements included."""
    return [selection for each in (claim, *(claim.get("requires") or ())) for selection in selections(each)]


def of_section(section: _Section) -> list[Selection]:
    """The selections that a section draws; none where its kind says in another way what it reads."""
    if isinstance(section.get("quantity"), str) and section["kind"] != "time_to_target":
        return [{"quantity": section["quantity"], **(section.get("where") or {})}]
    return list(selections(section)) if section.get("of") else []


def record(claims: Iterable[Claim], sections: Iterable[_Section]) -> tuple[Mapping[str, Json], ...]:
    """What is written down of the rows that are kept for these claims and sections."""
    found = [{"selection": dict(selection)} for claim in claims for selection in of_claim(claim)]
    found += [{"section": {k: v for k, v in section.items() if k not in COMMON}} for section in sections]
    return tuple({canonical(each): each for each in found}.values())


def known(kept: Iterable[Mapping[str, Json]]) -> list[Selection]:
    """The selections of which every row is there."""
    found: list[Selection] = []
    for each in kept:
        section = each.get("section")
        found += [each["selection"]] if section is None else of_section(section) if section["kind"] in WHOLE else []
    return found


def covered(asked: Iterable[Selection], there: Sequence[Selection]) -> bool:
    """Whether every selection narrows one that is known."""
    return all(any(narrows(selection, each) for each in there) for selection in asked)


def narrows(selection: Selection, other: Selection) -> bool:
    """Whether every condition of the other is met by whatever meets those of the selection."""
    return all(key in selection and _within(selection[key], wanted) for key, wanted in other.items())


def _within(inner: Json, outer: Json) -> bool:
    return {canonical(value) for value in listed(inner)} <= {canonical(value) for value in listed(outer)}


def drawable(section: _Section, kept: Sequence[Mapping[str, Json]]) -> bool:
    """Whether the rows of a section are there: those that a section had, or whole selections."""
    if any(_same_rows(section, each["section"]) for each in kept if "section" in each):
        return True
    asked = of_section(section)
    return bool(asked) and section["kind"] != "curves" and covered(asked, known(kept))


def _same_rows(section: _Section, other: _Section) -> bool:
    """Whether two sections are alike but for how they draw, and the first takes no more than the second."""
    a, b = ({k: v for k, v in _today(each).items() if k not in (*DRAWN, "where")} for each in (section, other))
    return canonical(a) == canonical(b) and narrows(section.get("where") or {}, other.get("where") or {})


def said(asked: Iterable[Selection]) -> str:
    """The sentence for a page: which rows are not there."""
    words = dict.fromkeys(", ".join(f"{key} = {_word(value)}" for key, value in each.items()) for each in asked)
    return f"rows of {'; '.join(words) or 'this kind'} are not in this report's data"


def _word(value: Json) -> str:
    if isinstance(value, list | tuple):
        return " or ".join(map(_word, value))
    return value if isinstance(value, str) else canonical(value)


def _today(section: _Section) -> _Section:
    """A section with the defaults of today, which an older lnlab may not have written down."""
    try:
        return FRAME_REGISTRIES["section"].resolve({k: v for k, v in section.items() if k not in COMMON})
    except Flawed:
        return section
