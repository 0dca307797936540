"""Phrases and clauses drawn at random: German and English together, words by Zipf's law.

The word of rank r in its table is drawn with weight 1 / (r + 1), so that word frequencies fall about like 1 / rank
(Zipf, 1949). Every draw is a number from [0, 1) looked up in cumulated weights.
"""

from bisect import bisect
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Generic, NamedTuple, TypeVar

from lnlab.corpora.toy import phrases, verbs, words
from lnlab.corpora.toy.clauses import FUTURE, MODALS, PERFECT, PRESENT, Clause, Mode, joined
from lnlab.corpora.toy.phrases import A, ACCUSATIVE, BARE, DATIVE, EVERY, NO, NUMBERS, POSSESSIVES, THE, THIS, Phrase
from lnlab.corpora.toy.verbs import BEING, Verb, verbs_with_preposition
from lnlab.corpora.toy.verbs import verbs as verbs_of
from lnlab.corpora.toy.words import Adjective, Noun, adjectives, nouns, rows

T = TypeVar("T")
Uniform = Callable[[], float]


class Urn(Generic[T]):
    """Things to draw from, by weight; without weights by Zipf's law."""

    def __init__(self, things: Sequence[T], weights: Sequence[float] | None = None) -> None:
        self.things = things
        sums = list(accumulate(weights or [1 / (rank + 2) for rank in range(len(things))]))
        self.bounds = [value / sums[-1] for value in sums[:-1]]

    def draw(self, uniform: Uniform) -> T:
        """One of them."""
        return self.things[bisect(self.bounds, uniform())]


class Field(NamedTuple):
    """The nouns of one class, what may be said of them, and what may be done to them (verbs with an accusative)."""

    nouns: Urn[Noun]
    adjectives: Urn[Adjective]
    verbs: Urn[Verb] | None


class Object(NamedTuple):
    """What follows a verb, German and English, where it stands, and whether *nicht* may follow it."""

    pronouns: str = ""
    objects: str = ""
    adverbials: str = ""
    rest: str = ""
    definite: bool = True


_OF_PERSONS, _OF_THINGS, _OF_IDEAS = (
    Urn(adjectives(table)) for table in (words.OF_PERSONS, words.OF_THINGS, words.OF_IDEAS)
)


def _field(name: str, said: Urn[Adjective]) -> Field:
    done = Urn(verbs_of(getattr(verbs, name))) if hasattr(verbs, name) else None
    return Field(Urn(nouns(getattr(words, name), who=name == "PERSONS")), said, done)


FIELDS = {name: _field(name, _OF_IDEAS) for name in ("TEXTS", "IDEAS", "EVENTS")} | {
    name: _field(name, _OF_THINGS)
    for name in ("THINGS", "ANIMALS", "FOOD", "OPENABLES", "VEHICLES", "ROOMS", "SURFACES")
}
PERSONS = FIELDS["PERSONS"] = _field("PERSONS", _OF_PERSONS)
_DONE_TO = Urn(
    [FIELDS[name] for name in "THINGS PERSONS TEXTS OPENABLES FOOD IDEAS ANIMALS VEHICLES".split()],
    [0.24, 0.2, 0.14, 0.12, 0.1, 0.08, 0.07, 0.05],
)
_DATIVE, _GIVING, _TELLING = (Urn(verbs_of(table)) for table in (verbs.DATIVE, verbs.GIVING, verbs.TELLING))
_GOING, _PUTTING, _STAYING = (Urn(verbs_of(table)) for table in (verbs.GOING, verbs.PUTTING, verbs.STAYING))
_WITH_PREPOSITION = Urn(verbs_with_preposition())
_PRONOUNS, _NAMES = Urn(phrases.PRONOUNS), Urn([phrases.named(name) for name in words.NAMES])
_SINGULAR = Urn((THE, A, THIS, NO, EVERY, *POSSESSIVES), (0.52, 0.2, 0.06, 0.04, 0.04, 0.05, 0.03, 0.03, 0.02, 0.01))
_PLURAL = Urn((THE, BARE, THIS, NO, *NUMBERS, *POSSESSIVES), (0.5, 0.14, 0.06, 0.03, *[0.04] * 4, *[0.02] * 5))
_OF_PLACE = Urn((THE, A, *POSSESSIVES), (0.78, 0.08, *[0.03] * 5))
_MODES = Urn((PRESENT, PERFECT, FUTURE, *MODALS), (0.44, 0.25, 0.07, 0.08, 0.05, 0.04, 0.03, 0.02, 0.02))
_MANNERS = Urn([(german, english) for german, english in rows(words.MANNERS)])


