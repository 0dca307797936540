"""Thousands of drawn sentences, held against rules of German and English that were written down apart from the code."""

import re
from random import Random

import pytest

from lnlab.corpora.toy import sentences, urns, verbs
from lnlab.corpora.toy.drawing import draw_clause

# determiner and adjective ending that may stand before a singular noun, by gender, in any of the three cases
SINGULAR = {
    "m": "der e, den en, dem en, ein er, einen en, einem en, kein er, keinen en, keinem en, dieser e, diesen en, "
    "diesem en, jeder e, jeden en, jedem en, mein er, meinen en, meinem en",
    "f": "die e, der en, eine e, einer en, keine e, keiner en, diese e, dieser en, jede e, jeder en, meine e, "
    "meiner en",
    "n": "das e, dem en, ein es, einem en, kein es, keinem en, dieses e, diesem en, jedes e, jedem en, mein es, "
    "meinem en",
}
PLURAL = (
    "die en, den en, keine en, keinen en, diese en, diesen en, meine en, meinen en, zwei e, zwei en, viele e, vielen en"
)
# nouns whose singular and plural differ in every case, with their gender
GENDERS = {
    "Mann": "m", "Lehrer": "", "Arzt": "m", "Vater": "m", "Bruder": "m", "Sohn": "m", "Hund": "m", "Brief": "m",
    "Ball": "m", "Stuhl": "m", "Hut": "m", "Tisch": "m", "Apfel": "m", "Zug": "m", "Garten": "m", "Park": "m",
    "Frau": "f", "Mutter": "f", "Schwester": "f", "Tochter": "f", "Katze": "f", "Tasche": "f", "Lampe": "f",
    "Tür": "f", "Stadt": "f", "Schule": "f", "Kirche": "f", "Zeitung": "f", "Frage": "f", "Idee": "f",
    "Kind": "n", "Buch": "n", "Bild": "n", "Haus": "n", "Glas": "n", "Auto": "n", "Schiff": "n", "Pferd": "n",
    "Hemd": "n", "Ei": "n", "Problem": "n", "Spiel": "n", "Dorf": "n", "Schloss": "n", "Theater": "n",
}  # fmt: skip
PLURALS = "Männer Männern Frauen Kinder Kindern Bücher Büchern Häuser Häusern Städte Städten Bälle Bällen Türen Taschen"
PHRASE = re.compile(r"(?<!, )\b(\w+) (\w+) (\w+)\b")  # after a comma stand relative pronouns
DETERMINERS = {pair.split()[0] for row in (*SINGULAR.values(), PLURAL) for pair in row.split(", ")}


def allowed(row):
    return {tuple(pair.split()) for pair in row.split(", ")}


@pytest.fixture(scope="module")
def drawn():
    uniform = Random(20).random
    return [sentences.draw_sentence(uniform) for _ in range(6000)]


def lowered(sentence):
    return sentence[0].lower() + sentence[1:]


def test_adjective_endings_agree_with_gender_number_and_determiner(drawn):
    """Every (determiner, adjective, noun) of the sentences is a combination that a grammar book has."""
    adjectives = {a.stem for field in urns.FIELDS.values() for a in field.adjectives.things}
    looked_at = 0
    for german, _ in drawn:
        for determiner, adjective, noun in PHRASE.findall(lowered(german)):
            endings = {adjective[len(stem) :] for stem in adjectives if adjective.startswith(stem)}
            rows = [SINGULAR[GENDERS[noun]]] if GENDERS.get(noun) else [PLURAL] if noun in PLURALS.split() else []
            if determiner not in DETERMINERS or not endings or not rows:
                continue
            looked_at += 1
            assert any((determiner, ending) in allowed(rows[0]) for ending in endings), (determiner, adjective, noun)
    assert looked_at > 300


def test_articles_agree_with_gender(drawn):
    articles = {"m": {"der", "den", "dem"}, "f": {"die", "der"}, "n": {"das", "dem"}}
    looked_at = 0
    for german, _ in drawn:
        for article, noun in re.findall(r"(?<!, )\b(der|die|das|den|dem) (\w+)\b", lowered(german)):
            if GENDERS.get(noun) and noun not in PLURALS.split():
                looked_at += 1
                assert article in articles[GENDERS[noun]], (article, noun, german)
    assert looked_at > 1000


def test_the_verb_stands_last_in_every_subordinate_clause(drawn):
    """After *dass*, *weil* ... the last word before the next comma or mark is a finite verb."""
    finite = {v.prefix + form for v in every_verb() for form in v.finite} | {
        f for row in verbs.IRREGULAR.values() for f in row
    }
    looked_at = 0
    for german, _ in drawn:
        for clause in re.findall(r", (?:dass|weil|wenn|obwohl|während|bevor) ([^,]+)[.]$", german):
            looked_at += 1
            assert clause.split()[-1] in finite, german
    assert looked_at > 200


