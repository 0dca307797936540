"""Whole sentences: statements, questions, subordinate clauses, reports, purposes; each with its English."""

from collections.abc import Callable

from lnlab.corpora.toy import urns
from lnlab.corpora.toy.clauses import (
    PRESENT,
    Clause,
    asked,
    infinitive,
    main,
    question,
    statement,
    subordinate,
    to_infinitive,
)
from lnlab.corpora.toy.drawing import draw_clause, draw_subject, timed
from lnlab.corpora.toy.urns import Uniform, Urn

Pair = tuple[str, str]

CONJUNCTIONS = Urn(
    [
        ("weil", "because"),
        ("wenn", "when"),
        ("obwohl", "although"),
        ("während", "while"),
        ("bevor", "before"),
        ("nachdem", "after"),
        ("sobald", "as soon as"),
        ("falls", "if"),
        ("bis", "until"),
    ]
)
QUESTION_WORDS = Urn([("warum", "why"), ("wann", "when"), ("wie", "how")])
LINKS = Urn([("und", "and"), ("aber", "but"), ("denn", "for")])


def _plain(uniform: Uniform) -> Pair:
    clause = draw_clause(uniform)
    clause = timed(uniform, clause) if uniform() < 0.3 else clause
    return main(clause), statement(clause)


def _time_first(uniform: Uniform) -> Pair:
    clause = timed(uniform, draw_clause(uniform))
    return main(clause, clause.time[0]), statement(clause, fronted=True)


def _reason_last(uniform: Uniform) -> Pair:
    first, second = draw_clause(uniform), draw_clause(uniform)
    german, english = CONJUNCTIONS.draw(uniform)
    return f"{main(first)}, {german} {subordinate(second)}", f"{statement(first)} {english} {statement(second)}"


def _reason_first(uniform: Uniform) -> Pair:
    first, second = draw_clause(uniform), draw_clause(uniform)
    german, english = CONJUNCTIONS.draw(uniform)
    front = f"{german} {subordinate(first)},"
    return main(second, front), f"{english} {statement(first)}, {statement(second)}"


def _said(uniform: Uniform) -> Clause:
    """Someone says, knows, hopes ..."""
    subject = draw_subject(uniform, relatives=False)
    return Clause(subject, urns.SAYING.draw(uniform), urns.MODES.draw(uniform), False, "", "", "", "", ("", ""))


def _report(uniform: Uniform) -> Pair:
    outer, inner = _said(uniform), draw_clause(uniform)
    inner = timed(uniform, inner) if uniform() < 0.2 else inner
    return f"{main(outer)}, dass {subordinate(inner)}", f"{statement(outer)} that {statement(inner)}"


def _doubt(uniform: Uniform) -> Pair:
    outer, inner = _said(uniform), draw_clause(uniform)
    outer = outer._replace(verb=KNOWING, mode=PRESENT, negated=True)
    return f"{main(outer)}, ob {subordinate(inner)}", f"{statement(outer)} whether {statement(inner)}"


def _attempt(uniform: Uniform) -> Pair:
    outer = _said(uniform)._replace(verb=urns.TRYING.draw(uniform))
    inner = draw_clause(uniform, outer.subject)
    return f"{main(outer)}, {infinitive(inner)}", f"{statement(outer)} {to_infinitive(inner)}"


def _purpose(uniform: Uniform) -> Pair:
    outer = draw_clause(uniform)
    inner = draw_clause(uniform, outer.subject, relatives=False)
    return f"{main(outer)}, um {infinitive(inner)}", f"{statement(outer)} in order {to_infinitive(inner)}"


def _question(uniform: Uniform) -> Pair:
    clause = draw_clause(uniform)
    clause = timed(uniform, clause) if uniform() < 0.3 else clause
    return question(clause) + "?", asked(clause) + "?"


def _open_question(uniform: Uniform) -> Pair:
    clause = draw_clause(uniform)
    german, english = QUESTION_WORDS.draw(uniform)
    return question(clause, german) + "?", asked(clause, english) + "?"


def _linked(uniform: Uniform) -> Pair:
    first, second = draw_clause(uniform), draw_clause(uniform)
    german, english = LINKS.draw(uniform)
    return f"{main(first)}, {german} {main(second)}", f"{statement(first)}, {english} {statement(second)}"


KNOWING = next(verb for verb in urns.SAYING.things if verb.infinitive == "wissen")
_KINDS: Urn[Callable[[Uniform], Pair]] = Urn(
    (
        _plain,
        _time_first,
        _reason_last,
        _reason_first,
        _report,
        _doubt,
        _attempt,
        _purpose,
        _question,
        _open_question,
        _linked,
    ),
    (0.42, 0.12, 0.08, 0.05, 0.08, 0.02, 0.05, 0.02, 0.07, 0.03, 0.06),
)


def draw_sentence(uniform: Uniform) -> Pair:
    """One sentence: German, English."""
    german, english = _KINDS.draw(uniform)(uniform)
    return _written(german), _written(english)


def _written(sentence: str) -> str:
    """With a capital first letter and one mark at the end; a comma before another mark is dropped."""
    mark = "" if sentence.endswith("?") else "."
    text = f"{sentence}{mark}".replace(",,", ",").replace(",.", ".").replace(",?", "?")
    return text[0].upper() + text[1:]
