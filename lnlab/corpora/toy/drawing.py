"""Phrases and clauses drawn at random, German and English together."""

from collections.abc import Callable
from typing import NamedTuple

from lnlab.corpora.toy import phrases, urns
from lnlab.corpora.toy.clauses import FUTURE, PERFECT, Clause, Mode, joined, statement, subordinate
from lnlab.corpora.toy.phrases import ACCUSATIVE, DATIVE, NO, NOMINATIVE, Phrase
from lnlab.corpora.toy.urns import FIELDS, Field, Uniform, Urn
from lnlab.corpora.toy.verbs import BEING, Verb


class Predicate(NamedTuple):
    """A verb and what it governs, German and English.

    ``definite`` says that *nicht* may follow, ``place`` how often the clause also says where.
    """

    verb: Verb
    pronouns: str = ""
    objects: str = ""
    adverbials: str = ""
    rest: str = ""
    definite: bool = True
    place: float = 0.22


def draw_phrase(uniform: Uniform, field: Field) -> Phrase:
    """A noun of the field with its determiner, perhaps plural, perhaps with an adjective."""
    plural = uniform() < 0.22
    determiner = (urns.PLURAL if plural else urns.SINGULAR).draw(uniform)
    adjective = field.adjectives.draw(uniform) if uniform() < 0.3 else None
    return phrases.phrase(field.nouns.draw(uniform), plural, determiner, adjective)


def draw_person(uniform: Uniform) -> Phrase:
    """Someone who does something: a pronoun, a name or a noun."""
    kind = uniform()
    if kind < 0.42:
        return urns.PRONOUNS.draw(uniform) if kind < 0.3 else urns.NAMES.draw(uniform)
    return draw_phrase(uniform, FIELDS["PERSONS"])


def draw_subject(uniform: Uniform, *, relatives: bool) -> Phrase:
    """As ``draw_person``; a noun may carry a relative clause."""
    person = draw_person(uniform)
    if relatives and person.noun and uniform() < 0.1:
        return draw_relative(uniform, person, urns.TO_PERSONS)
    return person


def draw_time(uniform: Uniform, mode: Mode) -> tuple[str, str]:
    """A time that fits the tense, German and English."""
    return (urns.BEFORE if mode is PERFECT else urns.LATER if mode is FUTURE else urns.NOW).draw(uniform)


def draw_place(uniform: Uniform, case: int) -> tuple[str, str]:
    """In or on a place (dative), or into or onto it (accusative): German and English."""
    room = uniform() < 0.7
    field = FIELDS["ROOMS" if room else "SURFACES"]
    adjective = field.adjectives.draw(uniform) if uniform() < 0.15 else None
    place = phrases.phrase(field.nouns.draw(uniform), False, urns.OF_PLACE.draw(uniform), adjective)
    german, english = ("in", "in") if room else ("auf", "on")
    english += "to" if case == ACCUSATIVE else ""
    return phrases.after_preposition(german, case, place), f"{english} {place.object}"


def draw_relative(uniform: Uniform, given: Phrase, verbs: Urn[Verb]) -> Phrase:
    """The phrase with a clause in which it is the subject, the dative object, or the object of one of ``verbs``."""
    start, case = "who" if given.who else "that", NOMINATIVE
    if given.who and uniform() < 0.6:
        inner = draw_clause(uniform, given, relatives=False)
        german, english = subordinate(inner, ""), statement(inner, subject=start)
    else:
        case = DATIVE if given.who and uniform() < 0.3 else ACCUSATIVE
        verb = (urns.DATIVE if case == DATIVE else verbs).draw(uniform)
        inner = Clause(draw_person(uniform), verb, urns.MODES.draw(uniform), False, "", "", "", "", ("", ""))
        start = "whom" if given.who else start
        german, english = subordinate(inner), f"{start} {statement(inner)}"
    pronoun = phrases.RELATIVE[case][phrases.GENDERS.index(given.gender)]
    return phrases.extended(given, f", {pronoun} {german},", f" {english}")


def _person_object(uniform: Uniform, subject: Phrase) -> Phrase:
    """A person that is not the subject itself, nor one of them: not *ich ... uns*."""
    person = draw_person(uniform)
    shared = person.pronoun and person.person % 3 == subject.person % 3
    return draw_phrase(uniform, FIELDS["PERSONS"]) if shared else person