def test_separable_verbs_part_in_main_clauses_and_join_elsewhere(drawn):
    """*macht ... auf* in a statement, *aufmacht* in a subordinate clause, *aufzumachen* after zu."""
    parting = [verb for verb in every_verb() if verb.prefix]
    prefixes = {verb.prefix for verb in parting}
    last = [re.split(r"[ ,]+", german.rstrip(".?"))[-1] for german, _ in drawn]
    reported = {word for (german, _), word in zip(drawn, last, strict=True) if re.search(r", dass [^,]+$", german)}
    assert sum(word in prefixes for word in last) > 100
    assert len(reported & {verb.prefix + form for verb in parting for form in verb.finite}) > 5
    assert not reported & prefixes
    assert len({verb.prefix + "zu" + verb.infinitive for verb in parting} & set(last)) > 10


def articles_after(drawn, before):
    """The articles of statements in which they follow ``before``, with the kinds of nouns left open."""
    pattern = re.compile(before + r" (der|die|das|den|dem|einen|einem|einer|eine)\b")
    return [match for german, _ in drawn if "?" not in german for match in pattern.findall(german)]


def test_verbs_take_the_case_they_govern(drawn):
    """*helfen* and *mit* never have an accusative article after them, *für* and *über* never a dative one."""
    helped = articles_after(drawn, r"\b(?:Er|Sie|Anna|Peter|Maria|Paul) (?:hilft|dankt|folgt|antwortet|glaubt)")
    opposed = articles_after(drawn, r"(?<!, )\b(?:um|für|gegen|über)")
    accompanied = articles_after(drawn, r"\bmit")
    assert set(helped) <= {"der", "den", "dem", "einem", "einer"}
    assert set(opposed) <= {"den", "die", "das", "einen", "eine"}
    assert set(accompanied) <= {"der", "den", "dem", "einem", "einer"}
    assert len(helped) > 5
    assert len(opposed) > 30
    assert len(accompanied) > 50


def test_the_english_third_person_is_inflected(drawn):
    """After *He* or *She* at the beginning never stands a base form, unless it is also a past (*read*, *lay*)."""
    said = {(verb.english.split()[0], verb.english_past.split()[0]) for verb in every_verb()}
    bases = {base for base, _ in said} - {past for _, past in said}
    after = [match[1] for _, english in drawn if (match := re.match(r"(?:He|She) (\w+)", english))]
    assert len(after) > 300
    assert not set(after) & bases


def test_english_articles_suit_the_next_letter(drawn):
    for _, english in drawn:
        assert not re.search(r"\ba [aeiou]", lowered(english)), english
        assert not re.search(r"\ban [^aeiou]", lowered(english)), english


def test_sentences_are_written_as_sentences(drawn):
    for pair in drawn:
        for text in pair:
            assert re.fullmatch(r"[A-ZÄÖÜ][^.?]*[.?]", text), text
            assert not re.search(r"\s\s|,,|,[.?]|\s[.,?]|,(?! )", text), text
        assert pair[0].endswith("?") == pair[1].endswith("?")


def test_nobody_does_something_to_himself_without_a_reflexive(drawn):
    """*Ich sehe mich* would need *myself*: a pronoun object is never of the subject's person."""
    uniform = Random(3).random
    first, second = {"mich", "mir", "uns"}, {"dich", "dir"}
    for _ in range(5000):
        clause = draw_clause(uniform)
        person, pronouns = clause.subject.person, set(clause.pronouns.split())
        assert not (person in (0, 3) and pronouns & first)
        assert not (person == 1 and pronouns & second)


def test_no_clause_is_denied_twice(drawn):
    """*nicht* never stands beside *kein*."""
    uniform = Random(4).random
    negated = 0
    for _ in range(5000):
        clause = draw_clause(uniform, relatives=False)
        if clause.negated:
            negated += 1
            assert "kein" not in clause.subject.german[0] + clause.objects
    assert negated > 50


def every_verb():
    tables = [v for k, v in vars(verbs).items() if k.isupper() and isinstance(v, str) and k != "WITH_PREPOSITION"]
    return [verb for table in tables for verb in verbs.verbs(table)] + verbs.verbs_with_preposition()


def test_an_urn_draws_by_weight():
    urn = urns.Urn(["a", "b", "c"], [0.5, 0.25, 0.25])
    assert [urn.draw(lambda at=at: at) for at in (0.0, 0.49, 0.5, 0.74, 0.75, 0.999)] == ["a", "a", "b", "b", "c", "c"]


def test_an_urn_without_weights_draws_by_zipfs_law():
    urn, uniform = urns.Urn(range(50)), Random(1).random
    drawn = [urn.draw(uniform) for _ in range(50_000)]
    assert drawn.count(0) / drawn.count(9) == pytest.approx(11 / 2, rel=0.15)
    assert drawn.count(4) / drawn.count(19) == pytest.approx(21 / 6, rel=0.15)
