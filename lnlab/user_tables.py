"""The one reader of tables that a user names: CSV as spreadsheets write it, TSV and Parquet.

The encoding is that of the file's byte-order mark, else UTF-8 or UTF-16 where the bytes are such, else Windows-1252, of
which Latin-1 text is a part. The separator is the one that gives the header the columns asked for, and every row as
many cells.
"""

import csv
import io
import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from lnlab.errors import LabError, nearest
from lnlab.issues import Issue
from lnlab.userfiles import read_user_file

if TYPE_CHECKING:
    import polars as pl  # late: corpora are registered here, and no mistake in a spec waits for frames

Separator = Literal[",", ";", "\t", "|"]
Encoding = Literal["utf-8", "utf-16", "cp1252", "latin-1"]
SEPARATORS: tuple[str, ...] = get_args(Separator)
ENDINGS = (".csv", ".tsv", ".parquet")
LARGEST_TABLE = 1 << 29
"""Bytes of a table."""
MOST_ROWS = 3_000_000
"""Rows of a table, or numbers of a table of runs: a page of a million takes 1.1 GB."""
_LONGEST_CELL = 1 << 27
_SAMPLE = 50
"""Rows on which a separator is tried."""
_MARKS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))
_ZIP = b"PK\x03\x04"
_PACKED = (
    (b"\x1f\x8b", "gzip"),
    (b"BZh", "bzip2"),
    (b"\xfd7zXZ\0", "xz"),
    (b"\x28\xb5\x2f\xfd", "Zstandard"),
    (_ZIP, "a zip archive"),
)
_NAMES = {"utf-8": "UTF-8", "utf-16": "UTF-16", "cp1252": "Windows-1252", "latin-1": "Latin-1"}
_STATED_SEPARATOR = re.compile(r'"?sep=(.)"?\r?\n')


def read_columns(
    path: Path, columns: Collection[str], *, separator: str | None = None, encoding: str | None = None
) -> dict[str, list[str]]:
    """The cells of the named columns of a table, as stripped text. Empty where there is none.

    Args:
        path: ends in ``.csv``, ``.tsv`` (tabs and no quotes) or ``.parquet``.
        columns: names of columns, which the table has.
        separator: what stands between columns. None means that it is detected.
        encoding: of the text. None means that it is detected.

    Raises:
        LabError: the file cannot be read as a table, lacks a column, or has cells that are no text, with the row.
    """
    ending = path.suffix.lower()
    if ending not in ENDINGS:
        what = f"is not a {', '.join(ENDINGS[:-1])} or {ENDINGS[-1]} file"
        raise LabError(Issue("unsupported", str(path), what, "save the table as one of these"))
    content = read_table_file(path)
    if ending == ".parquet":
        return _parquet(path, content, columns)
    quoted = ending == ".csv"
    names, rows = _text_rows(path, content, columns, separator=separator, encoding=encoding, quoted=quoted)
    _require(path, names, columns)
    return {name: [row[names.index(name)] for row in rows] for name in columns}


def text_frame(path: Path, content: bytes, columns: Collection[str]) -> "pl.DataFrame":
    """All named columns of a CSV or TSV file as stripped text. An empty cell is null.

    Args:
        path: of the file, for messages. ``.tsv`` has tabs.
        content: its bytes.
        columns: some that it may have, by which its separator is recognised.

    Raises:
        LabError: it is no text, has a row that is not as long as the header, or has two columns of a name.
    """
    import polars as pl  # late: corpora are registered here, and no mistake in a spec waits for frames

    names, rows = _text_rows(path, content, columns)
    named = [name for name in names if name]  # a frame's index has no name
    _require(path, names, named)
    cells = dict(zip(names, zip(*rows, strict=True), strict=True))
    return pl.DataFrame(
        {name: [cell or None for cell in cells[name]] for name in named}, dict.fromkeys(named, pl.String)
    )


