"""Noun phrases: articles and adjective endings that agree in gender, number and case, with their English.

    weak after der, dieser, jeder    mixed after ein, kein, mein    strong in the plural without an article

The three cases are the nominative, the accusative and the dative, numbered 0, 1, 2.
"""

from functools import cache, lru_cache
from typing import NamedTuple

from lnlab.corpora.toy.words import Adjective, Noun

NOMINATIVE, ACCUSATIVE, DATIVE = range(3)
GENDERS = "mfnp"  # p stands for the plural, which has no genders
Table = tuple[tuple[str, ...], ...]


def _table(*cases: str) -> Table:
    """A row for each case, a column for each gender; a dash is nothing."""
    return tuple(tuple(word.strip("-") for word in row.split()) for row in cases)


DEFINITE = _table("der die das die", "den die das die", "dem der dem den")
RELATIVE = _table("der die das die", "den die das die", "dem der dem denen")
LIKE_DER = _table("er e es e", "en e es e", "em er em en")
LIKE_EIN = _table("- e - e", "en e - e", "em er em en")
WEAK = _table("e e e en", "en e e en", "en en en en")
MIXED = _table("er e es en", "en e es en", "en en en en")
STRONG = _table("- - - e", "- - - e", "- - - en")


class Determiner(NamedTuple):
    """A determiner: its stem with the endings it takes, and those of an adjective after it.

    English forms are the singular's and the plural's; an empty one means that there is no such number.
    """

    stem: str
    endings: Table
    adjective: Table
    english: str
    english_plural: str


THE = Determiner("", DEFINITE, WEAK, "the", "the")
AN = Determiner("ein", LIKE_EIN, MIXED, "a", "")
NO = Determiner("kein", LIKE_EIN, MIXED, "no", "no")
THIS = Determiner("dies", LIKE_DER, WEAK, "this", "these")
EVERY = Determiner("jed", LIKE_DER, WEAK, "every", "")
POSSESSIVES = tuple(
    Determiner(stem, LIKE_EIN, MIXED, english, english)
    for stem, english in (("mein", "my"), ("sein", "his"), ("ihr", "her"), ("unser", "our"), ("dein", "your"))
)
_NOTHING = _table("- - - -", "- - - -", "- - - -")
BARE = Determiner("", _NOTHING, STRONG, "", " ")
NUMBERS = tuple(
    Determiner(german, _NOTHING, STRONG, "", english)
    for german, english in (("zwei", "two"), ("drei", "three"), ("vier", "four"), ("viele", "many"))
)


class Phrase(NamedTuple):
    """A noun phrase or pronoun: the German of each case, English as subject and as object, and what it agrees with.

    ``person`` is 0 to 5 for ich, du, er, wir, ihr, sie; ``gender`` is p in the plural. Only the phrase of a noun has a
    determiner.
    """

    german: tuple[str, str, str]
    subject: str
    object: str
    person: int
    gender: str
    who: bool
    pronoun: bool = False
    determiner: Determiner | None = None

    @property
    def noun(self) -> bool:
        """Whether it may carry a relative clause."""
        return self.determiner is not None

    @property
    def definite(self) -> bool:
        """Whether *nicht* may follow it, where *kein* would have to be said otherwise."""
        return self.determiner not in (AN, NO, BARE)


def _pronoun(forms: str, subject: str, other: str, person: int, gender: str) -> Phrase:
    first, second, third = forms.split()
    return Phrase((first, second, third), subject, other, person, gender, True, pronoun=True)


PRONOUNS = (
    _pronoun("er ihn ihm", "he", "him", 2, "m"),
    _pronoun("sie sie ihr", "she", "her", 2, "f"),
    _pronoun("ich mich mir", "I", "me", 0, "m"),
    _pronoun("wir uns uns", "we", "us", 3, "p"),
    _pronoun("sie sie ihnen", "they", "them", 5, "p"),
    _pronoun("du dich dir", "you", "you", 1, "m"),
)


@cache
def named(name: str) -> Phrase:
    """A proper name, without an article."""
    return Phrase((name, name, name), name, name, 2, "m", True)


@lru_cache(maxsize=65536)
def phrase(noun: Noun, plural: bool, determiner: Determiner, adjective: Adjective | None = None) -> Phrase:
    """The phrase of a noun with its determiner and adjective."""
    column = 3 if plural else GENDERS.index(noun.gender)
    words = [determiner.english_plural if plural else determiner.english]
    words += [adjective.english] if adjective else []
    words.append(noun.english_plural if plural else noun.english)
    english = with_article(" ".join(words).strip())
    first, second, third = (_german(noun, plural, determiner, adjective, case, column) for case in range(3))
    german = first, second, third
    person, gender = (5, "p") if plural else (2, noun.gender)
    return Phrase(german, english, english, person, gender, noun.who, determiner=determiner)


def extended(given: Phrase, german: str, english: str) -> Phrase:
    """The phrase with a relative clause after it."""
    first, second, third = given.german
    forms = first + german, second + german, third + german
    return given._replace(german=forms, subject=given.subject + english, object=given.object + english)


def _german(
    noun: Noun, plural: bool, determiner: Determiner, adjective: Adjective | None, case: int, column: int
) -> str:
    """The phrase in one case."""
    words = [determiner.stem + determiner.endings[case][column]]
    words += [adjective.stem + determiner.adjective[case][column]] if adjective else []
    words.append(_inflected(noun, plural, case))
    return " ".join(words).lstrip()


def _inflected(noun: Noun, plural: bool, case: int) -> str:
    if plural:
        return noun.dative_plural if case == DATIVE else noun.plural
    return noun.singular if case == NOMINATIVE else noun.oblique


def with_article(english: str) -> str:
    """*a* as *an* before a vowel. No word of the toy English begins with a silent h or a spoken consonant like *u*."""
    return "an" + english[1:] if english.startswith("a ") and english[2] in "aeiou" else english


CONTRACTIONS = {
    ("in", "dem"): "im",
    ("in", "das"): "ins",
    ("an", "dem"): "am",
    ("an", "das"): "ans",
    ("von", "dem"): "vom",
    ("zu", "dem"): "zum",
    ("zu", "der"): "zur",
    ("bei", "dem"): "beim",
}


def after_preposition(preposition: str, case: int, given: Phrase) -> str:
    """The German of a phrase after a preposition: *im Garten*, *auf den Bus*, *mit ihr*."""
    german = given.german[case]
    article, _, rest = german.partition(" ")
    short = CONTRACTIONS.get((preposition, article))
    return f"{short} {rest}" if short and rest else f"{preposition} {german}"