def _times(table: str) -> Urn[tuple[str, str]]:
    pairs = (entry.split("=") for entry in table.split("; "))
    return Urn([(german, english) for german, english in pairs])


_NOW = _times(
    "heute=today; jetzt=now; jeden Tag=every day; am Abend=in the evening; am Morgen=in the morning; "
    "im Sommer=in summer; am Sonntag=on Sunday; in der Nacht=at night; im Winter=in winter"
)
_BEFORE = _times(
    "gestern=yesterday; heute=today; letzte Woche=last week; am Montag=on Monday; vor kurzem=recently; "
    "am Abend=in the evening; damals=back then; letztes Jahr=last year"
)
_LATER = _times("morgen=tomorrow; bald=soon; nächste Woche=next week; am Abend=in the evening; später=later")


def draw_phrase(uniform: Uniform, field: Field) -> Phrase:
    """A noun of the field with its determiner, perhaps plural, perhaps with an adjective."""
    plural = uniform() < 0.22
    determiner = (_PLURAL if plural else _SINGULAR).draw(uniform)
    adjective = field.adjectives.draw(uniform) if uniform() < 0.3 else None
    return phrases.phrase(field.nouns.draw(uniform), plural, determiner, adjective)


def draw_person(uniform: Uniform) -> Phrase:
    """Someone who does something: a pronoun, a name or a noun."""
    kind = uniform()
    if kind < 0.42:
        return _PRONOUNS.draw(uniform) if kind < 0.3 else _NAMES.draw(uniform)
    return draw_phrase(uniform, PERSONS)


def draw_mode(uniform: Uniform) -> Mode:
    """Present, perfect, future, or a modal verb."""
    return _MODES.draw(uniform)


def draw_time(uniform: Uniform, mode: Mode) -> tuple[str, str]:
    """A time that fits the tense, German and English."""
    return (_BEFORE if mode is PERFECT else _LATER if mode is FUTURE else _NOW).draw(uniform)


def draw_place(uniform: Uniform, case: int) -> tuple[str, str]:
    """In or on a place (dative), or into or onto it (accusative): German and English."""
    room = uniform() < 0.7
    field = FIELDS["ROOMS" if room else "SURFACES"]
    adjective = field.adjectives.draw(uniform) if uniform() < 0.15 else None
    place = phrases.phrase(field.nouns.draw(uniform), False, _OF_PLACE.draw(uniform), adjective)
    german, english = ("in", "in") if room else ("auf", "on")
    english += "to" if case == ACCUSATIVE else ""
    return phrases.after_preposition(german, case, place), f"{english} {place.object}"


def draw_relative(uniform: Uniform, given: Phrase, field: Field) -> Phrase:
    """The phrase with a relative clause, in which it is the subject or the object."""
    column = phrases.GENDERS.index(given.gender)
    if field.verbs is None or (given.who and uniform() < 0.6):
        inner = draw_clause(uniform, given, relatives=False)
        case, subject, start = 0, "", "who" if given.who else "that"
    else:
        dative = given.who and uniform() < 0.3
        verb = (_DATIVE if dative else field.verbs).draw(uniform)
        doer = draw_person(uniform)
        inner = Clause(doer, verb, draw_mode(uniform), False, "", "", "", "", ("", ""))
        case, subject, start = DATIVE if dative else ACCUSATIVE, None, "whom" if given.who else "that"
    return _related(given, phrases.RELATIVE[case][column], inner, subject, start)
