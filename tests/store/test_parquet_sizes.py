"""What a Parquet file unfolds to, against what was put in; and files that say something else."""

import io
import random

import polars as pl
import pytest

from lnlab.store.parquet_sizes import Unsized, parquet_sizes


def encode(frame, **options):
    buffer = io.BytesIO()
    frame.write_parquet(buffer, **options)
    return buffer.getvalue()


@pytest.mark.parametrize("compression", ["zstd", "gzip", "snappy", "lz4", "uncompressed"])
@pytest.mark.parametrize("row_group", [None, 1_000])
def test_sizes_are_those_of_the_rows_however_they_are_compressed(compression, row_group):
    """Random numbers have no shorter encoding, so the pages hold eight bytes a number and little else."""
    rows = 30_000
    frame = pl.DataFrame({"a": [random.Random(n).random() for n in range(rows)], "b": pl.arange(rows, eager=True)})
    sizes = parquet_sizes(encode(frame, compression=compression, row_group_size=row_group))
    assert sizes.rows == rows
    assert sizes.values <= (row_group or rows)
    assert 8 * rows < sizes.unfolded < 20 * rows


@pytest.mark.parametrize("compression", ["zstd", "gzip"])
def test_a_bomb_is_told_without_unfolding_it(compression):
    bomb = encode(pl.DataFrame({"text": ["x" * 100_000_000] * 3}), compression=compression)
    assert len(bomb) < 2_000_000
    assert parquet_sizes(bomb).unfolded > 100_000_000


def test_no_rows_and_no_columns_have_sizes():
    assert parquet_sizes(encode(pl.DataFrame(schema={"a": pl.Int64}))).rows == 0
    assert parquet_sizes(encode(pl.DataFrame())).unfolded == 0


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"PAR1",
        b"PAR1PAR1",
        b"PAR1" + b"\x00" * 4 + b"PAR1",
        b"PAR1" + b"\xff" * 4 + b"PAR1",
        b"PAR1" + b"\x1c" * 60 + (60).to_bytes(4, "little") + b"PAR1",  # a struct in a struct in a struct ...
        b"PAR1" + b"\x49\xfc\xff\xff\xff\xff\xff\xff\xff\x7f" + (10).to_bytes(4, "little") + b"PAR1",
        b"PAR1" + b"\x16" + b"\xff" * 30 + (31).to_bytes(4, "little") + b"PAR1",
    ],
)
def test_what_is_no_parquet_file_is_refused(content):
    with pytest.raises(Unsized):
        parquet_sizes(content)


def test_whatever_byte_is_changed_or_cut_it_answers_or_refuses():
    content = encode(pl.DataFrame({"a": [1.0, 2.0, None], "b": ["x", "y", "z"]}))
    chance = random.Random(3)
    refused = 0
    for _ in range(2_000):
        changed = bytearray(content)
        changed[chance.randrange(len(content))] = chance.randrange(256)
        try:
            end = chance.choice((len(content), chance.randrange(len(content))))
            parquet_sizes(bytes(changed[:end]))
        except Unsized:
            refused += 1
    assert refused > 500
