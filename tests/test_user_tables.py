"""Tables as spreadsheets and programs write them: read as they are meant, or refused with the row."""

import bz2
import csv
import datetime
import gzip
import io
import lzma
import zipfile

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lnlab.errors import LabError
from lnlab.outside.foreign_runs.readers import read_tables
from lnlab.user_tables import read_columns

ROWS = [("a good day", "pos"), ("ein schöner Tag, ja", "neg"), ('said "no"; twice', "pos"), ("x|y\tz", "neg")]


def written(separator=",", encoding="utf-8", rows=ROWS, header=("text", "label"), newline="\r\n"):
    file = io.StringIO()
    writer = csv.writer(file, delimiter=separator, lineterminator=newline)
    writer.writerows([header, *rows])
    return file.getvalue().encode(encoding)


def zipped(content):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("t.csv", content)
    return file.getvalue()


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252", "latin-1", "utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_every_dialect_and_encoding_is_recognised(tmp_path, separator, encoding, newline):
    path = tmp_path / "t.csv"
    path.write_bytes(written(separator, encoding, newline=newline))
    table = read_columns(path, ("text", "label"))
    assert list(zip(table["text"], table["label"], strict=True)) == ROWS


@given(
    st.lists(st.tuples(st.text(min_size=1), st.text(min_size=1)), min_size=1, max_size=5),
    st.sampled_from([",", ";", "\t", "|"]),
)
def test_any_text_that_the_csv_module_writes_is_read_again(tmp_path_factory, rows, separator):
    rows = [tuple(cell.replace("\0", "").encode("utf-8", "ignore").decode() for cell in row) for row in rows]
    path = tmp_path_factory.mktemp("t") / "t.csv"
    path.write_bytes(written(separator, rows=rows))
    table = read_columns(path, ("text", "label"))
    assert list(zip(table["text"], table["label"], strict=True)) == [
        tuple(cell.strip() for cell in row) for row in rows
    ]


def test_a_decimal_comma_is_no_separator_and_what_is_given_is_not_guessed(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("text;score;label\na;0,5;x\nb;1,25;y\n")
    table = read_columns(path, ("text", "score", "label"))
    assert table == {"text": ["a", "b"], "score": ["0,5", "1,25"], "label": ["x", "y"]}
    path = tmp_path / "t.csv"
    path.write_bytes("a,b;label\nõ,x;1\n".encode("latin-1"))
    assert read_columns(path, ("a,b", "label"), separator=";", encoding="latin-1")["a,b"] == ["õ,x"]
    with pytest.raises(LabError, match=r"is not UTF-8 \(line 2: .*\); name another encoding, or convert the file"):
        read_columns(path, ("label",), encoding="utf-8")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "t.csv: is empty; its first line names the columns"),
        (b"text\na\n", r"t.csv: has a single column, 'text'; columns stand apart by a comma, a semicolon"),
        (b"text,label\na,b\nc,d,e\n", r"row 2 \(line 3\) has 3 cells, and the header has 2 columns; put quotes around"),
        (b"text,label\na,b\nc\n", r"row 2 \(line 3\) has 1 cells"),
        (b'text,label\n"a,b\n', "line 2 is no row of a table: unexpected end of data; double a quote"),
        (b'text,label\n"a"b,c\n', "line 2 is no row of a table"),
        (b"txt,label\na,b\n", "has no column 'text'; did you mean 'txt'"),
        (b"text,text,label\na,b,c\n", "has two columns 'text'; rename one of them"),
        (b"text,label\na\0,b\n", "line 2 holds a NUL"),
        (b"text,label\n\x81\x8d,b\n", "is neither UTF-8, UTF-16 nor Windows-1252"),
        (b"\xff\xfet\0e\0x", "is not UTF-16"),
    ],
)
def test_what_is_no_table_is_refused_with_its_row(tmp_path, content, message):
    (tmp_path / "t.csv").write_bytes(content)
    with pytest.raises(LabError, match=message):
        read_columns(tmp_path / "t.csv", ("text", "label"))


