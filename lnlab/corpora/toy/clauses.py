"""Clauses, in German order and in English order.

    main        [front] finite subject ... nonfinite          Heute macht der Mann das Fenster auf.
    subordinate subject ... nonfinite finite                  ..., weil der Mann das Fenster aufmacht.
    infinitive  ... zu + infinitive                           ..., das Fenster aufzumachen.

In between stand pronouns, the time, objects, *nicht*, then adverbials. English puts the time last.
"""

from typing import NamedTuple

from lnlab.corpora.toy.phrases import Phrase
from lnlab.corpora.toy.verbs import IRREGULAR, Verb


class Mode(NamedTuple):
    """How a verb is said: its German finite verb (none for the plain present) and its English auxiliary.

    *want to* is a full verb in English and *would like to* two words, so both are told apart by their first word.
    """

    german: str
    english: str
    may_be_negated: bool = True


PRESENT = Mode("", "")
PERFECT = Mode("haben", "did")
FUTURE = Mode("werden", "will")
MODALS = (
    Mode("können", "can"),
    Mode("wollen", "want to"),
    Mode("müssen", "must", may_be_negated=False),
    Mode("sollen", "should"),
    Mode("möchten", "would like to"),
    Mode("dürfen", "may"),
)


class Clause(NamedTuple):
    """Who does what: German and English pieces in parallel.

    Attributes:
        pronouns: German pronoun objects, which stand before the time.
        objects: German noun objects, which stand before *nicht*.
        adverbials: German objects of prepositions, manner and place.
        rest: all of these in English.
        time: German and English, or two empty texts.
    """

    subject: Phrase
    verb: Verb
    mode: Mode
    negated: bool
    pronouns: str
    objects: str
    adverbials: str
    rest: str
    time: tuple[str, str]


def joined(*words: str) -> str:
    """The words that are there, with single spaces."""
    return " ".join(filter(None, words))


def _middle(clause: Clause, *, timed: bool = True) -> str:
    nicht = "nicht" if clause.negated else ""
    time = clause.time[0] if timed else ""
    return joined(clause.pronouns, time, clause.objects, nicht, clause.adverbials)


def _verbs(clause: Clause) -> tuple[str, str, str]:
    """The finite verb, its separated prefix, and the nonfinite verb."""
    verb, mode, person = clause.verb, clause.mode, clause.subject.person
    if mode is PRESENT:
        return verb.finite[person], verb.prefix, ""
    if mode is PERFECT:
        return IRREGULAR[verb.auxiliary][person], "", verb.participle
    return IRREGULAR[mode.german][person], "", verb.prefix + verb.infinitive


def main(clause: Clause, front: str | None = None) -> str:
    """Verb second: the subject first, or ``front`` (the clause's own time, or a clause with its comma)."""
    finite, prefix, nonfinite = _verbs(clause)
    subject = clause.subject.german[0]
    middle = _middle(clause, timed=front != clause.time[0])
    first, second = (subject, "") if front is None else (front, subject)
    return joined(first, finite, second, middle, prefix, nonfinite)


def question(clause: Clause, word: str = "") -> str:
    """Verb first, or second after a question word."""
    finite, prefix, nonfinite = _verbs(clause)
    return joined(word, finite, clause.subject.german[0], _middle(clause), prefix, nonfinite)


def subordinate(clause: Clause, subject: str | None = None) -> str:
    """Verb last. ``subject`` replaces the subject: empty in a relative clause whose pronoun is the subject."""
    finite, prefix, nonfinite = _verbs(clause)
    first = clause.subject.german[0] if subject is None else subject
    return joined(first, _middle(clause), nonfinite, prefix + finite)


def infinitive(clause: Clause) -> str:
    """*zu* before the infinitive, inside it where the verb is separable."""
    verb = clause.verb
    last = f"{verb.prefix}zu{verb.infinitive}" if verb.prefix else f"zu {verb.infinitive}"
    return joined(_middle(clause), last)


def _be(person: int, past: bool) -> str:
    forms = "was were was were were were" if past else "am are is are are are"
    return forms.split()[person]


def predicate(clause: Clause) -> str:
    """The English verb: *opens, does not open, opened, cannot open, wants to open*."""
    verb, mode, third = clause.verb, clause.mode, clause.subject.person == 2
    if verb.english == "be" and mode in (PRESENT, PERFECT):
        return joined(_be(clause.subject.person, mode is PERFECT), "not" if clause.negated else "")
    if mode is PERFECT:
        return f"did not {verb.english}" if clause.negated else verb.english_past
    do = "does not" if third else "do not"
    if mode is PRESENT:
        return f"{do} {verb.english}" if clause.negated else verb.english_third if third else verb.english
    auxiliary, _, to = mode.english.partition(" ")
    if auxiliary == "want":
        want = f"{do} want" if clause.negated else "wants" if third else "want"
        return f"{want} to {verb.english}"
    auxiliary += ("not" if auxiliary == "can" else " not") if clause.negated else ""
    return joined(auxiliary, to, verb.english)


def statement(clause: Clause, *, fronted: bool = False, subject: str | None = None) -> str:
    """English order; the time first where German has it first."""
    time = clause.time[1]
    first = clause.subject.subject if subject is None else subject
    said = joined(first, predicate(clause), clause.rest)
    return joined(time, said) if fronted else joined(said, time)


def asked(clause: Clause, word: str = "") -> str:
    """The English question, with *do* where there is no auxiliary."""
    verb, mode, subject = clause.verb, clause.mode, clause.subject
    negated = "not" if clause.negated else ""
    auxiliary, _, to = mode.english.partition(" ")
    if verb.english == "be" and mode in (PRESENT, PERFECT):
        form = _be(subject.person, mode is PERFECT)
        return joined(word, form, subject.subject, negated, clause.rest, clause.time[1])
    if mode is PRESENT or auxiliary == "want":
        to = joined(auxiliary, to)
        auxiliary = "does" if subject.person == 2 else "do"
    return joined(word, auxiliary, subject.subject, negated, to, verb.english, clause.rest, clause.time[1])


def to_infinitive(clause: Clause) -> str:
    """*to open the window*."""
    negated = "not" if clause.negated else ""
    return joined(negated, "to", clause.verb.english, clause.rest, clause.time[1])
