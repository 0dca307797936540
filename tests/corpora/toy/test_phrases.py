"""Articles and adjective endings, against the paradigms of a grammar book."""

import pytest

from lnlab.corpora.toy import phrases, words
from lnlab.corpora.toy.phrases import AN, BARE, EVERY, NO, NUMBERS, POSSESSIVES, THE, THIS, after_preposition, phrase

NOUNS = {
    noun.singular: noun
    for table, who in ((words.PERSONS, True), (words.THINGS, False), (words.ROOMS, False))
    for noun in words.nouns(table, who=who)
}
ADJECTIVES = {a.predicate: a for table in (words.OF_PERSONS, words.OF_THINGS) for a in words.adjectives(table)}
UNSER = next(p for p in POSSESSIVES if p.stem == "unser")
# determiner, adjective, noun, plural; nominative, accusative, dative; English
PARADIGMS = [
    (THE, "alt", "Mann", False, "der alte Mann; den alten Mann; dem alten Mann", "the old man"),
    (THE, "alt", "Frau", False, "die alte Frau; die alte Frau; der alten Frau", "the old woman"),
    (THE, "alt", "Kind", False, "das alte Kind; das alte Kind; dem alten Kind", "the old child"),
    (THE, "alt", "Kind", True, "die alten Kinder; die alten Kinder; den alten Kindern", "the old children"),
    (AN, "alt", "Mann", False, "ein alter Mann; einen alten Mann; einem alten Mann", "an old man"),
    (AN, "klein", "Frau", False, "eine kleine Frau; eine kleine Frau; einer kleinen Frau", "a small woman"),
    (AN, "klein", "Kind", False, "ein kleines Kind; ein kleines Kind; einem kleinen Kind", "a small child"),
    (NO, "klein", "Frau", True, "keine kleinen Frauen; keine kleinen Frauen; keinen kleinen Frauen", "no small women"),
    (THIS, "jung", "Junge", False, "dieser junge Junge; diesen jungen Jungen; diesem jungen Jungen", "this young boy"),
    (THIS, "jung", "Junge", True, "diese jungen Jungen; diese jungen Jungen; diesen jungen Jungen", "these young boys"),
    (EVERY, "klug", "Kind", False, "jedes kluge Kind; jedes kluge Kind; jedem klugen Kind", "every clever child"),
    (BARE, "teuer", "Buch", True, "teure Bücher; teure Bücher; teuren Büchern", "expensive books"),
    (NUMBERS[0], "rot", "Hut", True, "zwei rote Hüte; zwei rote Hüte; zwei roten Hüten", "two red hats"),
    (UNSER, "groß", "Haus", False, "unser großes Haus; unser großes Haus; unserem großen Haus", "our big house"),
    (UNSER, None, "Stadt", False, "unsere Stadt; unsere Stadt; unserer Stadt", "our city"),
    (AN, None, "Uhr", False, "eine Uhr; eine Uhr; einer Uhr", "a clock"),
]


@pytest.mark.parametrize(("determiner", "adjective", "noun", "plural", "german", "english"), PARADIGMS)
def test_determiner_and_adjective_agree_with_the_noun(determiner, adjective, noun, plural, german, english):
    made = phrase(NOUNS[noun], plural, determiner, ADJECTIVES[adjective] if adjective else None)
    assert made.german == tuple(german.split("; "))
    assert made.object == english
    assert made.person == (5 if plural else 2)


@pytest.mark.parametrize(
    ("preposition", "case", "noun", "plural", "expected"),
    [
        ("in", 2, "Garten", False, "im Garten"),
        ("in", 1, "Haus", False, "ins Haus"),
        ("in", 1, "Garten", False, "in den Garten"),
        ("in", 2, "Stadt", False, "in der Stadt"),
        ("an", 2, "Park", False, "am Park"),
        ("von", 2, "Kind", False, "vom Kind"),
        ("von", 2, "Kind", True, "von den Kindern"),
        ("auf", 1, "Mann", False, "auf den Mann"),
        ("nach", 2, "Buch", False, "nach dem Buch"),
    ],
)
def test_prepositions_contract_with_the_article(preposition, case, noun, plural, expected):
    assert after_preposition(preposition, case, phrase(NOUNS[noun], plural, THE)) == expected


def test_prepositions_leave_pronouns_and_names_alone():
    er = phrases.PRONOUNS[0]
    assert after_preposition("mit", 2, er) == "mit ihm"
    assert after_preposition("von", 2, phrases.named("Anna")) == "von Anna"


def test_a_pronoun_in_the_dative_is_not_taken_for_an_article():
    """*der* alone is no article: there is nothing after it."""
    alone = phrases.PRONOUNS[0]._replace(german=("er", "ihn", "dem"))
    assert after_preposition("in", 2, alone) == "in dem"


def test_nicht_may_follow_what_kein_would_not_replace():
    book = NOUNS["Buch"]
    assert [phrase(book, False, d).definite for d in (THE, AN, NO, THIS)] == [True, False, False, True]
    assert [phrase(book, True, d).definite for d in (THE, BARE, NO, NUMBERS[0])] == [True, False, False, True]
