"""What LaTeX would read, by TeX's own categories: the text that escaped text prints, and the commands of a file."""

import re
from collections.abc import Iterator

WORDS = {
    "textbackslash": "\\",
    "textasciicircum": "^",
    "textasciitilde": "~",
    "textless": "<",
    "textgreater": ">",
    "textbar": "|",
    "textquotedbl": '"',
    "textasciigrave": "`",
    "ldots": "…",
}
_GREEK = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau upsilon phi chi psi"
_LETTERS = dict(zip([*_GREEK.split(), "omega"], "αβγδεζηθικλμνξπρστυφχψω", strict=True))
_SIGNS = {
    "times": "×",
    "infty": "∞",
    "surd": "√",
    "cdot": "·",
    "pm": "±",
    "approx": "≈",
    "leq": "≤",
    "geq": "≥",
    "neq": "≠",
}
_SIGNS |= {"to": "→", "partial": "∂", "nabla": "∇", "|": "‖"}
_SIGNS |= _LETTERS | {name.capitalize(): letter.upper() for name, letter in _LETTERS.items()}
_RAISED, _LOWERED = (dict(zip("0123456789-", signs, strict=False)) for signs in ("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "₀₁₂₃₄₅₆₇₈₉"))
_RAISED["\\top"] = "ᵀ"
_LIGATURES = {"---": "—", "--": "–", "``": "“", "''": "”", "`": "‘", "'": "’", ",,": "„", "~": "\u00a0"}
_TOKEN = re.compile(
    r"\\(?P<word>[A-Za-z]+)\{\}|\\(?P<escaped>[{}$&#%_])|\$(?P<formula>[^$]*)\$|(?P<empty>\{\})"
    r"|(?P<ligature>---|--|``|''|,,|[`'~])|(?P<plain>[^\\{}$&#%_^~`'])"
)
_FORMULA = re.compile(
    r"(?P<minus>-)|\\(?P<sign>[A-Za-z]+|\|)|\^\{(?P<raised>[-\d]|\\top)\}|_\{(?P<lowered>\d)\}|\\hat\{(?P<hat>\w)\}"
)
_STRUCTURE = re.compile(r"\\([A-Za-z@]+\*?|.)|(?<!\\)%[^\n]*\n|([&{}#~])", re.DOTALL)


def printed(escaped: str) -> str:
    """The characters that LaTeX prints.

    Raises:
        ValueError: something is no text but a command, a group, a parameter, a tab or a comment.
    """
    text, place = "", 0
    while place < len(escaped):
        if not (token := _TOKEN.match(escaped, place)):
            raise ValueError(f"no text: {escaped[place : place + 20]}")
        text += _character(token)
        place = token.end()
    return text


def _character(token: re.Match[str]) -> str:
    kind, content = token.lastgroup, token[token.lastgroup or 0]
    if kind == "formula":
        if not (formula := _FORMULA.fullmatch(content)):
            raise ValueError(f"no formula of one sign: {content}")
        return _sign(formula)
    if kind == "empty":
        return ""
    return {"word": WORDS, "ligature": _LIGATURES}[kind][content] if kind in ("word", "ligature") else content


def _sign(formula: re.Match[str]) -> str:
    kind, content = formula.lastgroup, formula[formula.lastgroup or 0]
    tables = {"minus": {"-": "−"}, "sign": _SIGNS, "raised": _RAISED, "lowered": _LOWERED}
    return f"{content}\u0302" if kind == "hat" else tables[str(kind)][content]


def commands(file: str) -> Iterator[str]:
    """Every command and tab of a file in their order, but for those that print a character.

    Raises:
        ValueError: groups that do not close, or that close before they open.
    """
    depth = 0
    text = re.sub(rf"\\({'|'.join(WORDS)})\{{\}}|\\[{{}}$&#%_]|\$[^$]*\$", "", file)
    for command, character in _STRUCTURE.findall(text):
        depth += (character == "{") - (character == "}")
        if depth < 0:
            raise ValueError("a group closes that is not open")
        if command or character in ("&", "#"):
            yield command or character
    if depth:
        raise ValueError(f"{depth} groups do not close")
