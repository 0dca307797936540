"""A value of a shipped spec becomes one of another type, out of range, another word, or another form of its choice.

The published JSON Schema, read by another library, is the oracle: what it refuses lnlab refuses at the changed value,
and what lnlab alone refuses is one of the few checks that a schema cannot express.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from jsonschema import Draft202012Validator

from lnlab.compile.check import check_spec
from lnlab.compile.sweep.overlay import grids_of
from lnlab.issues import Issue
from lnlab.registry import Registry
from lnlab.specfile.dump import spec_yaml
from lnlab.specfile.load import SpecDocument, load_spec, parse_spec
from tests.support.forking import servers
from tests.torture.faults import Tally, fault
from tests.torture.loader_faults import GROUP, SPECS
from tests.torture.loader_typos import EVERY

PROMISE = "what the published schema refuses is refused at the changed value, with cause and remedy"
SCHEMA = Path(__file__).parents[2] / "specs" / "experiment.schema.json"
INPUTS, OF_THE_SUITE, PORTION = 2_000, 16, 20
WORD = "zzqx"
"""A word of no vocabulary."""

Where = tuple[str | int, ...]
Change = tuple[Where, str, int]
"""The path of a value, how it is changed, and which of the changes of that kind it is."""


def of_another_type(value: Any) -> Iterator[Any]:
    """What stands for no text, number, list or mapping in its place."""
    yield from (None, True, 7.5, WORD, [], {}, {WORD: 1}, [value, {WORD: [WORD]}], [[value]])


def out_of_range(value: Any) -> Iterator[Any]:
    """Numbers that a count, a rate or a share is not."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        yield from (-value, 0, value + 0.5, 1e300, 2**60, -(2**60))


def of_another_vocabulary(value: Any) -> Iterator[Any]:
    """Words near the one that stands there."""
    if isinstance(value, str) and " " not in value:
        yield from (value + value[-1:], value.upper(), "", f" {value}", f"{value}!")


def of_another_form(value: Any) -> Iterator[Any]:
    """The other forms of a choice or a list, and the parameters of one kind under the name of another."""
    if isinstance(value, list) and value:
        yield from (value[0], value * 2, {str(number): item for number, item in enumerate(value)})
    if isinstance(value, dict) and value:
        yield from ({**value, WORD: 1}, [value], next(iter(value.values())))
        yield from ({key: inner for key, inner in value.items() if key != left_out} for left_out in value)
        others = registry_of(value.get("kind"))
        yield from ({**value, "kind": name} for name in (sorted(others.entries) if others else ()))


def registry_of(kind: Any) -> Registry[Any] | None:
    """The first registry that has a piece of this name."""
    return next((registry for registry in EVERY.values() if isinstance(kind, str) and kind in registry.entries), None)


CHANGES = {
    "type": of_another_type,
    "range": out_of_range,
    "word": of_another_vocabulary,
    "form": of_another_form,
}


def values_in(value: Any, path: Where = ()) -> Iterator[tuple[Where, Any]]:
    """Everything inside a value with its path."""
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield (*path, key), inner
        yield from values_in(inner, (*path, key))


def with_value(data: Any, path: Where, value: Any) -> Any:
    """The data with another value at a path."""
    if not path:
        return value
    key, *inner = path
    copy = list(data) if isinstance(data, list) else dict(data)
    copy[key] = with_value(data[key], tuple(inner), value)
    return copy


@cache
def validator() -> Draft202012Validator:
    """The published schema, read by a library that knows nothing of lnlab."""
    return Draft202012Validator(json.loads(SCHEMA.read_text()))


OF_THE_GRAMMAR = re.compile(
    r"found .*; (write |give a whole)"
    r"|expected an? |has no (parameter|key) |needs '|is required"
)
"""In a message: what is wrong with a value by itself, as a schema may say it."""
SEVERAL_LINES = "what several lines say together"
BEHIND_DOTS = "what stands behind a dotted path, whose kind another line chooses"
IN_A_CONDITION = "what a condition does not say and has from its claim"
LIST_IN_A_PROFILE = "a list in a profile, which is right where another line sweeps that path"
LARGE_INTEGER = "the bound of all integers"
SET_BY_AN_AXIS = "accepted, as an axis of the sweep sets the parameter that the schema misses"


def is_of_the_grammar(problem: Issue, changed: Any) -> bool:
    """Whether a problem is about the changed value, or a part of it, by itself."""
    named = re.search(r"found (.+?)(?: \.\.\.)?$", problem.what)
    is_changed = named is None or named[1].replace(" ", "") in json.dumps(changed).replace(" ", "")
    return is_changed and OF_THE_GRAMMAR.search(str(problem)) is not None


def beyond_a_schema(path: Where, changed: Any, problems: Sequence[Issue]) -> str | None:
    """Why the schema does not refuse what lnlab does; None where it should."""
    stated = [str(problem) for problem in problems if is_of_the_grammar(problem, changed)]
    if not stated:
        return SEVERAL_LINES
    if any("." in str(word) for word in path):
        return BEHIND_DOTS
    if "requires" in path:
        return IN_A_CONDITION
    if path[0] == "profiles" and len(path) == len(("profiles", "name", "path")) and isinstance(changed, list):
        return LIST_IN_A_PROFILE
    return LARGE_INTEGER if all("integers lie within" in message for message in stated) else None


