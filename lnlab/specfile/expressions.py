"""A quantity that is an expression over others: ``gradient_norm[step: 0] * sqrt(loss)``.

Its text is its name wherever a quantity is named: ``LABEL = EXPRESSION [UNIT]``, label and unit being optional. A spec
writes it as ``{expr: ..., unit: ..., label: ...}``. Brackets behind a name take those of its rows that meet a
condition: ``hidden_norm[tensor: sum, layer: last]``.

Python's own grammar reads the text. Only the few forms below are accepted, and nothing is ever executed.
"""

import ast
import math
import re
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Union

from lnlab.errors import nearest, shown
from lnlab.issues import Issue, Where
from lnlab.keys import Json, texts_in

LONGEST, DEEPEST, LARGEST_POWER = 400, 24, 64
FUNCTIONS = {"sqrt": 1, "log": 1, "exp": 1, "abs": 1, "min": 2, "max": 2}
"""The functions, with the number of their arguments. For ``min`` and ``max`` it is the least number."""
PINNED = ("step", "split", "stack", "layer", "sublayer", "tensor", "index", "x")
"""The columns on which brackets may put a condition."""
UNREADABLE = "unreadable expression ="
"""Stands where a spec has an expression with a mistake, which was reported already."""
_OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.Pow: "**",
}
_BINDING = {"+": 1, "-": 1, "*": 2, "/": 2, "negative": 3, "**": 4}
_FOREIGN = re.compile(r"[^A-Za-z0-9_.+\-*/(),\[\]: ]")
_NAME = re.compile(r"(?P<label>[^=]*)=(?P<expr>.*)", re.DOTALL)
_UNIT = re.compile(r"(?P<expr>.*) \[(?P<unit>[^:\[\]]+)\]", re.DOTALL)
_WORDS = re.compile(r"[^\[\]{}=:\x00-\x1f\x7f]{1,80}")
"""What a label and a unit are made of."""
EXPRESSION = re.compile(r"[-+*/()=\[\]]")
"""What an expression that somebody types has, and a name of lnlab's own never."""
_LIKELY = re.compile(r"[*(+\[]| [-/] |^-")
"""What every expression has, and hardly any other name."""
_ALLOWED = f"names, numbers, + - * / **, parentheses, {', '.join(FUNCTIONS)}"


Pin = tuple[str, str | int | float]


@dataclass(frozen=True)
class Operand:
    """A quantity in an expression.

    Attributes:
        quantity: its name.
        pins: the conditions in its brackets, column and value.
    """

    quantity: str
    pins: tuple[Pin, ...] = ()

    def __str__(self) -> str:
        conditions = ", ".join(f"{column}: {_number(value)}" for column, value in self.pins)
        return f"{self.quantity}[{conditions}]" if conditions else self.quantity

    def spelled(self, words: Callable[[str], str]) -> str:
        """The quantity for readers, ``words`` being what they call it."""
        at = ", ".join(f"{column} {_number(value)}".replace("_", " ") for column, value in self.pins)
        return f"{words(self.quantity)} ({at})" if at else words(self.quantity)


@dataclass(frozen=True)
class Applied:
    """An operator, a function, or the sign ``negative``, with what it is applied to."""

    operator: str
    terms: tuple["Term", ...]


Term = Union[Operand, float, Applied]  # noqa: UP007 - a string cannot be joined by |


@dataclass(frozen=True)
class Expression:
    """An expression as it was read.

    Attributes:
        root: its tree.
        operands: its quantities, each once, in their order.
        unit: of its values, or None where none is given.
        label: what pages call it, or None: its formula.
    """

    root: Term
    operands: tuple[Operand, ...]
    unit: str | None = None
    label: str | None = None

    @property
    def quantities(self) -> tuple[str, ...]:
        """The names of the quantities, each once."""
        return tuple(dict.fromkeys(operand.quantity for operand in self.operands))

    @property
    def formula(self) -> str:
        """The expression as text, the same however it was spaced and bracketed."""
        return _written(self.root, str, plain=True)

    @property
    def name(self) -> str:
        """What the quantity is called in selections, as ``parse_name`` reads it."""
        label = f"{self.label} = " if self.label else ""
        return f"{label}{self.formula}{f' [{self.unit}]' if self.unit else ''}"

    def spelled(self, words: Callable[[str], str]) -> str:
        """The formula for readers, ``words`` being what they call a quantity."""
        return _written(self.root, lambda operand: operand.spelled(words), plain=False)