def _text_rows(
    path: Path,
    content: bytes,
    columns: Collection[str],
    *,
    separator: str | None = None,
    encoding: str | None = None,
    quoted: bool = True,
) -> tuple[list[str], list[list[str]]]:
    """The header, and the rows as stripped cells."""
    text = _decoded(path, content, encoding)
    if stated := _STATED_SEPARATOR.match(text):  # as Excel writes it for itself
        text, separator = text[stated.end() :], separator or stated[1]
    chosen = separator or ("\t" if path.suffix.lower() == ".tsv" else _separator(path, text, columns))
    header, *rows = [(number, row) for number, row in _records(path, text, chosen, quoted=quoted) if row] or [(1, [])]
    names = [name.strip() for name in header[1]]
    for place, (line, row) in enumerate(rows, start=1):
        if len(row) != len(names):
            what = f"row {place} (line {line}) has {len(row)} cells, and the header has {len(names)} columns"
            remedy = f"put quotes around a text that holds {chosen!r}" if quoted else "remove tabs within a text"
            raise LabError(Issue("out-of-range", str(path), what, remedy))
    if not rows:
        raise LabError(
            Issue("out-of-range", str(path), "has no rows below its header", "write one row for each example")
        )
    return names, [[cell.strip() for cell in row] for _, row in rows]


def read_table_file(path: Path) -> bytes:
    """The bytes of a table. Of its rows nothing is read but their number, by its line ends or its footer.

    Args:
        path: of the file. ``.parquet`` has a footer.

    Raises:
        LabError: it cannot be read, has more rows than fit in memory, or is packed: gzip, bzip2, xz, Zstandard, or a
            zip archive such as a spreadsheet.
    """
    content = read_user_file(path, "table", LARGEST_TABLE)
    for mark, name in _PACKED:
        if content.startswith(mark):
            remedy = "unpack it, or save a spreadsheet as CSV" if mark == _ZIP else "unpack it"
            raise LabError(Issue("damaged", str(path), f"is {name}", remedy))
    rows = content.count(b"\n")
    if path.suffix.lower() == ".parquet":
        import polars as pl  # late: corpora are registered here, and no mistake in a spec waits for frames

        rows = 0
        with suppress(pl.exceptions.PolarsError, pl.exceptions.PanicException):  # its reader says so
            rows = pl.scan_parquet(io.BytesIO(content)).select(pl.len()).collect().item()
    refuse_many(rows, "rows", str(path), "keep every tenth step, or leave out rows")
    return content


def refuse_many(number: int, what: str, place: str, remedy: str) -> None:
    """Refuse more rows or numbers than fit in memory.

    Raises:
        LabError: there are too many.
    """
    if number > MOST_ROWS:
        raise LabError(Issue("too-large", place, f"has {number:,} {what}; at most {MOST_ROWS:,} are read", remedy))


def _parquet(path: Path, content: bytes, columns: Collection[str]) -> dict[str, list[str]]:
    import polars as pl  # late: corpora are registered here, and no mistake in a spec waits for frames

    nested = {pl.List: "lists", pl.Array: "lists", pl.Struct: "records", pl.Object: "objects", pl.Binary: "bytes"}
    try:
        schema = pl.read_parquet_schema(io.BytesIO(content))
        _require(path, list(schema), columns)
        for name in columns:
            held = next((words for kind, words in nested.items() if isinstance(schema[name], kind)), None)
            if held is not None:
                what = f"the column '{name}' holds {held}, which is no text and no label"
                raise LabError(Issue("damaged", str(path), what, "write one text or number in each of its cells"))
        frame = pl.read_parquet(io.BytesIO(content), columns=list(dict.fromkeys(columns)))
        texts = frame.select(pl.all().cast(pl.String))
        cells = {name: [(cell or "").strip() for cell in texts[name]] for name in columns}
        if frame.is_empty():
            raise LabError(Issue("damaged", str(path), "has no rows", "write one row for each example"))
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError) as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise LabError(
            Issue("unreadable", str(path), f"cannot be read as a Parquet table: {reason[:120]}", "write the file again")
        ) from error
    return cells


