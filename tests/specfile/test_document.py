"""YAML is counted while it is read, no bomb is ever built, and all that a spec may not hold is collected."""

import sys
from collections.abc import Callable

import pytest
from ruamel.yaml.nodes import ScalarNode

from lnlab.issues import Issue
from lnlab.specfile.document import DEEPEST, MOST_ALIASES, MOST_NODES, Mark, UnreadableYaml, compose, mark_at, read_data


def fault(text: str) -> Issue:
    with pytest.raises(UnreadableYaml) as caught:
        compose(text)
    return caught.value.issue


def test_an_alias_is_the_node_that_it_names_and_tags_are_collected_not_fatal():
    assert compose("# only a comment\n") == (None, [])
    root, _ = compose("a: &x {b: 1}\nc: *x\n")
    assert root.value[0][1] is root.value[1][1]
    root, tags = compose("a: !x 1\nb: !!python/name:os.system y\n")
    assert [tag.place for tag in tags] == [Mark(1, 4), Mark(2, 4)]
    assert isinstance(root.value[0][1], ScalarNode)


@pytest.mark.parametrize(
    ("text", "what", "mark"),
    [
        ("%YAML 1.1\n---\na: no", "directives", Mark(1, 1)),
        ("%TAG ! tag:x,2000:\n---\na: 1", "directives", Mark(1, 1)),
        ("a: 1\n---\nb: 2", "a second document", Mark(2, 1)),
        ("a: [1\nb: 2", "not YAML", Mark(2, 2)),
        ("a:\n\t- 1", "'\\t'", Mark(2, 1)),
        ("a: *b", "no anchor &b", Mark(1, 4)),
        ("a: &a [*a]", "stands inside what it names", Mark(1, 8)),
        ("a: '", "not YAML", Mark(1, 5)),
        ('a: "\\UFFFFFFFF"', "cannot be read as YAML", Mark(1, 1)),
        ("a: \x07", "cannot be read as YAML", Mark(1, 1)),
    ],
)
def test_what_cannot_be_read_is_one_fault_with_its_place(text, what, mark):
    found = fault(text)
    assert what in found.what
    assert found.place == mark
    assert found.what.count("\n") == 0


def nested(levels: int) -> str:
    return "[" * levels + "]" * levels


def keyed(levels: int) -> str:
    """Mappings in each other, the innermost value one of them: each is found by the composer, not by the scanner."""
    return "".join(f"{'  ' * level}a:\n" for level in range(levels - 1)) + "  " * (levels - 1) + "1\n"


def test_the_limits_are_where_they_are_said_to_be():
    for text in (nested, keyed):
        compose(text(DEEPEST))
        assert "deeper than 32" in fault(text(DEEPEST + 1)).what
    compose("[" + "a, " * (MOST_NODES - 2) + "a]")
    assert "10,000 nodes" in fault("[" + "a, " * MOST_NODES + "a]").what
    compose("- &a 1\n" + "- *a\n" * MOST_ALIASES)
    assert "100 aliases" in fault("- &a 1\n" + "- *a\n" * (MOST_ALIASES + 1)).what


@pytest.mark.parametrize(
    "text",
    ["[" * 1000, "{a: " * 1000, "- " * 1000, "? " * 1000, "{" * 200_000, "[ \n" * 50_000, "a: " * 1000, "&a " * 50_000],
    ids=["flow", "mappings", "block", "keys", "braces", "spaced", "inline", "anchors"],
)
def test_bombs_of_nesting_are_refused_before_they_cost_anything(text):
    assert calls_of(lambda: fault(text)) < 100_000


def calls_of(work: Callable[[], object]) -> int:
    """The Python functions that ``work`` calls: a cost that no busy machine changes."""
    calls = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
    return calls


def test_data_and_the_marks_of_every_key_and_value_count_from_one():
    assert [mark_at("ab\nc", i) for i in range(4)] == [Mark(1, 1), Mark(1, 2), Mark(1, 3), Mark(2, 1)]
    data, marks, faults = read_data("a:\n  - x\n  - {b: 1}\n")
    assert (data, faults) == ({"a": ["x", {"b": 1}]}, [])
    places = {(): (1, 1, 1, 1), ("a",): (1, 1, 2, 3), ("a", 0): (2, 5, 2, 5), ("a", 1): (3, 5, 3, 5)}
    places["a", 1, "b"] = (3, 6, 3, 9)
    assert {path: (key.line, key.column, own.line, own.column) for path, (key, own) in marks.items()} == places


FAULTS = {
    "is given twice": {"a: 1\na: 2": (2, 1), "x: {a: 1, a: 2}": (1, 11)},
    "merge keys": {"<<: {a: 1}": (1, 1)},
    "is not a word": {"1: x": (1, 1), "true: x": (1, 1), "~: x": (1, 1), "? [a]\n: x": (1, 3), "? \n: x": (1, 2)},
    "is a date": {"2024-01-01: x": (1, 1)},
    "not a finite number": {"a: .nan": (1, 4)},
    "lone surrogate": {'a: "\\ud800"': (1, 4), '"\\ud800": a': (1, 1)},
    "U+001B": {'a: "red \\e[31m"': (1, 4)},
    "U+0000": {'a: "\\0"': (1, 4)},
    "U+200B": {'"a\\u200b": 1': (1, 1)},
    "U+202E": {'a: ["b", "right\\u202eto left"]': (1, 10), "a: right\u202eto left": (1, 4)},
    "U+000D": {'a: "carriage\\rreturn"': (1, 4)},
}


@pytest.mark.parametrize("what", FAULTS)
def test_each_kind_of_fault_has_its_place(what):
    for text, place in FAULTS[what].items():
        _, _marks, (found,) = read_data(text)
        assert what in found.what
        assert found.place == Mark(*place)


@pytest.mark.parametrize(
    "text", ["Schrödinger 5\u00a0%", "می\u200cخواهم", "👩\u200d🔬", "a\tb", "日本語", "\U0001facd"]
)
def test_text_of_any_language_is_read(text):
    assert read_data(f'a: "{text}"')[::2] == ({"a": text}, [])


def test_every_fault_of_a_text_is_found_at_once_and_quotes_make_anything_text():
    _, _marks, faults = read_data("a: 1\na: 2\nb: .inf\n3: x\nc: {d: 2024-01-01}\n")
    assert [fault.place.line for fault in faults] == [2, 3, 4, 5]
    assert read_data("a: '.nan'\n'1': \"2024-01-01\"\n'<<': x")[0] == {"a": ".nan", "1": "2024-01-01", "<<": "x"}
    assert "spaces" in fault("a:\n\t- 1").remedy


def test_a_value_behind_an_alias_is_marked_where_it_is_written():
    _, marks, _faults = read_data("a: &x\n  b: 1\nc: *x\n")
    assert marks["c", "b"] == (Mark(2, 3), Mark(2, 6))
    assert marks["c",][0] == Mark(3, 1)


def test_a_bomb_of_aliases_is_counted_as_it_unfolds(golden):
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 10)]
    data, _, (fault,) = read_data("\n".join(lines))
    assert data is None
    golden(fault.what)
