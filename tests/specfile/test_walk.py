"""What a spec may not hold is collected, all of it, each with its place."""

import pytest

from lnlab.specfile.nodes import Mark, UnreadableYaml, read_nodes
from lnlab.specfile.walk import NodeConverter


def walk(text: str) -> tuple[object, NodeConverter]:
    root, _ = read_nodes(text)
    made = NodeConverter()
    assert root is not None
    return made.data(root), made


def test_data_and_the_marks_of_every_key_and_value():
    data, made = walk("a:\n  - x\n  - {b: 1}\n")
    assert data == {"a": ["x", {"b": 1}]}
    assert made.faults == []
    assert made.marks == {
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
    ],
)
def test_each_kind_of_fault_has_its_place(text, what, mark):
    _, made = walk(text)
    (fault,) = made.faults
    assert what in fault.what
    assert fault.mark == mark


def test_every_fault_of_a_text_is_found_at_once():
    _, made = walk("a: 1\na: 2\nb: .inf\n3: x\nc: {d: 2024-01-01}\n")
    assert [fault.mark.line for fault in made.faults] == [2, 3, 4, 5]


def test_quotes_make_anything_text():
    assert walk("a: '.nan'\n'1': \"2024-01-01\"\n'<<': x")[0] == {"a": ".nan", "1": "2024-01-01", "<<": "x"}


def test_a_value_behind_an_alias_is_marked_where_it_is_written():
    _, made = walk("a: &x\n  b: 1\nc: *x\n")
    assert made.marks["c", "b"] == (Mark(2, 3), Mark(2, 6))
    assert made.marks["c",][0] == Mark(3, 1)


def test_a_bomb_of_aliases_is_counted_as_it_unfolds():
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 10)]
    with pytest.raises(UnreadableYaml, match="unfold to more than 20,000 nodes"):
        walk("\n".join(lines))
