"""Weighted urns of words, determiners, modes and times: words by Zipf's law.

The word of rank r in its table is drawn with weight 1 / (r + 1), so that word frequencies fall about like 1 / rank
(Zipf, 1949). Every draw is a number from [0, 1) looked up in cumulated weights.
"""

from bisect import bisect
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Generic, NamedTuple, TypeVar

from lnlab.corpora.toy import phrases, verbs, words
from lnlab.corpora.toy.clauses import FUTURE, MODALS, PERFECT, PRESENT
from lnlab.corpora.toy.phrases import AN, BARE, EVERY, NO, NUMBERS, POSSESSIVES, THE, THIS
from lnlab.corpora.toy.verbs import verbs as verbs_of
from lnlab.corpora.toy.verbs import verbs_with_preposition
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
    """The nouns of one class, and what may be said of them."""

    nouns: Urn[Noun]
    adjectives: Urn[Adjective]


_SAID = {"PERSONS": Urn(adjectives(words.OF_PERSONS))} | dict.fromkeys(
    ("TEXTS", "IDEAS", "EVENTS"), Urn(adjectives(words.OF_IDEAS))
)
_OF_THINGS = Urn(adjectives(words.OF_THINGS))
_DONE_TO = {
    "THINGS": 0.24,
    "PERSONS": 0.2,
    "TEXTS": 0.14,
    "OPENABLES": 0.12,
    "FOOD": 0.1,
    "IDEAS": 0.08,
    "ANIMALS": 0.07,
    "VEHICLES": 0.05,
}
FIELDS = {
    name: Field(Urn(nouns(getattr(words, name), who=name == "PERSONS")), _SAID.get(name, _OF_THINGS))
    for name in (*_DONE_TO, "EVENTS", "ROOMS", "SURFACES")
}
DONE_TO = Urn([(FIELDS[name], Urn(verbs_of(getattr(verbs, name)))) for name in _DONE_TO], list(_DONE_TO.values()))
TO_PERSONS = Urn(verbs_of(verbs.PERSONS))
DATIVE, GIVING, TELLING = (Urn(verbs_of(table)) for table in (verbs.DATIVE, verbs.GIVING, verbs.TELLING))
GOING, PUTTING, STAYING = (Urn(verbs_of(table)) for table in (verbs.GOING, verbs.PUTTING, verbs.STAYING))
SAYING, TRYING = (Urn(verbs_of(table)) for table in (verbs.SAYING, verbs.TRYING))
WITH_PREPOSITION = Urn(verbs_with_preposition())
PRONOUNS, NAMES = Urn(phrases.PRONOUNS), Urn([phrases.named(name) for (name,) in rows(words.NAMES)])
SINGULAR = Urn((THE, AN, THIS, NO, EVERY, *POSSESSIVES), (0.52, 0.2, 0.06, 0.04, 0.04, 0.05, 0.03, 0.03, 0.02, 0.01))
PLURAL = Urn((THE, BARE, THIS, NO, *NUMBERS, *POSSESSIVES), (0.5, 0.14, 0.06, 0.03, *[0.04] * 4, *[0.02] * 5))
OF_PLACE = Urn((THE, AN, *POSSESSIVES), (0.78, 0.08, *[0.03] * 5))
MODES = Urn((PRESENT, PERFECT, FUTURE, *MODALS), (0.44, 0.25, 0.07, 0.08, 0.05, 0.04, 0.03, 0.02, 0.02))
MANNERS = Urn([(german, english) for german, english in rows(words.MANNERS)])


def _times(table: str) -> Urn[tuple[str, str]]:
    pairs = (entry.split("=") for entry in table.split("; "))
    return Urn([(german, english) for german, english in pairs])


NOW = _times(
    "heute=today; jetzt=now; jeden Tag=every day; am Abend=in the evening; am Morgen=in the morning; "
    "im Sommer=in summer; am Sonntag=on Sunday; in der Nacht=at night; im Winter=in winter"
)
BEFORE = _times(
    "gestern=yesterday; heute=today; letzte Woche=last week; am Montag=on Monday; vor kurzem=recently; "
    "am Abend=in the evening; damals=back then; letztes Jahr=last year"
)
LATER = _times("morgen=tomorrow; bald=soon; nächste Woche=next week; am Abend=in the evening; später=later")
