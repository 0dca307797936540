"""A small table for a cell of a notebook: text of a user is text there, and the colours are those of the notebook."""

from collections.abc import Collection, Sequence
from html import escape

from lnlab.printable import printable_line

MOST_SHOWN = 20
"""The most rows of a table. The number of further rows stands below it."""
_CELL = "padding: 0.1em 0.8em 0.1em 0; border: 0; background: none; color: inherit; text-align: {}"


def html_table(
    caption: str, columns: Sequence[str], rows: Sequence[Sequence[object]], *, numeric: Collection[str] = ()
) -> str:
    """The rows under their caption.

    Args:
        caption: above the table.
        columns: their names.
        rows: one cell for each column, written as by ``str``. None is an empty cell.
        numeric: the columns that are aligned right.
    """
    sides = ["right" if column in numeric else "left" for column in columns]
    lines = [f'<table style="border-collapse: collapse; color: inherit"><caption>{_text(caption)}</caption>']
    for tag, cells in (("th", columns), *(("td", row) for row in rows[:MOST_SHOWN])):
        written = (
            f'<{tag} style="{_CELL.format(side)}">{_text(cell)}</{tag}>'
            for cell, side in zip(cells, sides, strict=True)
        )
        lines.append(f"<tr>{''.join(written)}</tr>")
    lines.append("</table>")
    if len(rows) > MOST_SHOWN:
        lines.append(f"<div>and {len(rows) - MOST_SHOWN:,} more</div>")
    return "\n".join(lines)


def _text(value: object) -> str:
    return "" if value is None else escape(printable_line(str(value)))
