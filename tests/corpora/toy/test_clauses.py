"""Word order, against sentences written by hand."""

import pytest

from lnlab.corpora.toy import clauses, phrases, verbs, words
from lnlab.corpora.toy.clauses import FUTURE, MODALS, PERFECT, PRESENT, Clause

MANN = phrases.phrase(words.nouns(words.PERSONS, who=True)[0], False, phrases.THE)
ICH = next(p for p in phrases.PRONOUNS if p.subject == "I")
CAN, WANT, _, _, WOULD, _ = MODALS


def verb(table, infinitive, prefix=""):
    return next(v for v in verbs.verbs(table) if (v.infinitive, v.prefix) == (infinitive, prefix))


AUFMACHEN = verb(verbs.OPENABLES, "machen", "auf")
GEHEN = verb(verbs.GOING, "gehen")


def clause(mode=PRESENT, *, subject=MANN, negated=False, time=("", ""), opened=AUFMACHEN):
    return Clause(subject, opened, mode, negated, "", "das Fenster", "", "the window", time)


TODAY = ("heute", "today")
OPEN = "to open the window"
MAIN = [
    (clause(), "der Mann macht das Fenster auf", "the man opens the window"),
    (clause(negated=True), "der Mann macht das Fenster nicht auf", "the man does not open the window"),
    (clause(PERFECT), "der Mann hat das Fenster aufgemacht", "the man opened the window"),
    (clause(PERFECT, negated=True), "der Mann hat das Fenster nicht aufgemacht", "the man did not open the window"),
    (clause(FUTURE), "der Mann wird das Fenster aufmachen", "the man will open the window"),
    (clause(CAN), "der Mann kann das Fenster aufmachen", "the man can open the window"),
    (clause(CAN, negated=True), "der Mann kann das Fenster nicht aufmachen", "the man cannot open the window"),
    (clause(WANT), "der Mann will das Fenster aufmachen", "the man wants to open the window"),
    (
        clause(WANT, negated=True),
        "der Mann will das Fenster nicht aufmachen",
        f"the man does not want {OPEN}",
    ),
    (clause(WOULD), "der Mann möchte das Fenster aufmachen", "the man would like to open the window"),
    (
        clause(WOULD, negated=True),
        "der Mann möchte das Fenster nicht aufmachen",
        f"the man would not like {OPEN}",
    ),
    (clause(subject=ICH, time=TODAY), "ich mache heute das Fenster auf", "I open the window today"),
    (clause(WANT, subject=ICH), "ich will das Fenster aufmachen", "I want to open the window"),
]


@pytest.mark.parametrize(("given", "german", "english"), MAIN, ids=[english for _, _, english in MAIN])
def test_main_clauses_have_the_verb_second_and_the_rest_last(given, german, english):
    assert (clauses.main(given), clauses.statement(given)) == (german, english)


def test_what_stands_first_sends_the_subject_behind_the_verb():
    given = clause(time=TODAY)
    assert clauses.main(given, "heute") == "heute macht der Mann das Fenster auf"
    assert clauses.statement(given, fronted=True) == "today the man opens the window"
    assert clauses.main(given, "weil es regnet,") == "weil es regnet, macht der Mann heute das Fenster auf"


@pytest.mark.parametrize(
    ("mode", "german"),
    [
        (PRESENT, "der Mann das Fenster aufmacht"),
        (PERFECT, "der Mann das Fenster aufgemacht hat"),
        (CAN, "der Mann das Fenster aufmachen kann"),
        (FUTURE, "der Mann das Fenster aufmachen wird"),
    ],
)
def test_subordinate_clauses_have_the_finite_verb_last(mode, german):
    assert clauses.subordinate(clause(mode)) == german
    assert clauses.subordinate(clause(mode), "") == german.removeprefix("der Mann ")


def test_zu_stands_inside_a_separable_verb_and_before_any_other():
    going = Clause(MANN, GEHEN, PRESENT, False, "", "", "in den Garten", "into the garden", ("", ""))
    assert clauses.infinitive(clause()) == "das Fenster aufzumachen"
    assert clauses.infinitive(going) == "in den Garten zu gehen"
    assert clauses.to_infinitive(clause(negated=True)) == "not to open the window"


def test_sein_makes_the_perfect_of_motion():
    going = Clause(MANN, GEHEN, PERFECT, False, "", "", "in den Garten", "into the garden", ("", ""))
    assert clauses.main(going) == "der Mann ist in den Garten gegangen"
    assert clauses.subordinate(going) == "der Mann in den Garten gegangen ist"


QUESTIONS = [
    (clause(), "macht der Mann das Fenster auf", "does the man open the window"),
    (clause(subject=ICH), "mache ich das Fenster auf", "do I open the window"),
    (clause(PERFECT), "hat der Mann das Fenster aufgemacht", "did the man open the window"),
    (clause(CAN, negated=True), "kann der Mann das Fenster nicht aufmachen", "can the man not open the window"),
    (clause(WANT), "will der Mann das Fenster aufmachen", "does the man want to open the window"),
    (clause(WOULD), "möchte der Mann das Fenster aufmachen", "would the man like to open the window"),
]


@pytest.mark.parametrize(("given", "german", "english"), QUESTIONS, ids=[english for _, _, english in QUESTIONS])
def test_questions_begin_with_the_verb(given, german, english):
    assert (clauses.question(given), clauses.asked(given)) == (german, english)
    assert clauses.question(given, "warum") == f"warum {german}"
    assert clauses.asked(given, "why") == f"why {english}"


@pytest.mark.parametrize(
    ("mode", "negated", "german", "english", "asked"),
    [
        (PRESENT, False, "der Mann ist müde", "the man is tired", "is the man tired"),
        (PRESENT, True, "der Mann ist nicht müde", "the man is not tired", "is the man not tired"),
        (PERFECT, False, "der Mann ist müde gewesen", "the man was tired", "was the man tired"),
        (FUTURE, False, "der Mann wird müde sein", "the man will be tired", "will the man be tired"),
    ],
)
def test_to_be_needs_no_do(mode, negated, german, english, asked):
    given = Clause(MANN, verbs.BEING, mode, negated, "", "", "müde", "tired", ("", ""))
    assert (clauses.main(given), clauses.statement(given), clauses.asked(given)) == (german, english, asked)


def test_a_pronoun_stands_before_the_time_and_a_noun_after_it():
    helping = verb(verbs.DATIVE, "helfen")
    pronoun = Clause(MANN, helping, PRESENT, False, "ihr", "", "", "her", TODAY)
    noun = Clause(MANN, helping, PRESENT, False, "", "der Frau", "", "the woman", TODAY)
    assert clauses.main(pronoun) == "der Mann hilft ihr heute"
    assert clauses.main(noun) == "der Mann hilft heute der Frau"
