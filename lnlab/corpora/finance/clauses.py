"""Sentences of a wanted label, drawn at random.

What a sentence says of a figure decides its label, and seldom a word alone: it is good news where a gain rises or a
burden falls, and bad news where a gain falls or a burden rises. A concession (``although ...``) says the opposite of
its sentence. Some sentences only give two amounts. Neutral ones speak of the same figures, without a change, or of a
rise or a fall that nobody has seen.
"""

import math
import re

from lnlab.corpora.finance.words import WORDS
from lnlab.corpora.toy.urns import Uniform, Urn

NEGATIVE, NEUTRAL, POSITIVE = "negative", "neutral", "positive"
OPPOSITE = {NEGATIVE: POSITIVE, POSITIVE: NEGATIVE}
SLOT = re.compile(r"\{(\w+)\}")

CHANGES = Urn(
    [
        "{figure} {moved} to {now} from {then} in {before}",
        "{figure} {moved} by {percent} % in {period} to {now} from {then}",
        "{figure} {moved} by {percent} % to {now}",
        "{figure} {moved} in {period} , to {now} from {then}",
        "{figure} {totalled} {now} , compared to {then} in {before}",
        "{company} expects its {figure} to {move} by about {percent} % in {period}",
        "{figure} {totalled} {now} in {period} , against {then} in {before}",
        "{figure} of {company} {moved} more than expected , by {percent} %",
    ],
    [5, 5, 3, 4, 2, 3, 2, 2],
)
EVENTS = {
    POSITIVE: Urn(
        [
            "{company} has won an order for {product} worth {amount} from {customer}",
            "{company} raised its outlook for {period}",
            "the board proposes to raise the dividend for {period}",
            "{company} will hire {count} more employees at its plant in {city}",
            "shares in {company} closed {percent} % higher in {city}",
        ]
    ),
    NEGATIVE: Urn(
        [
            "{company} will lay off {count} employees at its plant in {city}",
            "{company} lowered its outlook for {period}",
            "the board proposes to cut the dividend for {period}",
            "{company} has lost an order for {product} worth {amount} from {customer}",
            "shares in {company} closed {percent} % lower in {city}",
        ]
    ),
    NEUTRAL: Urn(
        [
            "{company} is a {nation} {sector} company that makes {product} for {customer}",
            "{figure} of {company} {totalled} {amount} in {period}",
            "{company} will publish its report for {period} on {day} {month}",
            "{first} {last} has been appointed {title} of {company}",
            "the value of the order for {product} , placed by {customer} , was not disclosed",
            "{figure} stayed at {amount} in {period} , as in {before}",
            "{company} supplies {product} to {customer} in {country}",
            "it is too early to say whether {figure} will {move} in {period}",
            "{company} employs {count} people in {country} and {count} in {city}",
            "{figure} {totalled} {amount} , the same as in {before}",
            "the annual general meeting of {company} will be held in {city} on {day} {month}",
            "{company} has not said by how much its {figure} {moved} in {period}",
            "{company} opened an office for {sector} customers in {city}",
        ],
        [6, 5, 3, 3, 3, 3, 3, 2, 2, 2, 2, 2, 2],
    ),
}
OPENINGS = Urn(
    [
        "in a release of {day} {month} {year} , {company} said that {sentence}",
        "{city} , {day} {month} {year} - {sentence}",
        "according to {title} {first} {last} , {sentence}",
        "{nation} {sector} company {company} {form} said on {day} {month} that {sentence}",
        "the {nation} maker of {product} and {product} , {company} {form} , told investors in {city} that {sentence}",
    ]
)
ENDINGS = Urn(
    [
        "{sentence} , {company} said",
        "{sentence} , says {title} {first} {last}",
        "{sentence} , {company} , which makes {product} , {product} and {product} for {customer} , said in {city}",
        "{sentence} , said {company} {form} , a {sector} company in {city} that sells {product} in {country} , "
        "{country} and {country} and has {count} employees",
    ]
)


def draw_sentence(uniform: Uniform, label: str) -> str:
    """A sentence of this label, its tokens parted by spaces; some open with a source, or end with one."""
    told = _core(uniform, label)
    if label != NEUTRAL and uniform() < 0.2:
        told = f"although {_core(uniform, OPPOSITE[label])} , {told}"
    if uniform() < 0.45:
        told = _filled(uniform, OPENINGS.draw(uniform), sentence=told)
    if uniform() < 0.4:
        told = _filled(uniform, ENDINGS.draw(uniform), sentence=told)
    return f"{told[0].upper()}{told[1:]} ."


def _core(uniform: Uniform, label: str) -> str:
    """What the sentence is about."""
    if label == NEUTRAL:
        return _about(uniform, EVENTS[NEUTRAL].draw(uniform), gain=uniform() < 0.5, rises=uniform() < 0.5)
    if uniform() < 0.2:
        return _filled(uniform, EVENTS[label].draw(uniform))
    gain = uniform() < 0.6
    return _about(uniform, CHANGES.draw(uniform), gain=gain, rises=gain == (label == POSITIVE))


def _about(uniform: Uniform, template: str, *, gain: bool, rises: bool) -> str:
    """A template that speaks of a figure and its change: at least 2 % of EUR 5 mn, which one digit shows."""
    share, less = _spread(uniform, 0.02, 0.6), _spread(uniform, 5, 800)
    more = less * (1 + share)
    now, then = (more, less) if rises else (less, more)
    given = {
        "figure": WORDS["gain" if gain else "burden"].draw(uniform),
        "moved": WORDS["rose" if rises else "fell"].draw(uniform),
        "move": WORDS["rise" if rises else "fall"].draw(uniform),
        "percent": f"{100 * share:.1f}",
        "now": _money(now),
        "then": _money(then),
    }
    return _filled(uniform, template, **given)


def _filled(uniform: Uniform, template: str, **given: str) -> str:
    """The template with a word in each slot."""
    text = SLOT.sub(lambda slot: given.get(slot[1]) or _drawn(uniform, slot[1]), template)
    return " ".join(text.split())


def _drawn(uniform: Uniform, slot: str) -> str:
    """A word or a number for a slot."""
    if slot in WORDS:
        return WORDS[slot].draw(uniform)
    low, high = {"day": (1, 29), "year": (2003, 2011), "count": (20, 2000)}.get(slot, (0, 0))
    if high:
        return str(int(_spread(uniform, low, high)))
    return _money(_spread(uniform, 1, 800)) if slot == "amount" else f"{_spread(uniform, 0.5, 60):.1f}"


def _money(millions: float) -> str:
    return f"EUR {millions:.1f} mn"


def _spread(uniform: Uniform, low: float, high: float) -> float:
    """Between two bounds, its logarithm uniform: small numbers are as frequent as large ones."""
    return low * math.exp(uniform() * math.log(high / low))
