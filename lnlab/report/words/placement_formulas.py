"""The formula that the documentation of a placement states, ``norm(omega * x + f(x))``, as a paper prints it.

It is read in Python's grammar. A product may also be written as two words beside each other, ``alpha f(x)``. ``f`` is
the sublayer, and every other word that is called is a norm.
"""

import ast
import re

from lnlab.errors import ReportError
from lnlab.issues import Issue

_CODE = re.compile(r"``([^`]+)``")
_PRODUCT = re.compile(r"(?<=[\w)]) (?=[A-Za-z_(])")
_GREEK = {"alpha": "α", "omega": "ω"}
_GREEK_WORD = re.compile(r"\b(alpha|omega)\b")


def stated_formulas(summary: str) -> tuple[str, ...]:
    """The formulas of a sublayer in the first line of a placement's documentation, without ``x =`` in front."""
    spans = (span.removeprefix("x = ").strip() for span in _CODE.findall(summary))
    return tuple(span for span in spans if "f(" in span)


def printed_formula(formula: str) -> str:
    """A formula as a paper prints it: ``norm(ω x + f(x))``."""
    return _GREEK_WORD.sub(lambda word: _GREEK[word[0]], formula.replace(" * ", " "))


def without_norms(formula: str) -> str:
    """The formula where every norm is the identity: ``x + f(norm(x))`` -> ``x + f(x)``.

    Raises:
        ReportError: it cannot be read.
    """
    try:
        tree = ast.parse(_PRODUCT.sub(" * ", formula.replace(" * ", "*")), mode="eval").body
    except SyntaxError as error:
        what = f"the formula {formula!r} cannot be read"
        raise ReportError(Issue("unsupported", "placement", what, "write it as in ``x = norm(x + f(x))``")) from error
    return ast.unparse(_WithoutNorms().visit(tree))


class _WithoutNorms(ast.NodeTransformer):
    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        return node if isinstance(node.func, ast.Name) and node.func.id == "f" else node.args[0]