def set_by_an_axis(data: Mapping[str, Any]) -> bool:
    """Whether the schema misses nothing but parameters that a sweep sets, which it cannot know."""
    errors = list(validator().iter_errors(data))
    missing = {re.sub(r"^'(.*)' is a required property$", r"\1", error.message) for error in errors}
    return missing <= {path.rpartition(".")[2] for grid in grids_of(data) for path in grid}


def value_at(data: Any, path: Where) -> Any:
    """What stands at a path."""
    for key in path:
        data = data[key]
    return data


def places_of(document: SpecDocument, path: Where, value: Any) -> set[str]:
    """Where a mistake of the value at a path may be reported: its key, itself, inside it.

    What is plain and stands in a list, or alone in a mapping, as in ``{every: 10}``, is one value with that.
    """
    if not isinstance(value, dict | list):
        while isinstance(path[-1], int) or len(value_at(document.data, path[:-1])) == 1:
            path = path[:-1]
    inside = (pair for other, pair in document.marks.items() if other[: len(path)] == path)
    return {f"{document.path}:{mark.line}:{mark.column}" for pair in inside for mark in pair}


def verdict_on(data: dict[str, Any], change: Change, spec: Path) -> tuple[str, str]:
    """What became of one change, and what is wrong with that."""
    path, kind, number = change
    value = value_at(data, path)
    changed = list(CHANGES[kind](value))[number]
    other = with_value(data, path, changed)
    document = parse_spec(spec_yaml(other), spec)
    refused = not validator().is_valid(other)
    try:
        problems = check_spec(document, EVERY, (), profile=None, overrides=(), files=False).issues
    except Exception as error:  # the user would see its traceback
        return "", f"{type(error).__name__}: {error!s:.80}"
    if not problems:
        if refused and set_by_an_axis(other):
            return SET_BY_AN_AXIS, ""
        return "sound", "what the schema refuses is accepted" if refused else ""
    places = places_of(document, path, value)
    here = [problem for problem in problems if problem.where.split(": ")[0] in places]
    if not refused:
        reason = beyond_a_schema(path, changed, here)
        return (reason, "") if reason else ("", f"the schema accepts what is refused: {here[0]}")
    located = any(problem.remedy for problem in here)
    return ("refused", "") if located else ("", f"not reported at its place with a remedy: {problems[0]}")


def drawn(specs: Mapping[str, Any], count: int) -> Iterator[tuple[str, Change]]:
    """Changes drawn evenly from the places that a spec has, whatever number of specs and lists have them."""
    places: dict[tuple[str, ...], list[tuple[str, Where, Any]]] = {}
    for name, data in specs.items():
        for path, value in values_in(data):
            places.setdefault(place_of(data, path), []).append((name, path, value))
    draw, kinds = Random(count), list(CHANGES)
    while count:
        name, path, value = draw.choice(draw.choice(list(places.values())))
        kind = draw.choice(kinds)
        others = list(CHANGES[kind](value))
        number = draw.randrange(len(others)) if others else 0
        if others and json.dumps(others[number]) != json.dumps(value):
            count -= 1
            yield name, (path, kind, number)


def place_of(data: Any, path: Where) -> tuple[str, ...]:
    """A path by its words and the kinds of the choices on it, without numbers in lists."""
    words = []
    for key in path:
        words += [str(data.get("kind", "")) if isinstance(data, dict) else "", key if isinstance(key, str) else "*"]
        data = data[key]
    return tuple(words)


def values_job(name: str, changes: Sequence[Change]) -> list[tuple[str, str]]:
    """What became of the changes of one spec."""
    spec = next(path for path in SPECS if path.stem == name)
    data = load_spec(spec).data
    answers = []
    for path, kind, number in changes:
        outcome, loss = verdict_on(data, (tuple(path), kind, number), spec)
        shown = list(CHANGES[kind](value_at(data, path)))[number]
        place = f"{name}: {'.'.join(map(str, path))} is {json.dumps(shown):.60}"
        answers.append((outcome, loss and f"{place}: {loss}"))
    return answers


@fault(GROUP, "a value of another type, range, word or form", PROMISE)
def changed_values(folder: Path, full: bool) -> Tally:
    """One value of a shipped spec at a time."""
    del folder  # nothing is written
    specs = {path.stem: load_spec(path).data for path in SPECS}
    by_spec: dict[str, list[Change]] = {}
    for name, change in drawn(specs, INPUTS if full else OF_THE_SUITE):
        by_spec.setdefault(name, []).append(change)
    portions = [(name, part[n : n + PORTION]) for name, part in by_spec.items() for n in range(0, len(part), PORTION)]
    pool, tally, outcomes = servers(), Tally(), Counter[str]()
    for answers in pool.map(lambda portion: pool.answer(f"{__name__}:values_job", *portion), portions):
        for outcome, loss in answers:
            tally.add([loss] if loss else [])
            outcomes[outcome] += 1
    refused, sound = outcomes.pop("refused", 0), outcomes.pop("sound", 0)
    by_axis = f"; {SET_BY_AN_AXIS}: {count:,}" if (count := outcomes.pop(SET_BY_AN_AXIS, 0)) else ""
    alone = ", ".join(f"{count:,} for {reason}" for reason, count in outcomes.most_common() if reason)
    tally.notes.append(
        f"{refused:,} refused by the schema, {sound:,} accepted; refused by lnlab alone: {alone}{by_axis}"
    )
    return tally