class NoExpression(Exception):
    """A text is no expression. Paths of the issue begin with the character of the text at which it stands, from 0."""

    def __init__(self, issue: Issue) -> None:
        super().__init__(issue.what)
        self.issue = issue


@lru_cache(maxsize=1024)
def expression_of(name: str) -> Expression | None:
    """The expression that a quantity's name spells, or None for any other name.

    Names of other tools may read like one (``train/loss``): only a name that is spaced as ``Expression.name`` is one.
    """
    if not _LIKELY.search(name):
        return None
    try:
        expression = parse_name(name)
    except NoExpression:
        return None
    return expression if expression.name == name else None


def parse_name(text: str) -> Expression:
    """Read ``LABEL = EXPRESSION [UNIT]``.

    Raises:
        NoExpression: it is none.
    """
    # Label and unit have at most 80 characters each.
    if len(text) > LONGEST + 200:
        raise NoExpression(_too_long(text))
    label = unit = None
    start = 0
    if match := _NAME.fullmatch(text):
        label, start, text = match["label"].strip(), match.start("expr"), match["expr"]
    if match := _UNIT.fullmatch(text):
        unit, text = match["unit"].strip(), match["expr"]
    for key, word in (("label", label), ("unit", unit)):
        if word is not None and (issue := _words_issue(key, word)):
            raise NoExpression(issue)
    try:
        expression = parse_expression(text)
    except NoExpression as error:
        place = tuple(start + number for number in error.issue.path if isinstance(number, int))
        raise NoExpression(replace(error.issue, place=place)) from error
    return replace(expression, unit=unit, label=label)


def read_mapping(written: Mapping[str, Json]) -> tuple[Expression | None, list[Issue]]:
    """An expression as a spec writes it, and what is wrong with it, with paths of the mapping.

    Where it stands in a text of the spec, a path goes on with the character of the text, from 0.
    """
    keys = ("expr", "unit", "label")
    issues = [
        Issue("unknown-key", (key,), f"an expression has no key '{key}'", nearest(str(key), keys))
        for key in written
        if key not in keys
    ]
    for key in keys[:2]:
        if key not in written and not issues:
            remedy = 'write {expr: "a / b", unit: ...}' if key == "expr" else "add unit: ..., such as unit: ratio"
            issues.append(Issue("missing", (), f"an expression needs '{key}'", remedy))
    for key in keys:
        if key in written and not isinstance(written[key], str):
            issues.append(Issue("wrong-type", (key,), f"found {shown(written[key])}", "write a text"))
        elif key in written and key != "expr" and (issue := _words_issue(key, str(written[key]))):
            issues.append(issue)
    if not isinstance(written.get("expr"), str):
        return None, issues
    try:
        expression = parse_expression(str(written["expr"]))
    except NoExpression as error:
        return None, [*issues, error.issue.below("expr")]
    unit, label = (str(written[key]).strip() if key in written else None for key in keys[1:])
    return (None if issues else replace(expression, unit=unit, label=label)), issues


def _words_issue(key: str, text: str) -> Issue | None:
    if _WORDS.fullmatch(text.strip()):
        return None
    return Issue("wrong-value", (key,), f"found {shown(text)}", "write 1 to 80 characters without [ ] { } = :")


def _too_long(text: str) -> Issue:
    return Issue("too-large", (), f"an expression of {len(text):,} characters", f"write at most {LONGEST}")


