"""The criterion of a claim against its kind: what it is about, the value it names, whose the margin is, its looks."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from lnlab.compile.resolve.choices import Registries
from lnlab.issues import Issue
from lnlab.keys import Json
from lnlab.registry import Choice
from lnlab.select.selection import value_list
from lnlab.specfile.about import near_a_bound, reason_against_mean
from lnlab.specfile.comparisons import flaws_of_comparison
from lnlab.specfile.experiment import ClaimText, Role
from lnlab.specfile.looks import Looks
from lnlab.vocabulary.bounded import FRACTIONS

_OURS = re.compile(r"\b(?:is|are) ours\b|\bour own\b", re.IGNORECASE)
"""How the text of a source says that a threshold is not in it."""
AcceptedEdges = tuple[float | None, float | None]


def flaws_of_criterion(
    text: ClaimText, choice: Choice, registries: Registries, looks: Looks, seeds: int, role: Role | None = None
) -> Iterator[Issue]:
    """What is wrong with the common fields of a claim, given its kind.

    Args:
        text: its common fields.
        choice: the resolved parameters of its kind.
        registries: of claims and quantities.
        looks: its own, or those of the spec.
        seeds: on how many it is judged.
        role: whose sentence it is. None means that it is no sentence of its own.
    """
    facts = registries["claim"][choice["kind"]].facts
    possible = facts.about
    if text.about is not None and text.about not in possible:
        what = f"a claim of kind {choice['kind']} cannot be about the {text.about} of seeds"
        yield Issue("no-effect", ("about",), what, f"write {' or '.join(possible)}" if possible else "leave it out")
    elif text.about == "mean" and (others := [about for about in ("share", "median") if about in possible]):
        names = value_list((choice.get("of") or {}).get("quantity"))
        known = registries["quantity"].entries if "quantity" in registries else {}
        derived = [known[name].facts for name in names if name in known]
        fraction = any(name in FRACTIONS for name in names) or any(quantity.fraction for quantity in derived)
        reason = reason_against_mean(
            all_or_nothing=any(quantity.bimodal is not None for quantity in derived),
            near_bound=choice["kind"] == "bound" and fraction and near_a_bound(accepted_edges(choice)),
        )
        if reason:
            yield Issue("conflict", ("about",), reason, f"write {' or '.join(others)}")

    if isinstance(text.law, int | float) and not isinstance(text.law, bool):
        if not facts.law or choice.get("exact"):
            yield Issue("no-effect", ("law",), f"a claim of kind {choice['kind']} has no such value", "leave it out")
        else:
            for word in ("equals", "exponent"):
                if choice.get(word) not in (None, text.law):
                    what = f"{word} names {choice[word]:g} already"
                    yield Issue("no-effect", ("law",), what, f"leave it out, or say {word}: {text.law:g}")

    yield from flaws_of_comparison(choice)
    for column in choice.get("each") or ():
        if column in (choice.get("to") or {}):
            yield Issue("conflict", ("each",), f"'to' sets {column}", "leave it out of one of the two")
    yield from _flaws_of_margin(text, choice, facts)
    if role == "source" and text.margin == "source" and facts.margin and (said := _OURS.search(text.source or "")):
        what = f"it says '{said[0]}', and the margin is said to be the source's"
        yield Issue("conflict", ("source",), what, "write margin: ours; of a setting alone, say 'here' or 'chosen'")
    if isinstance(looks, tuple) and seeds > looks[-1]:
        what = f"{seeds} seeds, and the last declared look is at {looks[-1]}"
        yield Issue("conflict", ("looks",), what, "state a new claim, and judge it on fresh seeds (claim_seeds)")


def accepted_edges(choice: Mapping[str, Json]) -> AcceptedEdges:
    """The edges of the accepted range, as far as a claim states them."""
    if choice.get("between") is not None:
        low, high = choice["between"]
        return low, high
    return choice.get("at_least"), choice.get("at_most")


def _flaws_of_margin(text: ClaimText, choice: Choice, facts: Any) -> Iterator[Issue]:
    """What is wrong with whose the range of a claim is said to be, and with what that needs."""
    stated = [word for word in ("no_effect", "zone") if getattr(text, word) is not None]
    if text.margin == "source":
        for word in stated:
            yield Issue("no-effect", (word,), "belongs to a margin of ours", "write margin: ours, or leave it out")
        return
    if not facts.margin:
        yield Issue("no-effect", ("margin",), f"a claim of kind {choice['kind']} has no margin", "leave it out")
        return
    counted = bool(choice.get("exact")) or choice.get("probability") is not None
    if "order" in choice:  # of an order the edge is its negative ``delta``
        delta, zone = choice["delta"], text.zone
        leads = delta is not None and delta < 0 and "<=" in choice["order"]
        if not leads and "~" not in choice["order"] and "<=" not in choice["order"]:
            what = "an order has a margin only in <= and ~"
            yield Issue("no-effect", ("margin",), what, 'leave it out, or write "a <= b" with a delta')
        elif text.no_effect is not None:
            yield Issue("no-effect", ("no_effect",), "of an order it is no difference", "leave it out")
        elif zone is not None and not leads:
            what = "belongs to an order in which one value leads"
            yield Issue("no-effect", ("zone",), what, 'leave it out, or write "a <= b" with a negative delta')
        elif zone is not None and choice["scale"] == "log" and zone <= 1:
            yield Issue("out-of-range", ("zone",), f"a zone of {zone:g} is empty", "give a factor above 1")
        elif zone is not None and delta is not None and choice["scale"] is not None:
            far, edge = (1 / zone, 1 + delta) if choice["scale"] == "log" else (-zone, delta)
            if far < edge:
                what = f"reaches beyond the margin, to {far:g} for {edge:g}"
                yield Issue("out-of-range", ("zone",), what, "take at most half the margin")
        return
    low, high = accepted_edges(choice)
    null = facts.no_effect(choice) if text.no_effect is None else text.no_effect
    if (low is None) == (high is None) or counted:  # a tolerance on both sides, edges that its kind makes, a count
        for word in stated:
            yield Issue(
                "no-effect", (word,), "belongs to a range with one edge", "leave it out, or give at_least or at_most"
            )
        return
    edge, up = (low, 1) if low is not None else (high or 0.0, -1)
    if null is None or up * null > up * edge:
        if text.no_effect is not None:
            yield Issue(
                "out-of-range",
                ("no_effect",),
                f"{text.no_effect:g} lies within the accepted range",
                "name the value without an effect, or leave it out where none is asked for",
            )
        elif text.zone is not None:
            what = "is measured from the value without an effect, which is not known here"
            yield Issue("missing", ("zone",), what, "add no_effect: ..., or leave it out")
    elif text.zone is not None:
        ratio = facts.no_effect(choice) == 1
        if ratio and text.zone <= 1:
            yield Issue("out-of-range", ("zone",), f"a zone of {text.zone:g} is empty", "give a factor above 1")
            return
        far = null * text.zone**up if ratio else null + up * text.zone
        if up * far > up * edge:
            what = f"reaches beyond the margin, to {far:g} for {edge:g}"
            yield Issue("out-of-range", ("zone",), what, "take at most half the margin")
