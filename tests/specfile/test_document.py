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


def test_an_alias_is_the_node_that_it_names():
    root, _ = compose("a: &x {b: 1}\nc: *x\n")
    assert root.value[0][1] is root.value[1][1]


def test_nothing_at_all_is_no_node():
    assert compose("# only a comment\n") == (None, [])


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


def test_a_tab_gets_its_own_remedy():
    assert "spaces" in fault("a:\n\t- 1").remedy


def test_tags_are_collected_not_fatal():
    root, tags = compose("a: !x 1\nb: !!python/name:os.system y\n")
    assert [tag.place for tag in tags] == [Mark(1, 4), Mark(2, 4)]
    assert isinstance(root.value[0][1], ScalarNode)


def nested(levels: int) -> str:
    return "[" * levels + "]" * levels


def test_the_limits_are_where_they_are_said_to_be():
    compose(nested(DEEPEST))
    assert "deeper than 32" in fault(nested(DEEPEST + 1)).what
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


def test_mark_at_counts_lines_and_columns_from_one():
    assert [mark_at("ab\nc", i) for i in range(4)] == [Mark(1, 1), Mark(1, 2), Mark(1, 3), Mark(2, 1)]


def test_data_and_the_marks_of_every_key_and_value():
    data, marks, faults = read_data("a:\n  - x\n  - {b: 1}\n")
    assert data == {"a": ["x", {"b": 1}]}
    assert faults == []
    assert marks == {
        (): (Mark(1, 1), Mark(1, 1)),
        ("a",): (Mark(1, 1), Mark(2, 3)),
        ("a", 0): (Mark(2, 5), Mark(2, 5)),
        ("a", 1): (Mark(3, 5), Mark(3, 5)),
        ("a", 1, "b"): (Mark(3, 6), Mark(3, 9)),
    }


@pytest.mark.parametrize(
    ("text", "what", "mark"),
    [
        ("a: 1\na: 2", "'a' is given twice; first in line 1", Mark(2, 1)),
        ("x: {a: 1, a: 2}", "'a' is given twice", Mark(1, 11)),
        ("<<: {a: 1}", "merge keys", Mark(1, 1)),
        ("1: x", "the key 1 is not a word", Mark(1, 1)),
        ("true: x", "the key true is not a word", Mark(1, 1)),
        ("~: x", "the key ~ is not a word", Mark(1, 1)),
        ("? [a]\n: x", "the key is not a word", Mark(1, 3)),
        ("? \n: x", "is not a word", Mark(1, 2)),
        ("2024-01-01: x", "is a date", Mark(1, 1)),
        ("a: .nan", "not a finite number", Mark(1, 4)),
        ('a: "\\ud800"', "lone surrogate", Mark(1, 4)),
        ('"\\ud800": a', "lone surrogate", Mark(1, 1)),
        ('a: "red \\e[31m"', "U+001B", Mark(1, 4)),
        ('a: "\\0"', "U+0000", Mark(1, 4)),
        ('a: ["b", "right\\u202eto left"]', "U+202E", Mark(1, 10)),
        ("a: right\u202eto left", "U+202E", Mark(1, 4)),
        ('"a\\u200b": 1', "U+200B", Mark(1, 1)),
        ('a: "carriage\\rreturn"', "U+000D", Mark(1, 4)),
    ],
)
def test_each_kind_of_fault_has_its_place(text, what, mark):
    _, _marks, faults = read_data(text)
    assert [what in fault.what for fault in faults] == [True]
    assert faults[0].place == mark


@pytest.mark.parametrize(
    "text", ["Schrödinger 5\u00a0%", "می\u200cخواهم", "👩\u200d🔬", "a\tb", "日本語", "\U0001facd"]
)
def test_text_of_any_language_is_read(text):
    assert read_data(f'a: "{text}"')[::2] == ({"a": text}, [])


def test_every_fault_of_a_text_is_found_at_once():
    _, _marks, faults = read_data("a: 1\na: 2\nb: .inf\n3: x\nc: {d: 2024-01-01}\n")
    assert [fault.place.line for fault in faults] == [2, 3, 4, 5]


def test_quotes_make_anything_text():
    assert read_data("a: '.nan'\n'1': \"2024-01-01\"\n'<<': x")[0] == {"a": ".nan", "1": "2024-01-01", "<<": "x"}


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
