"""Probes, sections and claims of a spec: their kinds are known, their parameters valid, their selections plausible."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from lnlab.compile.checks.published_tables import flaws_of_tables
from lnlab.compile.checks.references import flaws_of_reference
from lnlab.compile.resolve.choices import Registries, resolve_choice
from lnlab.compile.selection.selection import Ground, ambiguity, flaws_of_selection, listed, open_split, unknown_key
from lnlab.compile.sweep.overlay import Draft, Found
from lnlab.errors import nearest
from lnlab.facts import SectionFacts
from lnlab.keys import Json
from lnlab.registry import Choice, Flaw, Flawed, Where
from lnlab.specfile.columns import COLUMNS
from lnlab.specfile.experiment import ClaimText, ProbeText, SectionText, own
from lnlab.specfile.read import Reading
from lnlab.specfile.references import REFERENCE

FIELDS = {
    kind: tuple(name for name in text.model_fields if name != "kind")
    for kind, text in (("probe", ProbeText), ("section", SectionText), ("claim", ClaimText))
}
"""What may stand beside the parameters of a probe, a section and a claim, whatever its kind."""

PATHS = ("over", "along", "rows", "columns", "panels", "lines")
"""Parameters that name a path of the setting or a column."""


@dataclass(frozen=True)
class Asked:
    """One resolved probe, section or claim (or what a claim requires).

    Attributes:
        choice: its resolved parameters.
        path: where it stands in the data.
        name: how problems name it: ``claims.post_grows``.
        judged: whether it is a claim.
        several: whether any number of settings may be selected, as it is about all of them at once; else one number
            per seed and x must be left.
        at: when a probe looks.
        implied: derived quantities that a section shows without naming them.
    """

    choice: Choice
    path: Where
    name: Where
    judged: bool = False
    several: bool = False
    at: Json = None
    implied: tuple[str, ...] = ()


@dataclass
class Questions:
    """Everything asked of the runs. The lists are in the order of the spec, without what is flawed."""

    probes: list[Asked] = field(default_factory=list)
    sections: list[Asked] = field(default_factory=list)
    claims: list[Asked] = field(default_factory=list)
    requires: list[Asked] = field(default_factory=list)
    found: Found = field(default_factory=list)


def questions(reading: Reading, draft: Draft, registries: Registries) -> Questions:
    """Resolve every probe, section and claim; what is wrong with any of them is in ``found``."""
    made = Questions()
    known = _ids(draft.data.get("claims"))
    for number, probe in enumerate(reading.experiment.probes):
        asked = _asked(made, "probe", own(probe), reading.path(("probes", number)), draft, registries)
        made.probes += [replace(asked, at=probe.at)] if asked else []
    for number, section in enumerate(reading.experiment.report):
        path = reading.path(("report", number))
        asked = _asked(made, "section", own(section), path, draft, registries)
        made.sections += [asked] if asked else []
        for i, word in enumerate(section.claims):
            if word not in known:
                flaw = Flaw((*path, "claims"), f"no claim is called '{word}'", nearest(word, known))
                made.found.append((draft.spot((*path, "claims", i)), flaw))
    for number, claim in enumerate(reading.experiment.claims):
        path = reading.path(("claims", number))
        asked = _asked(made, "claim", own(claim), path, draft, registries, ("claims", claim.id))
        made.claims += [asked] if asked else []
        for place, name, given in _requirements(claim, path, draft):
            needed = _asked(made, "claim", given, place, draft, registries, name)
            made.requires += [needed] if needed else []
    return made


def _ids(claims: Json) -> list[str]:
    """The ids that claims have, flawed or not."""
    ids = [claim.get("id") for claim in claims if isinstance(claim, dict)] if isinstance(claims, list) else []
    return [word for word in ids if isinstance(word, str)]


def _requirements(claim: ClaimText, path: Where, draft: Draft) -> Iterator[tuple[Where, Where, Choice]]:
    """What a claim requires, with where it stands: one mapping or a list of them; without ``says``, which is a name."""
    single = isinstance(draft.data["claims"][path[1]].get("requires"), dict)
    for i, given in enumerate(claim.requires):
        below: Where = ("requires",) if single else ("requires", i)
        named = isinstance(given.get("says"), str)
        asked = {word: value for word, value in given.items() if word != "says" or not named}
        yield (*path, *below), ("claims", claim.id, *below), asked


def _asked(
    made: Questions, kind: str, given: Choice, path: Where, draft: Draft, registries: Registries, name: Where = ()
) -> Asked | None:
    try:
        choice = resolve_choice(registries[kind], given, FIELDS[kind])
    except Flawed as error:
        made.found += [(draft.spot((*path, *flaw.path)), flaw.below(*(name or path))) for flaw in error.flaws]
        return None
    judged, facts = kind == "claim", registries[kind][choice["kind"]].facts
    several = bool(judged and facts.several) or bool(choice.get("exact", False))
    implied = facts.implied if isinstance(facts, SectionFacts) else ()
    return Asked(choice, path, name or path, judged=judged, several=several, implied=implied)


def implausible(made: Questions, ground: Ground, draft: Draft) -> Found:
    """What is wrong with the selections, now that the settings are known."""
    found: Found = []
    for asked in (*made.sections, *made.claims, *made.requires):
        for below, flaw in _flaws(asked, ground):
            path = (*below, *flaw.path)
            found.append((draft.spot((*asked.path, *path)), Flaw((*asked.name, *path), flaw.what, flaw.remedy)))
    return found


def _flaws(asked: Asked, ground: Ground) -> Iterator[tuple[Where, Flaw]]:
    """Flaws of one section or claim, each with the parameter it stands in.

    An exact bound holds every sample to it and averages none, so it may take as many variants as it likes.
    """
    choice = asked.choice
    kept = {word: choice[word] for word in PATHS if isinstance(choice.get(word), str)}
    selections = [(word, choice[word]) for word in ("of", "where", "to") if isinstance(choice.get(word), dict)]
    if isinstance(choice.get("quantity"), str):
        yield from (((), flaw) for flaw in flaws_of_selection({"quantity": choice["quantity"]}, ground))
    unknown = {word: path for word, path in kept.items() if not _stands(path, ground)}
    yield from (((word,), unknown_key(path, ground)) for word, path in unknown.items())
    if unknown:
        return
    flawed = False
    first = choice.get("of") or {}
    for word, flaw in _flaws_of_references(asked, selections, ground):
        flawed = True
        yield (word,), flaw
    for word, selection in selections:
        whole = {**first, **selection} if word == "to" else selection
        flaws = [flaw for flaw in flaws_of_selection(whole, ground) if not flaw.path or flaw.path[0] in selection]
        flawed = flawed or bool(flaws)
        yield from (((word,), flaw) for flaw in flaws)
    yield from (((), flaw) for flaw in flaws_of_tables(choice, ground))
    if asked.judged and not flawed and selections and not asked.several:
        yield from _ambiguous(selections, list(kept.values()), ground)
    elif (
        asked.judged
        and not flawed
        and not choice.get("exact")
        and (reason := open_split(first, list(kept.values()), ground))
    ):
        yield ("of",), Flaw((), reason, "a claim reads one number of each run")


def _flaws_of_references(
    asked: Asked, selections: list[tuple[str, Json]], ground: Ground
) -> Iterator[tuple[str, Flaw]]:
    """What is wrong with the references, each with the selection it stands in, or should stand in.

    Of a claim ``to`` has that of ``of``, unless it names its own.
    """
    choice, by_word = asked.choice, dict(selections)
    shown = [*listed(choice.get("quantity")), *listed(choice.get("numbers"))]
    word = "of" if "of" in by_word else "where"
    given = by_word.get(word) or {}
    names = [*shown, *listed(given.get("quantity"))]
    yield from ((word, flaw) for flaw in flaws_of_reference(given, names, ground, asked.implied))
    if REFERENCE in (other := by_word.get("to") or {}):
        names = listed({**given, **other}.get("quantity"))
        yield from (("to", flaw) for flaw in flaws_of_reference(other, names, ground))


def _stands(path: str, ground: Ground) -> bool:
    """Whether a path is a column, or stands in some setting."""
    return path in COLUMNS or ground.either(lambda variants: variants.has(path))


def _ambiguous(selections: list[tuple[str, Json]], kept: list[str], ground: Ground) -> Iterator[tuple[Where, Flaw]]:
    """The selections of a claim that leave more than one number per seed and x; ``to`` changes what ``of`` says.

    Runs that differ only in what their quantity is taken over have one number.
    """
    first = dict(selections).get("of", {})
    for word, selection in selections:
        whole = {**first, **selection}
        over = [path for name in listed(whole.get("quantity")) if (path := ground.taken_over.get(name))]
        if both := [path for path in over if path in kept]:
            yield (word, "quantity"), Flaw((), f"it is taken over {both[0]}, and so is the claim", "keep one of them")
        elif reason := ambiguity(whole, [*kept, *over], ground) or open_split(whole, kept, ground):
            yield (word,), Flaw((), reason, "a claim reads one number per seed and x")
