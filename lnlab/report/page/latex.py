"""Tables for papers: booktabs, escaped, no package but booktabs."""

from collections.abc import Sequence

from lnlab.report.table import Grid, column_count
from lnlab.report.words.control_characters import without_control_characters

_SPECIAL = {
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
    **{raised: f"$^{{{plain}}}$" for raised, plain in zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-", strict=True)},
}


def escape_latex(text: str) -> str:
    """Text that LaTeX prints as it stands: no command, no comment, no line of its own."""
    return "".join(_SPECIAL.get(letter, letter) for letter in without_control_characters(text))


def booktabs_table(grid: Grid, label: str) -> str:
    """A ``table`` environment; columns of numbers are set flush right."""
    rows = [[text for text, _ in row] for row in grid.rows]
    columns = column_count([grid.headings, *rows])
    numeric = [bool(grid.rows) and all(row[c][1] or row[c][0] == "–" for row in grid.rows) for c in range(columns)]
    lines = [
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{escape_latex(grid.caption)}}}",
        rf"\label{{{label}}}",
        rf"\begin{{tabular}}{{{''.join('r' if n else 'l' for n in numeric)}}}",
        r"\toprule",
        _row(grid.headings),
        r"\midrule",
        *(_row(row) for row in rows),
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]
    return "% needs \\usepackage{booktabs}\n" + "\n".join(lines) + "\n"


def _row(texts: Sequence[str]) -> str:
    # an opening bracket after \\ would be read as its argument
    return " & ".join(f"{{{escape_latex(t)}}}" if t.startswith(("[", "*")) else escape_latex(t) for t in texts) + r" \\"
