"""Tables for papers. Text is escaped, and booktabs is the only package needed."""

import re
import unicodedata
from collections.abc import Sequence

from lnlab.report.table import Grid, column_count
from lnlab.report.words.control_characters import without_control_characters


def _greek(letter: str) -> str:
    """The command of a Greek letter: ``sigma``, ``Sigma``."""
    # Unicode spells lambda without its b
    name = unicodedata.name(letter).rpartition(" ")[2].lower().replace("lamda", "lambda")
    return name.capitalize() if letter.isupper() else name


SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "`": r"\textasciigrave{}",
    "−": "$-$",
    "×": r"$\times$",
    "∞": r"$\infty$",
    "–": "--",
    "✓": r"$\surd$",
    "✗": r"$\times$",
    "√": r"$\surd$",
    "·": r"$\cdot$",
    "±": r"$\pm$",
    "≈": r"$\approx$",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "≠": r"$\neq$",
    "→": r"$\to$",
    "∂": r"$\partial$",
    "∇": r"$\nabla$",
    "‖": r"$\|$",
    "ᵀ": r"$^{\top}$",
    "“": "``",
    "”": "''",
    "‘": "`",
    "’": "'",
    "…": r"\ldots{}",
    "\u00a0": "~",
    **{raised: f"$^{{{plain}}}$" for raised, plain in zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-", strict=True)},
    **{lowered: f"$_{{{plain}}}$" for lowered, plain in zip("₀₁₂₃₄₅₆₇₈₉", "0123456789", strict=True)},
    **{letter: rf"$\{_greek(letter)}$" for letter in "αβγδεζηθικλμνξπρστυφχψωΓΔΘΛΞΠΣΥΦΨΩ"},
}
_HAT = re.compile("([A-Za-z])\u0302")
_LIGATURE = re.compile("(?<=[-–])(?=[-–])|(?<=['’”])(?=['’”])|(?<=[‘“])(?=[‘“])|(?<=,)(?=,)")
"""Between signs that a typeface would join, as two hyphens to a dash."""


def escape_latex(text: str) -> str:
    """Escape text so that LaTeX prints it as it stands, without commands, comments or line breaks."""
    pieces = _HAT.split(without_control_characters(text))  # every second piece is a letter under a circumflex
    return "".join(
        rf"$\hat{{{piece}}}$"
        if n % 2
        else "{}".join("".join(SPECIAL.get(c, c) for c in run) for run in _LIGATURE.split(piece))
        for n, piece in enumerate(pieces)
    )


def booktabs_table(grid: Grid, label: str) -> str:
    """A ``table`` environment with columns of numbers set flush right."""
    lines = [
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{escape_latex(grid.caption)}}}",
        rf"\label{{{label}}}",
        tabular(grid),
        r"\end{table}",
    ]
    return "% needs \\usepackage{booktabs}\n" + "\n".join(lines) + "\n"


def tabular(grid: Grid) -> str:
    """The ``tabular`` environment alone."""
    rows = [[text for text, _ in row] for row in grid.rows]
    columns = column_count([grid.headings, *rows])
    # a dash is a number that is not there
    numeric = [bool(grid.rows) and all(row[c][1] or row[c][0] == "–" for row in grid.rows) for c in range(columns)]
    lines = [
        rf"\begin{{tabular}}{{{''.join('r' if n else 'l' for n in numeric)}}}",
        r"\toprule",
        _row(grid.headings),
        r"\midrule",
        *(_row(row) for row in rows),
        r"\bottomrule",
        r"\end{tabular}",
    ]
    return "\n".join(lines)


def _row(texts: Sequence[str]) -> str:
    # an opening bracket after \\ would be read as its argument
    return " & ".join(f"{{{escape_latex(t)}}}" if t.startswith(("[", "*")) else escape_latex(t) for t in texts) + r" \\"