def test_a_cell_of_any_length_is_read_and_the_name_of_a_file_is_no_pattern(tmp_path):
    (tmp_path / "t.csv").write_text(f"text,label\n{'a' * 1_000_000},x\n")
    assert len(read_columns(tmp_path / "t.csv", ("text", "label"))["text"][0]) == 1_000_000
    for name, word in (("a1", "right"), ("a[1]", "own")):
        pl.DataFrame({"text": [word], "label": ["x"]}).write_parquet(tmp_path / f"{name}.parquet")
    assert read_columns(tmp_path / "a[1].parquet", ("text",))["text"] == ["own"]


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ([[0], [1]], "holds lists"),
        ([{"a": 1}, {"a": 2}], "holds records"),
        ([b"a", b"b"], "holds bytes"),
        ([[[0]], [[1]]], "holds lists"),
        (pl.Series([[1, 2], [3, 4]], dtype=pl.Array(pl.Int64, 2)), "holds lists"),
    ],
)
def test_a_nested_column_is_no_label(tmp_path, values, says):
    pl.DataFrame({"text": ["a", "b"], "label": values}).write_parquet(tmp_path / "t.parquet")
    with pytest.raises(LabError, match=f"the column 'label' {says}, which is no text and no label; write one"):
        read_columns(tmp_path / "t.parquet", ("text", "label"))


@pytest.mark.parametrize(
    ("values", "read"),
    [
        ([datetime.date(2024, 1, 2), datetime.date(2025, 1, 1)], ["2024-01-02", "2025-01-01"]),
        ([1, 2], ["1", "2"]),
        ([0.5, 2.0], ["0.5", "2.0"]),
        ([True, None], ["true", ""]),
        (pl.Series(["a", "b"], dtype=pl.Categorical), ["a", "b"]),
        (pl.Series([None, None], dtype=pl.Null), ["", ""]),
    ],
)
def test_plain_values_of_any_type_are_labels(tmp_path, values, read):
    pl.DataFrame({"text": ["a", "b"], "label": values}).write_parquet(tmp_path / "t.parquet")
    assert read_columns(tmp_path / "t.parquet", ("text", "label"))["label"] == read


def test_a_duration_or_a_damaged_file_ends_in_a_message(tmp_path):
    frame = pl.DataFrame({"text": ["a"], "label": [datetime.timedelta(1)]})
    frame.write_parquet(tmp_path / "d.parquet")
    raw = (tmp_path / "d.parquet").read_bytes()
    for content in (raw, b"", b"PAR1", raw[:-9], raw[:40] + bytes(20) + raw[60:]):
        (tmp_path / "x.parquet").write_bytes(content)
        with pytest.raises(LabError, match="cannot be read as a Parquet table"):
            read_columns(tmp_path / "x.parquet", ("text", "label"))


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet"])
@pytest.mark.parametrize(
    ("pack", "name"),
    [(gzip.compress, "gzip"), (bz2.compress, "bzip2"), (lzma.compress, "xz"), (zipped, "a zip archive")],
)
def test_a_packed_table_is_named_as_what_it_is(tmp_path, ending, pack, name):
    path = tmp_path / f"t.{ending}"
    path.write_bytes(pack(written()))
    for read in (lambda: read_columns(path, ("text", "label")), lambda: read_tables([path], ("text",))):
        with pytest.raises(LabError, match=f"is {name}; unpack it"):
            read()


@pytest.mark.parametrize("content", ["text,label\n", "text;label\n", "text\tlabel\n\n", "\ufefftext,label"])
def test_a_header_alone_is_no_table(tmp_path, content):
    path = tmp_path / "t.csv"
    path.write_text(content)
    for read in (lambda: read_columns(path, ("text", "label")), lambda: read_tables([path], ("text", "label"))):
        with pytest.raises(LabError, match="has no rows below its header"):
            read()


def test_a_parquet_table_without_rows_is_refused(tmp_path):
    path = tmp_path / "t.parquet"
    pl.DataFrame({"text": [], "label": []}, schema={"text": pl.String, "label": pl.String}).write_parquet(path)
    with pytest.raises(LabError, match="has no rows;"):
        read_columns(path, ("text", "label"))