def parse_expression(text: str) -> Expression:
    """Read an expression.

    Raises:
        NoExpression: it is none, or too long or too deep.
    """
    if len(text) > LONGEST:
        raise NoExpression(_too_long(text))
    flat = re.sub(r"\s", " ", text)
    begin = len(flat) - len(flat.lstrip())
    if match := _FOREIGN.search(flat):
        raise _wrong(match.start(), f"'{match.group()}' has no meaning in an expression", f"write {_ALLOWED}")
    # Python has a keyword where the input of a sublayer is meant; the columns of the others do not move.
    source = re.sub(r"(: *)in\b", r"\1iN", flat.strip())
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of numbers that run into a word, which are refused below
            tree = ast.parse(source, mode="eval").body
    except SyntaxError as error:
        column = max(0, min((error.offset or 1) - 1, len(source)))
        what = (
            "ends too early" if column >= len(source.rstrip()) else f"cannot be read at '{flat.strip()[column:][:20]}'"
        )
        raise _wrong(begin + column, what if source else "an empty expression", f"write {_ALLOWED}") from error
    except (ValueError, RecursionError, MemoryError, OverflowError) as error:
        raise _wrong(begin, "cannot be read", f"write {_ALLOWED}") from error
    operands: dict[Operand, None] = {}
    root = _term(tree, begin, operands, 0)
    if not operands:
        raise _wrong(begin, "names no quantity", "write the names of measured or derived quantities")
    if isinstance(root, Operand) and not root.pins:
        raise _wrong(begin, "is a quantity alone", f"write quantity: {root.quantity}")
    return Expression(root, tuple(operands))


def _term(node: ast.expr, begin: int, operands: dict[Operand, None], depth: int) -> Term:
    """The tree of a part of an expression. Its quantities are added to ``operands``.

    Raises:
        NoExpression: with the place of the mistake.
    """
    at = begin + node.col_offset
    if depth > DEEPEST:
        raise NoExpression(Issue("too-large", (at,), f"nested more than {DEEPEST} deep", "split the expression"))

    def inner(*nodes: ast.expr) -> tuple[Term, ...]:
        return tuple(_term(one, begin, operands, depth + 1) for one in nodes)

    if isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool):
        try:
            number = float(node.value)
        # An integer that Python reads and float64 cannot hold.
        except OverflowError:
            number = math.inf
        if not math.isfinite(number):
            raise NoExpression(Issue("out-of-range", (at,), "a number beyond 1.8e308", "write a finite number"))
        return number
    named = node.value if isinstance(node, ast.Subscript) else node
    if isinstance(named, ast.Name):
        if named.id in FUNCTIONS:
            raise _wrong(at, f"'{named.id}' is a function", f"write {named.id}(...)")
        operand = Operand(named.id, _pins(node, begin) if isinstance(node, ast.Subscript) else ())
        operands.setdefault(operand)
        return operand
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.UAdd | ast.USub):
        (term,) = inner(node.operand)
        if isinstance(node.op, ast.UAdd):
            return term
        # A negative number stays a number, which the limits of powers apply to.
        return -term if isinstance(term, float) else Applied("negative", (term,))
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        left, right = inner(node.left, node.right)
        operator = _OPERATORS[type(node.op)]
        if operator == "**" and isinstance(right, float) and abs(right) > LARGEST_POWER:
            where = begin + node.right.col_offset
            raise NoExpression(
                Issue("out-of-range", (where,), f"the power {right:g}", f"write one of at most {LARGEST_POWER}")
            )
        if operator == "**" and isinstance(left, float) and left <= 0:
            raise _wrong(at, f"a power of {left:g}", "write a positive base")
        return Applied(operator, (left, right))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        function = node.func.id
        if function not in FUNCTIONS:
            remedy = nearest(function, FUNCTIONS)
            raise NoExpression(Issue("unknown-name", (at,), f"no function is called '{function}'", remedy))
        least = FUNCTIONS[function]
        wrong_number = len(node.args) < least or (least == 1 and len(node.args) > 1)
        if node.keywords or wrong_number or any(isinstance(argument, ast.Starred) for argument in node.args):
            arguments = "one argument" if least == 1 else "two arguments or more"
            raise _wrong(at, f"'{function}' takes {arguments}", f"write {function}({'a' if least == 1 else 'a, b'})")
        return Applied(function, inner(*node.args))
    raise _wrong(at, "is no part of an expression", f"write {_ALLOWED}")


