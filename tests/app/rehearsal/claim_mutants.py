"""Claims of shipped specs with one mistake each, drawn with a seed: ten kinds of mistakes."""

import json
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import polars as pl

from lnlab.errors import LabError
from lnlab.report.registries import FRAME_REGISTRIES
from lnlab.select.select import Selected
from lnlab.select.selection import selections_by_word
from lnlab.specfile.columns import COLUMNS
from lnlab.specfile.load import parse_leniently
from lnlab.tables import Results

SITE_KEYS = ("stack", "layer", "sublayer", "tensor")
RANGES = ("between", "at_least", "at_most", "exponent", "big_o")
WORDS = ("of", "to", "less")
Claim = dict[str, Any]


@dataclass(frozen=True)
class Mutant:
    """A spec with a mistake in one claim.

    Attributes:
        spec: the name of the sound one.
        kind: of the mistake.
        claim: the id of the claim.
        key: what is wrong there.
        text: all of it, as JSON, which is YAML.
        before: the claim as the sound spec has it.
        after: the claim with the mistake.
        inherited: what both take from their section.
    """

    spec: str
    kind: str
    claim: str
    key: str
    text: str
    before: Claim
    after: Claim
    inherited: Claim


def misspelt(word: str, random: Random) -> str:
    """A word with two neighbouring letters exchanged, or one doubled where all are alike."""
    places = [i for i in range(len(word) - 1) if word[i] != word[i + 1]]
    if not places:
        return f"{word}{word[-1:]}"
    i = random.choice(places)
    return word[:i] + word[i + 1] + word[i] + word[i + 2 :]


def _value(claim: Claim, random: Random, keys: Callable[[str, Any], bool]) -> tuple[str, dict[str, Any], str] | None:
    """A word of a claim, its selection, and a key of it that has what is asked for."""
    found = [
        (w, claim[w], k) for w in WORDS if isinstance(claim.get(w), dict) for k, v in claim[w].items() if keys(k, v)
    ]
    return random.choice(found) if found else None


def _misspell(claim: Claim, random: Random, keys: Callable[[str, Any], bool]) -> str | None:
    found = _value(claim, random, lambda key, value: isinstance(value, str) and len(value) > 1 and keys(key, value))
    if found is None:
        return None
    word, selection, key = found
    selection[key] = misspelt(selection[key], random)
    return f"{word}.{key}"


def _set(claim: Claim, key: str, value: Any) -> str | None:
    if not isinstance(claim.get("of"), dict):
        return None
    claim["of"][key] = value
    return f"of.{key}"


def _tensor(claim: Claim, random: Random) -> str | None:
    if not isinstance(claim.get("of"), dict) or "tensor" not in claim["of"]:
        return None
    return _set(
        claim, "tensor", random.choice(["w7", "qq", "scales", "weights", misspelt(str(claim["of"]["tensor"]), random)])
    )


def _key(claim: Claim, random: Random) -> str | None:
    found = _value(claim, random, lambda key, _: key != "quantity" and len(key) > 2)
    if found is None:
        return None
    word, selection, key = found
    wrong = misspelt(key, random)
    selection[wrong] = selection.pop(key)
    return f"{word}.{wrong}"


def _over(claim: Claim, random: Random) -> str | None:
    if not isinstance(claim.get("over"), str):
        return None
    claim["over"] = misspelt(claim["over"], random)
    return "over"


def _absent(claim: Claim, random: Random) -> str | None:
    choice = random.choice(["step", "seed", "level"])
    if choice != "level":
        return _set(claim, choice, 999_999 if choice == "step" else 977)
    found = _value(claim, random, lambda key, v: key not in COLUMNS and type(v) in (int, float))
    if found is None:
        return _set(claim, "step", 999_999)
    word, selection, key = found
    selection[key] = selection[key] * 7 + 13
    return f"{word}.{key}"


def _unpinned(claim: Claim, random: Random) -> str | None:
    found = _value(claim, random, lambda key, _: key not in COLUMNS and key != "reference")
    if found is None:
        return None
    word, selection, key = found
    del selection[key]
    return word


def _range(claim: Claim, random: Random) -> str | None:
    stated = [word for word in RANGES if word in claim]
    if not stated or claim.get("law") is not None:
        return None
    if "between" in claim and random.random() < 0.5:
        claim["between"] = list(reversed(claim["between"]))
        return "between"
    for word in stated:
        del claim[word]
    return ""


