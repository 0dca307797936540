"""Expressions over quantities are read as they are written, keep their name, and hold nothing that could be run."""

import math
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lnlab.specfile.expressions import (
    FUNCTIONS,
    LONGEST,
    Applied,
    NoExpression,
    Operand,
    expression_of,
    parse_expression,
    parse_name,
    read_mapping,
)

NAMES = st.sampled_from(["loss", "gradient_norm", "hidden_norm", "x2"])
PINS = st.dictionaries(
    st.sampled_from(["layer", "step", "tensor"]), st.sampled_from(["last", "in", 3]), max_size=2
).map(lambda pins: ", ".join(f"{column}: {value}" for column, value in pins.items()))
OPERANDS = st.one_of(NAMES, st.builds(lambda name, pins: f"{name}[{pins}]" if pins else name, NAMES, PINS))
NUMBERS = st.floats(min_value=1e-6, max_value=9, allow_nan=False).map(repr)
TERMS = st.recursive(
    st.one_of(OPERANDS, NUMBERS),
    lambda inner: st.one_of(
        st.builds("({} {} {})".format, inner, st.sampled_from(["+", "-", "*", "/"]), inner),
        st.builds("-({})".format, inner),
        st.builds("sqrt({})".format, inner),
        st.builds("min({}, {})".format, inner, inner),
        st.builds("({}) ** 2".format, OPERANDS),
    ),
    max_leaves=6,
)


def value(term, numbers):
    """The number of a tree, by Python's own arithmetic."""
    if isinstance(term, float):
        return term
    if isinstance(term, Operand):
        return numbers[str(term)]
    values = [value(one, numbers) for one in term.terms]
    unary = {"negative": lambda a: -a, "sqrt": lambda a: math.sqrt(a) if a >= 0 else math.nan}
    if term.operator in unary:
        return unary[term.operator](*values)
    if term.operator == "min":
        return min(values)
    a, b = values
    return {"+": a + b, "-": a - b, "*": a * b, "/": a / b if b else math.nan, "**": a * a}[term.operator]


@given(TERMS)
def test_a_name_is_read_as_the_same_expression(text):
    try:
        first = parse_expression(text)
    except NoExpression:
        return  # a number, or a quantity alone
    again = parse_expression(first.formula)
    assert again.formula == first.formula
    assert expression_of(f"{first.formula} [nats]").unit == "nats"
    numbers = {str(operand): 0.7 + 0.1 * number for number, operand in enumerate(first.operands)}
    assert value(first.root, numbers) == pytest.approx(value(again.root, numbers), rel=0, abs=0, nan_ok=True)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("a*b", "a * b"), ("a-(b-c)", "a - (b - c)"), ("(a-b)-c", "a - b - c"), ("(a**b)**c", "(a ** b) ** c"),
        ("a**(b**c)", "a ** b ** c"), ("-a**2", "-a ** 2"), ("(-a)**2.0", "(-a) ** 2"), ("-(a+b)", "-(a + b)"),
        ("a\n  / b", "a / b"), ("h[tensor:in,layer : last]/h[ step: 0 ]", "h[layer: last, tensor: in] / h[step: 0]"),
    ],
)  # fmt: skip
def test_spaces_and_needless_parentheses_change_no_name(text, name):
    assert parse_expression(text).name == name
    assert expression_of(name).name == name


def test_label_and_unit_belong_to_the_name():
    expression = parse_name("growth = a / b[layer: first] [per layer]")
    assert (expression.label, expression.unit) == ("growth", "per layer")
    assert expression.quantities == ("a", "b")
    assert expression.spelled(str.upper) == "A / B (layer first)"


@pytest.mark.parametrize("name", ["train/loss", "val-loss", "top 5 (train)", "loss", "a*b", "loss.1", "", "-", "* a"])
def test_names_of_other_tools_are_no_expressions(name):
    assert expression_of(name) is None


REFUSED = {
    "has no meaning": {"__import__('os').system('x')": 11, "a; b": 1, "a < b": 2, "a % b": 2, "a @ b": 2, "é * a": 0},
    "is no part": {"  a if b else c": 2, "a + (lambda: 1)": 5, "a // b": 0, "a * 1_0j": 4, "a[layer: 1][step: 0]": 0}
    | dict.fromkeys(("a.__class__", "[a for a in b]", "a in b", "a and b"), 0),
    "cannot be read at '[tensor: in'": {"a[tensor: in": 1},
    "no function is called": {"eval(a)": 0, "1 + sqrd(a)": 4},
    "takes one argument": {"sqrt(a, b)": 0}, "takes two arguments": {"min(a)": 0}, "is a function": {"log": 0},
    "is no condition": {"a[0]": 2}, "stands twice": {"a[layer: 1, layer: 2]": 12},
    "no column is called 'layr'": {"a[layr: 1]": 2}, "names no quantity": {"2 * 3": 0},
    "is a quantity alone": {" loss ": 1}, "the power": {"a ** 65": 5, "a ** -1000": 5},
    "beyond 1.8e308": {"a * 1e999": 4}, "an empty expression": {"": 0},
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_whatever_is_no_arithmetic_is_refused_where_it_stands(what):
    for text, character in REFUSED[what].items():
        with pytest.raises(NoExpression) as caught:
            parse_expression(text)
        issue = caught.value.issue
        assert what in issue.what
        assert issue.path == (character,)
        assert issue.remedy


HOSTILE = ["(" * 200 + "a" + ")" * 199, "-" * (LONGEST - 1) + "a", "a" + "**a" * 130, "a * " + "9" * 390]
HOSTILE += ["(" * 10_000_000, "a+" * 5_000_000 + "a", "[" * 399, "a[" * 190, "sqrt(" * 70 + "a" + ")" * 70]
HOSTILE += ["9**9**9**9**9" + "**9" * 120 + "*a", "\\" * 300, "\x00" * 300]


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: ascii(text)[:12])
def test_hostile_texts_are_refused_at_once(text):
    begin = time.perf_counter()
    with pytest.raises(NoExpression) as caught:
        parse_name(text)
    assert time.perf_counter() - begin < 2
    assert "\n" not in str(caught.value.issue)
    assert len(str(caught.value.issue)) < 300


def test_nothing_is_evaluated_while_reading():
    root = parse_expression("9 ** 9 ** 9 * a").root
    assert isinstance(root, Applied)  # a number of 369 million digits otherwise
    assert set(FUNCTIONS) == {"sqrt", "log", "exp", "abs", "min", "max"}


@pytest.mark.parametrize(
    ("written", "places"),
    [
        ({"expr": "a / b"}, [()]),
        ({"unit": "ratio"}, [()]),
        ({"expr": "a / b", "unit": "x", "lable": "c"}, [("lable",)]),
        ({"expr": 3, "unit": "x"}, [("expr",)]),
        ({"expr": "a / b", "unit": None}, [("unit",)]),
        ({"expr": "a / b", "unit": "{nats}"}, [("unit",)]),
        ({"expr": "a / b", "unit": "x" * 81, "label": ""}, [("unit",), ("label",)]),
        ({"expr": "a /* b", "unit": "[m]"}, [("unit",), ("expr", 3)]),
        ({}, [()]),
    ],
)
def test_every_mistake_in_a_mapping_has_its_place(written, places):
    expression, issues = read_mapping(written)
    assert expression is None
    assert [issue.path for issue in issues] == places
    assert all(issue.remedy for issue in issues)