def _pins(node: ast.Subscript, begin: int) -> tuple[Pin, ...]:
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    pins: dict[str, str | int | float] = {}
    for part in parts:
        column = part.lower if isinstance(part, ast.Slice) and part.step is None else None
        value = part.upper if isinstance(part, ast.Slice) else None
        at = begin + part.col_offset
        if not isinstance(column, ast.Name) or not isinstance(value, ast.Name | ast.Constant):
            raise _wrong(at, "is no condition", "write [column: value], such as [layer: last]")
        if column.id not in PINNED or column.id in pins:
            if column.id in pins:
                raise _wrong(at, f"'{column.id}' stands twice", "keep one of them")
            what = f"no column is called '{column.id}'"
            raise NoExpression(Issue("unknown-name", (at,), what, nearest(column.id, PINNED)))
        word = ("in" if value.id == "iN" else value.id) if isinstance(value, ast.Name) else value.value
        if isinstance(word, bool) or not isinstance(word, str | int | float):
            raise _wrong(begin + value.col_offset, f"found {shown(word)}", "write a word or a number")
        pins[column.id] = word
    # In one order, so that equal conditions make one name.
    return tuple(sorted(pins.items(), key=lambda pin: PINNED.index(pin[0])))


def _wrong(at: int, what: str, remedy: str) -> NoExpression:
    return NoExpression(Issue("syntax", (at,), what, remedy))


def _number(value: str | float) -> str:
    whole = isinstance(value, float) and value.is_integer() and abs(value) < 1e15
    return str(int(value)) if whole else str(value)


def _written(term: Term, operand: Callable[[Operand], str], *, plain: bool) -> str:
    """A term as text with the least parentheses: as it is parsed, or as readers see it."""
    if isinstance(term, Operand):
        return operand(term)
    if isinstance(term, float):
        text = _number(term)
        return text if plain else text.replace("-", "−")
    symbols = {"*": "·", "-": "−", "**": "^", "negative": "−"}

    def inner(one: Term, binding: float) -> str:
        text = _written(one, operand, plain=plain)
        own = _BINDING.get(one.operator, 9) if isinstance(one, Applied) else 3 if text[0] in "-−" else 9
        return f"({text})" if own < binding else text

    if term.operator in FUNCTIONS:
        return f"{term.operator}({', '.join(inner(one, 0) for one in term.terms)})"
    binding = _BINDING[term.operator]
    if term.operator == "negative":
        return f"{'-' if plain else '−'}{inner(term.terms[0], binding)}"
    left, right = term.terms
    # a - (b - c) keeps its parentheses, and so does (a ** b) ** c, which binds to the right
    to_left, to_right = (binding + 0.5, 3) if term.operator == "**" else (binding, binding + 0.5)
    symbol = term.operator if plain else symbols.get(term.operator, term.operator)
    return f"{inner(left, to_left)} {symbol} {inner(right, to_right)}"


def named_parts(name: str) -> tuple[str, ...]:
    """The quantities that an expression names, or the one quantity that this is."""
    expression = expression_of(name)
    return (name,) if expression is None else expression.quantities


def named_expressions(value: Any) -> list[str]:
    """Every name in plain data that is an expression, each once, in order."""
    return list(dict.fromkeys(text for text in texts_in(value) if expression_of(text) is not None))


def with_names(data: Json, path: Where, issues: list[Issue], at: str = "") -> Json:
    """Sections or claims with each expression replaced by its name. Mistakes are added to ``issues``."""
    if isinstance(data, list):
        return [with_names(one, (*path, number), issues, at) for number, one in enumerate(data)]
    if not isinstance(data, dict):
        return data
    if "expr" not in data and at != "quantity":
        return {key: with_names(one, (*path, key), issues, str(key)) for key, one in data.items()}
    expression, mistakes = read_mapping(data)
    issues += [issue.below(*path) for issue in mistakes]
    return UNREADABLE if expression is None else expression.name
