"""YAML is counted while it is read, and no bomb is ever built."""

import sys
from collections.abc import Callable

import pytest

from lnlab.specfile.nodes import (
    DEEPEST,
    MOST_ALIASES,
    MOST_NODES,
    Mapping,
    Mark,
    Scalar,
    UnreadableYaml,
    YamlFault,
    mark_at,
    read_nodes,
)


def fault(text: str) -> YamlFault:
    with pytest.raises(UnreadableYaml) as caught:
        read_nodes(text)
    (only,) = caught.value.faults
    return only


def test_nodes_know_where_they_stand_and_whether_they_were_quoted():
    root, tags = read_nodes("a: 1\nbb: ['x', y]\n")
    assert isinstance(root, Mapping)
    (a, one), (bb, listed) = root.pairs
    assert (a.mark, one.mark, bb.mark, listed.mark) == (Mark(1, 1), Mark(1, 4), Mark(2, 1), Mark(2, 5))
    assert [(item.text, item.plain, item.mark) for item in listed.items] == [
        ("x", False, Mark(2, 6)),
        ("y", True, Mark(2, 11)),
    ]
    assert tags == []


def test_an_alias_is_the_node_that_it_names():
    root, _ = read_nodes("a: &x {b: 1}\nc: *x\n")
    assert root.pairs[0][1] is root.pairs[1][1]


def test_nothing_at_all_is_no_node():
    assert read_nodes("# only a comment\n") == (None, [])


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
    assert found.mark == mark
    assert found.what.count("\n") == 0


def test_a_tab_gets_its_own_remedy():
    assert "spaces" in fault("a:\n\t- 1").remedy


def test_tags_are_collected_not_fatal():
    root, tags = read_nodes("a: !x 1\nb: !!python/name:os.system y\n")
    assert [tag.mark for tag in tags] == [Mark(1, 4), Mark(2, 4)]
    assert isinstance(root.pairs[0][1], Scalar)


def nested(levels: int) -> str:
    return "[" * levels + "]" * levels


def test_the_limits_are_where_they_are_said_to_be():
    read_nodes(nested(DEEPEST))
    assert "deeper than 32" in fault(nested(DEEPEST + 1)).what
    read_nodes("[" + "a, " * (MOST_NODES - 2) + "a]")
    assert "20,000 nodes" in fault("[" + "a, " * MOST_NODES + "a]").what
    read_nodes("- &a 1\n" + "- *a\n" * MOST_ALIASES)
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
