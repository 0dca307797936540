"""Nouns and adjectives of the toy German, against a dictionary's forms."""

import pytest

from lnlab.corpora.toy import words

TABLES = "PERSONS ANIMALS THINGS FOOD OPENABLES TEXTS IDEAS VEHICLES EVENTS ROOMS SURFACES"
# noun, gender, dative singular, dative plural, English plural: from a dictionary
DICTIONARY = [
    ("Mann", "m", "Mann", "Männern", "men"),
    ("Frau", "f", "Frau", "Frauen", "women"),
    ("Kind", "n", "Kind", "Kindern", "children"),
    ("Junge", "m", "Jungen", "Jungen", "boys"),
    ("Student", "m", "Studenten", "Studenten", "students"),
    ("Nachbar", "m", "Nachbarn", "Nachbarn", "neighbours"),
    ("Mädchen", "n", "Mädchen", "Mädchen", "girls"),
    ("Auto", "n", "Auto", "Autos", "cars"),
    ("Apfel", "m", "Apfel", "Äpfeln", "apples"),
    ("Kirche", "f", "Kirche", "Kirchen", "churches"),
    ("Stadt", "f", "Stadt", "Städten", "cities"),
    ("Regal", "n", "Regal", "Regalen", "shelves"),
    ("Messer", "n", "Messer", "Messern", "knives"),
    ("Bus", "m", "Bus", "Bussen", "buses"),
    ("Fuchs", "m", "Fuchs", "Füchsen", "foxes"),
    ("Löwe", "m", "Löwen", "Löwen", "lions"),
    ("Tomate", "f", "Tomate", "Tomaten", "tomatoes"),
]


def every_noun():
    return {noun.singular: noun for name in TABLES.split() for noun in words.nouns(getattr(words, name))}


@pytest.mark.parametrize(("german", "gender", "oblique", "dative_plural", "english"), DICTIONARY)
def test_nouns_have_the_forms_of_the_dictionary(german, gender, oblique, dative_plural, english):
    noun = every_noun()[german]
    assert (noun.gender, noun.oblique, noun.dative_plural, noun.english_plural) == (
        gender,
        oblique,
        dative_plural,
        english,
    )


def test_diminutives_are_neuter_and_nouns_in_ung_or_heit_feminine():
    for noun in every_noun().values():
        if noun.singular.endswith("chen") and noun.singular not in ("Kuchen",):
            assert noun.gender == "n", noun
        if noun.singular.endswith(("ung", "heit", "keit", "in")) and noun.singular not in ("Termin",):
            assert noun.gender == "f", noun


def test_no_english_noun_or_adjective_needs_an_article_that_its_first_letter_does_not_tell():
    """*a* or *an* is decided by the first letter, which fails for silent h and for u spoken as in *you*."""
    spoken = ("hour", "honest", "heir", "uni", "use", "eu", "one")
    tables = (words.OF_PERSONS, words.OF_THINGS, words.OF_IDEAS)
    adjectives = [adjective.english for table in tables for adjective in words.adjectives(table)]
    for english in [*adjectives, *(noun.english for noun in every_noun().values())]:
        assert not english.startswith(spoken), english


def test_adjectives_that_lose_an_e_have_a_stem_of_their_own():
    stems = {a.predicate: a.stem for a in words.adjectives(words.OF_THINGS)}
    assert (stems["teuer"], stems["dunkel"], stems["sauber"]) == ("teur", "dunkl", "sauber")


@pytest.mark.parametrize(
    ("singular", "plural"),
    [
        ("box", "boxes"),
        ("city", "cities"),
        ("key", "keys"),
        ("wash", "washes"),
        ("look for", "looks for"),
        ("go", "goes"),
    ],
)
def test_the_english_s(singular, plural):
    assert words.with_s(singular) == plural
