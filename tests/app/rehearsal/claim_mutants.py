"""Claims of shipped specs with one mistake each, drawn with a seed: ten kinds of mistakes."""

import json
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from lnlab.specfile.columns import COLUMNS
from lnlab.specfile.load import parse_leniently

SPLITS = ("validation", "train", "test")
SITE_KEYS = ("stack", "layer", "sublayer", "tensor")
RANGES = ("between", "at_least", "at_most", "exponent", "big_o")
WORDS = ("of", "to", "less")
Claim = dict[str, Any]


@dataclass(frozen=True)
class Mutant:
    """A spec with a mistake in one claim.

    Attributes:
        kind: of the mistake.
        claim: the id of the claim.
        key: what is wrong there.
        text: all of it, as JSON, which is YAML.
    """

    kind: str
    claim: str
    key: str
    text: str


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
    wrong = ["w7", "qq", "scales", "weights", misspelt(str(claim["of"]["tensor"]), random)]
    return _set(claim, "tensor", random.choice(wrong))


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


def _lose(claim: Claim, random: Random, keys: Callable[[str, Any], bool]) -> str | None:
    found = _value(claim, random, keys)
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


KINDS: dict[str, Callable[[Claim, Random], str | None]] = {
    "quantity": lambda claim, random: _misspell(claim, random, lambda key, _: key == "quantity"),
    "tensor": _tensor,
    "split": lambda claim, random: _set(claim, "split", misspelt(random.choice(SPLITS), random)),
    "key": _key,
    "method": lambda claim, random: _misspell(claim, random, lambda key, _: key not in COLUMNS and key != "grid"),
    "over": _over,
    "absent": _absent,
    "unpinned": lambda claim, random: _lose(claim, random, lambda key, _: key not in COLUMNS and key != "reference"),
    "range": _range,
    "sites": lambda claim, random: _lose(claim, random, lambda key, _: key in SITE_KEYS),
}
"""Each changes a claim in place, and says where, or returns None where the claim has nothing of the kind."""


def claims_in(data: dict[str, Any]) -> Iterator[tuple[Claim, dict[str, Any]]]:
    """Every claim that a spec writes out, and the spec or the section in which it stands."""
    for owner in (data, *(section for section in data.get("report") or () if isinstance(section, dict))):
        for claim in owner.get("claims") or ():
            if isinstance(claim, dict) and isinstance(claim.get("of"), dict) and "for_each" not in claim:
                yield claim, owner


def mutants(path: Path, seed: int, each: int) -> Iterator[Mutant]:
    """``each`` mutants of a spec of every kind that it has a claim for."""
    document, _ = parse_leniently(path.read_text(encoding="utf-8"), path)
    for kind, change in KINDS.items():
        random = Random(f"{seed} {path.stem} {kind}")
        number = len(list(claims_in(document.data)))
        seen: set[str] = set()
        for _ in range(8 * each):
            data = deepcopy(document.data)
            claim = list(claims_in(data))[random.randrange(number)][0] if number else {}
            before = json.dumps(claim)
            key = change(claim, random)
            text = json.dumps(data)
            if key is None or json.dumps(claim) == before or text in seen:
                continue
            seen.add(text)
            yield Mutant(kind, str(claim.get("id")), key, text)
            if len(seen) == each:
                break