def _transitive(uniform: Uniform, subject: Phrase, relatives: bool) -> Predicate:
    field, verbs = urns.DONE_TO.draw(uniform)
    verb = verbs.draw(uniform)
    thing = _person_object(uniform, subject) if field is FIELDS["PERSONS"] else draw_phrase(uniform, field)
    if relatives and thing.noun and uniform() < 0.1:
        thing = draw_relative(uniform, thing, verbs)
    return _with_object(verb, thing, ACCUSATIVE)


def _with_object(verb: Verb, thing: Phrase, case: int) -> Predicate:
    german = thing.german[case]
    if thing.pronoun:
        return Predicate(verb, pronouns=german, rest=thing.object)
    return Predicate(verb, objects=german, rest=thing.object, definite=thing.definite)


def _dative(uniform: Uniform, subject: Phrase, *_: object) -> Predicate:
    return _with_object(urns.DATIVE.draw(uniform), _person_object(uniform, subject), DATIVE)


def _giving(uniform: Uniform, subject: Phrase, *_: object) -> Predicate:
    verbs, field = (urns.GIVING, FIELDS["THINGS"]) if uniform() < 0.75 else (urns.TELLING, FIELDS["IDEAS"])
    receiver = _with_object(verbs.draw(uniform), _person_object(uniform, subject), DATIVE)
    thing = draw_phrase(uniform, field)
    return receiver._replace(
        objects=joined(receiver.objects, thing.german[ACCUSATIVE]),
        rest=f"{thing.object} to {receiver.rest}",
        definite=receiver.definite and thing.definite,
    )


def _prepositional(uniform: Uniform, subject: Phrase, *_: object) -> Predicate:
    verb = urns.WITH_PREPOSITION.draw(uniform)
    person = verb.kind == "PERSONS"
    thing = _person_object(uniform, subject) if person else draw_phrase(uniform, FIELDS[verb.kind])
    german = phrases.after_preposition(verb.preposition, verb.case, thing)
    return Predicate(verb, adverbials=german, rest=thing.object, definite=thing.definite)


def _going(uniform: Uniform, *_: object) -> Predicate:
    german, english = draw_place(uniform, ACCUSATIVE)
    return Predicate(urns.GOING.draw(uniform), adverbials=german, rest=english, place=0.0)


def _putting(uniform: Uniform, *_: object) -> Predicate:
    thing, (german, english) = draw_phrase(uniform, FIELDS["THINGS"]), draw_place(uniform, ACCUSATIVE)
    put = _with_object(urns.PUTTING.draw(uniform), thing, ACCUSATIVE)
    return put._replace(adverbials=german, rest=f"{put.rest} {english}", place=0.0)


def _staying(uniform: Uniform, *_: object) -> Predicate:
    return Predicate(urns.STAYING.draw(uniform), place=0.75)


def _being(uniform: Uniform, *_: object) -> Predicate:
    quality = FIELDS["PERSONS"].adjectives.draw(uniform)
    very = ("sehr", "very") if uniform() < 0.25 else ("", "")
    return Predicate(BEING, "", "", joined(very[0], quality.predicate), joined(very[1], quality.english), place=0.0)


_KINDS: Urn[Callable[[Uniform, Phrase, bool], Predicate]] = Urn(
    (_transitive, _dative, _giving, _prepositional, _going, _putting, _staying, _being),
    (0.4, 0.09, 0.09, 0.12, 0.07, 0.05, 0.12, 0.06),
)


def draw_clause(uniform: Uniform, subject: Phrase | None = None, *, relatives: bool = True) -> Clause:
    """Who does what, where, with whom and how; without its time."""
    subject = subject or draw_subject(uniform, relatives=relatives)
    said, mode = _KINDS.draw(uniform)(uniform, subject, relatives), urns.MODES.draw(uniform)
    negated = said.definite and subject.determiner is not NO and mode.may_be_negated and uniform() < 0.1
    manner = company = place = ("", "")
    if said.verb is not BEING and not negated and uniform() < 0.12:
        manner = urns.MANNERS.draw(uniform)
    if said.verb is not BEING and uniform() < 0.06:
        friend = _person_object(uniform, subject)
        company = phrases.after_preposition("mit", DATIVE, friend), f"with {friend.object}"
    if uniform() < said.place:
        place = draw_place(uniform, DATIVE)
    adverbials = joined(manner[0], company[0], place[0], said.adverbials)
    rest = joined(said.rest, manner[1], company[1], place[1])
    return Clause(subject, said.verb, mode, negated, said.pronouns, said.objects, adverbials, rest, ("", ""))


def timed(uniform: Uniform, clause: Clause) -> Clause:
    """The clause with a time that fits its tense."""
    return clause._replace(time=draw_time(uniform, clause.mode))
