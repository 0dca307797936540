"""What a placement computes, as a graph: ``norm(x + f(x))`` -> x, sublayer, sum, norm, and the arrows between them.

The formula with which the placement is registered is read in Python's grammar. A product may also be written as two
words beside each other, ``alpha f(x)``. ``f`` is the sublayer, ``x`` the residual stream before it, and ``x_in`` the
stream before the layer. Every other word that is called is a norm, and every other name a parameter.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from lnlab.errors import ReportError
from lnlab.issues import Issue

Operation = Literal["input", "sublayer", "norm", "sum", "factor", "shift"]
_CODE = re.compile(r"``([^`]+)``")
_PRODUCT = re.compile(r"(?<=[\w)]) (?=[A-Za-z_(])")
_INPUTS = ("x", "x_in")
_GREEK = {"alpha": "α", "omega": "ω"}
_GREEK_WORD = re.compile(r"\b(alpha|omega)\b")


@dataclass(frozen=True)
class FlowNode:
    """One operation on the residual stream.

    Attributes:
        operation: its kind.
        label: as the drawing names it.
        inputs: the places of the operations that it reads, in the graph.
    """

    operation: Operation
    label: str
    inputs: tuple[int, ...] = ()


Dataflow = tuple[FlowNode, ...]
"""Operations, each after those that it reads. The last one is the output."""


def stated_formulas(summary: str) -> tuple[str, ...]:
    """The formulas of a sublayer in the first line of a placement's documentation, without ``x =`` in front."""
    spans = (span.removeprefix("x = ").strip() for span in _CODE.findall(summary))
    return tuple(span for span in spans if "f(" in span)


def printed_formula(formula: str) -> str:
    """A formula as a paper prints it: ``norm(ω x + f(x))``."""
    return _GREEK_WORD.sub(lambda word: _GREEK[word[0]], formula.replace(" * ", " "))


def without_norms(formula: str) -> str:
    """The formula where every norm is the identity: ``x + f(norm(x))`` -> ``x + f(x)``."""
    return ast.unparse(_WithoutNorms().visit(_parsed(formula)))


class _WithoutNorms(ast.NodeTransformer):
    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        return node if isinstance(node.func, ast.Name) and node.func.id == "f" else node.args[0]


def dataflow(formula: str) -> Dataflow:
    """The graph of a formula such as ``norm(omega * x + f(x))``.

    Raises:
        ReportError: the formula has something else than sums, products with a parameter, and calls.
    """
    nodes: list[FlowNode] = []
    _add(_parsed(formula), nodes)
    return tuple(nodes)


def _parsed(formula: str) -> ast.expr:
    try:
        return ast.parse(_PRODUCT.sub(" * ", formula.replace(" * ", "*")), mode="eval").body
    except SyntaxError as error:
        raise _problem(f"the formula {formula!r} cannot be read") from error


def _add(tree: ast.expr, nodes: list[FlowNode]) -> int:
    """Append the operations of an expression to ``nodes``, and return the place of its result."""
    match tree:
        case ast.Name(id=name) if name in _INPUTS:
            node = FlowNode("input", name)
        case ast.BinOp(op=ast.Add()):
            terms = list(_terms(tree))
            parameters = [term.id for term in terms if isinstance(term, ast.Name) and term.id not in _INPUTS]
            signals = [term for term in terms if not (isinstance(term, ast.Name) and term.id in parameters)]
            places = tuple(_add(term, nodes) for term in signals)
            if parameters and (len(parameters) != 1 or len(places) != 1):
                raise _problem(f"the formula adds {', '.join(parameters)} to more or less than one signal")
            node = FlowNode("shift", f"+ {parameters[0]}", places) if parameters else FlowNode("sum", "+", places)
        case ast.BinOp(left=ast.Name(id=factor), op=ast.Mult(), right=signal) if factor not in _INPUTS:
            node = FlowNode("factor", f"× {_GREEK.get(factor, factor)}", (_add(signal, nodes),))
        case ast.Call(func=ast.Name(id=function), args=[signal]):
            operation: Operation = "sublayer" if function == "f" else "norm"
            node = FlowNode(operation, operation, (_add(signal, nodes),))
        case _:
            raise _problem(f"the formula has {ast.unparse(tree)!r}, which is no sum, product or call that can be drawn")
    # the x of both terms of x + f(x) is one box with two arrows
    if node in nodes:
        return nodes.index(node)
    nodes.append(node)
    return len(nodes) - 1


def _terms(tree: ast.expr) -> Iterator[ast.expr]:
    if isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.Add):
        yield from _terms(tree.left)
        yield from _terms(tree.right)
    else:
        yield tree


def _problem(what: str) -> ReportError:
    return ReportError(Issue("unsupported", "placement", what, "write it as in ``x = norm(x + f(x))``"))


def main_path(flow: Dataflow) -> tuple[int, ...]:
    """The way from the input to the output through the sublayer, the longest if there are several."""
    ways: list[tuple[int, ...]] = []
    for place, node in enumerate(flow):
        before = max(
            (ways[i] for i in node.inputs),
            key=lambda way: (any(flow[place].operation == "sublayer" for place in way), len(way)),
            default=(),
        )
        ways.append((*before, place))
    return ways[-1]