def _require(path: Path, names: Sequence[str], columns: Collection[str]) -> None:
    for column in columns:
        if column not in names:
            raise LabError(Issue("unknown-name", str(path), f"has no column '{column}'", nearest(column, names)))
        if list(names).count(column) > 1:
            raise LabError(Issue("duplicate", str(path), f"has two columns '{column}'", "rename one of them"))


def _decoded(path: Path, content: bytes, encoding: str | None) -> str:
    code = encoding or _encoding(path, content)
    mark = next((mark for mark, name in _MARKS if content.startswith(mark) and name == code), b"")
    codec = code
    if code == "utf-16" and not mark:  # the order of bytes: ASCII letters have their NUL in every second place
        codec = "utf-16-be" if content[:4096:2].count(0) > content[1:4096:2].count(0) else "utf-16-le"
    try:
        text = content.decode(codec).removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        what = f"is not {_NAMES[code]} (line {line}: {error.reason})"
        raise LabError(
            Issue("not-text", str(path), what, "name another encoding, or convert the file to UTF-8")
        ) from error
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise LabError(Issue("not-text", str(path), f"line {line} holds a NUL", "it is no text: write the table again"))
    return text


def _encoding(path: Path, content: bytes) -> str:
    for mark, name in _MARKS:
        if content.startswith(mark):
            return name
    if (sample := content[:4096]).count(0) * 3 > len(sample):  # of Western text every second byte is 0
        return "utf-16"
    for name in ("utf-8", "cp1252"):
        with suppress(UnicodeDecodeError):
            content.decode(name)
            return name
    what = "is neither UTF-8, UTF-16 nor Windows-1252"
    remedy = f"convert it to UTF-8, or name its encoding: {', '.join(get_args(Encoding))}"
    raise LabError(Issue("damaged", str(path), what, remedy))


def _separator(path: Path, text: str, columns: Collection[str]) -> str:
    """What stands between the columns.

    A separator by which the header has the columns asked for comes first, then one by which every row of a sample is as
    long as the header. A decimal comma in a table with semicolons makes no column of its own.
    """
    fitting = []
    for separator in SEPARATORS:
        rows: list[list[str]] = []
        with suppress(LabError):  # said when the table is read by the separator that its header has
            rows += (row for _, row in islice(_records(path, text, separator, quoted=True), _SAMPLE) if row)
        names = [name.strip() for name in rows[0]] if rows else []
        whole = sum(len(row) == len(names) for row in rows)
        if len(names) > 1 or (columns and set(columns) <= set(names)):
            fitting.append((set(columns) <= set(names), whole / max(len(rows), 1), len(names), separator))
    if not fitting:
        first = text.splitlines()[0][:60] if text.strip() else ""
        if not first:
            raise LabError(Issue("damaged", str(path), "is empty", "its first line names the columns"))
        what = f"has a single column, {first!r}"
        raise LabError(Issue("damaged", str(path), what, "columns stand apart by a comma, a semicolon, a tab or |"))
    return max(fitting)[3]


def _records(path: Path, text: str, separator: str, *, quoted: bool) -> Iterator[tuple[int, list[str]]]:
    """Each row with the number of the line where it ends. An empty line is an empty row."""
    csv.field_size_limit(_LONGEST_CELL)  # by default 128 KiB, less than some texts have
    lines = io.StringIO(text, newline="")
    reader = csv.reader(
        lines, delimiter=separator, quoting=csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE, strict=True
    )
    try:
        for row in reader:
            yield reader.line_num, row if len(row) > 1 or any(cell.strip() for cell in row) else []
    except csv.Error as error:
        what = f"line {reader.line_num} is no row of a table: {error}"
        remedy = "double a quote within a quoted text, and close each"
        raise LabError(Issue("out-of-range", str(path), what, remedy)) from error