def _sites(claim: Claim, random: Random) -> str | None:
    found = _value(claim, random, lambda key, _: key in SITE_KEYS)
    if found is None:
        return None
    word, selection, key = found
    del selection[key]
    return word


KINDS: dict[str, Callable[[Claim, Random], str | None]] = {
    "quantity": lambda claim, random: _misspell(claim, random, lambda key, _: key == "quantity"),
    "tensor": _tensor,
    "split": lambda claim, random: _set(
        claim, "split", misspelt(random.choice(["validation", "train", "test"]), random)
    ),
    "key": _key,
    "method": lambda claim, random: _misspell(claim, random, lambda key, _: key not in COLUMNS and key != "grid"),
    "over": _over,
    "absent": _absent,
    "unpinned": _unpinned,
    "range": _range,
    "sites": _sites,
}
"""Each changes a claim in place, and says where, or returns None where the claim has nothing of the kind."""


def claims_in(data: dict[str, Any]) -> Iterator[tuple[Claim, Claim]]:
    """Every claim that a spec writes out, with what it takes from its section if it stands in one."""
    for owner in (data, *(section for section in data.get("report") or () if isinstance(section, dict))):
        for claim in owner.get("claims") or ():
            if isinstance(claim, dict) and isinstance(claim.get("of"), dict) and "for_each" not in claim:
                yield claim, {} if owner is data else _inherited(owner)


def _inherited(section: dict[str, Any]) -> Claim:
    """What the claims of a section take from it, with the path that they go over as ``over``."""
    parameter = FRAME_REGISTRIES["section"].entries[section["kind"]].keywords.get("x")
    stated = {"quantity": section.get("quantity"), "over": section.get("x", parameter.default if parameter else None)}
    where = section.get("where")
    return {**(where if isinstance(where, dict) else {}), **{key: value for key, value in stated.items() if value}}


def mutants(path: Path, seed: int, each: int) -> Iterator[Mutant]:
    """``each`` mutants of a spec of every kind that it has a claim for."""
    document, _ = parse_leniently(path.read_text(encoding="utf-8"), path)
    for kind, change in KINDS.items():
        random = Random(f"{seed} {path.stem} {kind}")
        number = len(list(claims_in(document.data)))
        seen: set[str] = set()
        for _ in range(8 * each):
            data = deepcopy(document.data)
            claim, inherited = list(claims_in(data))[random.randrange(number)] if number else ({}, {})
            before = json.dumps(claim)
            key = change(claim, random)
            text = json.dumps(data)
            if key is None or json.dumps(claim) == before or text in seen:
                continue
            seen.add(text)
            yield Mutant(path.stem, kind, str(claim.get("id")), key, text, json.loads(before), claim, inherited)
            if len(seen) == each:
                break


ANY_NUMBER = ("status", "everywhere", "table")
"""Kinds that take any number of runs and sites."""


def still_sound(mutant: Mutant, results: Results) -> str:
    """Why a mutant is a sound spec all the same, though perhaps another one, or "" where it is none.

    Args:
        mutant: of a kind that takes something away.
        results: rows of the sound spec, on one seed, with which both claims are compared by hand.
    """
    inherited = {key: value for key, value in mutant.inherited.items() if key != "over"}
    before, after = ({**c, "of": {**inherited, **c["of"]}} for c in (mutant.before, mutant.after))
    if mutant.kind == "range":
        return "" if after.get("kind") not in ("order", "trend", "status") else "its kind needs no range"
    if mutant.kind not in ("unpinned", "sites"):
        return ""
    word = mutant.key
    (key,) = set(mutant.before[word]) - set(mutant.after[word])
    if word == "of" and key in inherited:
        return "its section says it"
    over = [after.get("over", mutant.inherited.get("over")), after.get("along"), *(after.get("each") or ())]
    if after.get("kind") in ANY_NUMBER or after.get("exact"):
        return "it takes any number of runs and sites"
    if key in over:
        return "it goes over what is left open"
    if word != "of" and not after[word]:
        return ""  # a side is compared with itself
    try:
        rows = Selected(results, selections_by_word(after)[word]).rows
        if rows.equals(Selected(results, selections_by_word(before)[word]).rows):
            return "it takes the same rows"
        apart = [column for column in over if column in rows.columns]
        paths = [column for column in over if column is not None and column not in COLUMNS]
        at = Selected(results, selections_by_word(after)[word], columns=paths).rows
        if at.height and at.select(pl.len().over([*apart, *paths, "seed"])).to_series().max() == 1:
            return "one number a run is left"
    except LabError:
        return ""
    return ""
