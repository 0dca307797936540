"""Small tables and cards for a cell of a notebook: text of a user is text there, colours are those of the notebook."""

from collections.abc import Collection, Sequence
from html import escape
from pathlib import Path
from urllib.parse import quote

from lnlab.printable import printable_line

MOST_SHOWN = 20
"""The most rows of a table. The number of further rows stands below it."""
_SHORT = 24
"""Characters of a cell that is never broken into lines."""
_NO_BREAK = "; white-space: nowrap"
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
            f'<{tag} style="{_CELL.format(side)}{_NO_BREAK * (len(str(cell)) <= _SHORT)}">{_text(cell)}</{tag}>'
            for cell, side in zip(cells, sides, strict=True)
        )
        lines.append(f"<tr>{''.join(written)}</tr>")
    lines.append("</table>")
    if len(rows) > MOST_SHOWN:
        lines.append(f"<div>and {len(rows) - MOST_SHOWN:,} more</div>")
    return "\n".join(lines)


def html_card(title: str, lines: Sequence[str], *, page: Path | None = None) -> str:
    """A title and a few lines below it.

    Args:
        title: in bold, and a link where there is a page.
        lines: sentences. Empty ones are left out.
        page: a file that the title leads to.
    """
    head = _text(title)
    if page is not None:
        head = f'<a href="{quote(page.as_posix())}" target="_blank">{head}</a>'
    shown = [line for line in lines if line]
    rows = "".join(f"<div>{_text(line)}</div>" for line in shown[:MOST_SHOWN])
    more = f"<div>and {len(shown) - MOST_SHOWN:,} more</div>" if len(shown) > MOST_SHOWN else ""
    return f'<div style="border-left: 3px solid; padding: 0.2em 0.8em"><div><b>{head}</b></div>{rows}{more}</div>'


def _text(value: object) -> str:
    return "" if value is None else escape(printable_line(str(value)))
