"""Running text of any files, and tables of labelled sentences."""

import gzip

import polars as pl
import pytest

from lnlab.catalogue import REGISTRIES
from lnlab.corpora.files.lines import LARGEST_HELD
from lnlab.corpora.labelled import labelled
from lnlab.corpora.text import text_corpora
from lnlab.errors import CorpusError
from lnlab.registry import Flawed

assert REGISTRIES


def text(root, **parameters):
    return text_corpora.builder(text_corpora.resolve({"kind": "text"} | parameters))((root,))


def table(root, **parameters):
    return labelled.builder(labelled.resolve({"kind": "labelled_table"} | parameters))((root,))


def fingerprint(root, **choice):
    entry = text_corpora["text"]
    return entry.facts.fingerprint((root,), text_corpora.resolve({"kind": "text"} | choice))


def test_passages_keep_their_order_and_the_end_is_held_out(root):
    (root / "a.txt").write_text("".join(f"passage {k}\n\n" for k in range(12)))
    (root / "b.txt.gz").write_bytes(gzip.compress("".join(f"passage {k}\n" for k in range(12, 20)).encode()))
    corpus = text(root, files=["a.txt", "b.txt.gz"], held_out=0.1)
    numbers = {split: [int(line.split()[1]) for line in lines] for split, lines in corpus.splits.items()}
    assert numbers == {"train": list(range(16)), "validation": [16, 17], "test": [18, 19]}
    assert not corpus.printable


def test_files_of_a_split_are_the_split(root):
    for name in ("a", "v"):
        (root / f"{name}.txt").write_text(f"{name} one\n{name} two\n")
    corpus = text(root, files=["a.txt"], validation=["v.txt"], held_out=0)
    assert corpus.splits == {"train": ["a one", "a two"], "validation": ["v one", "v two"], "test": []}


def test_a_share_of_a_file_is_its_beginning_and_all_of_it_moves_no_key(root):
    for name in ("a", "b"):
        (root / f"{name}.txt").write_text("".join(f"{name} {k}\n" for k in range(10)))
    files = ["a.txt", "b.txt"]
    corpus = text(root, files=files, shares=[0.3, 1], held_out=0)
    assert corpus.splits["train"] == [*(f"a {k}" for k in range(3)), *(f"b {k}" for k in range(10))]
    plain, halved = ({"kind": "text", "files": files} | more for more in ({}, {"shares": [0.5, 1]}))
    keys = [text_corpora.key(text_corpora.resolve(choice), (root,)) for choice in (plain, halved)]
    assert len(set(keys)) == 2
    with pytest.raises(CorpusError) as refused:
        text(root, files=files, shares=[0.5])
    assert [issue.place or issue.where for issue in refused.value.issues] == ["task.corpus.shares"]


def test_a_changed_file_is_another_corpus(root):
    (root / "a.txt").write_text("one\n")
    before, key = text(root, files=["a.txt"]), fingerprint(root, files=["a.txt"])
    assert fingerprint(root, files=["a.txt"]) == key
    (root / "a.txt").write_text("two\n")
    assert text(root, files=["a.txt"]).digest != before.digest
    assert fingerprint(root, files=["a.txt"]) != key
    assert fingerprint(root, files=["a.txt", "none.txt"]) == "absent"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, r"'a.txt': there is no such file in any of .*; paths are relative to the spec's folder"),
        (b"\n \n", "a.txt: has no text; name a file with at least one line"),
        (b"good\nb\xe4d\n", "a.txt: line 2 is not UTF-8"),
        ("text".encode("utf-16"), "is not UTF-8"),
    ],
)
def test_what_is_wrong_with_a_file_is_one_line(root, content, message):
    if content is not None:
        (root / "a.txt").write_bytes(content)
    with pytest.raises(CorpusError, match=message):
        text(root, files=["a.txt"])
    with pytest.raises(CorpusError, match="leads out of"):
        text(root, files=["../../etc/passwd"])
    with pytest.raises(Flawed):
        text(root, files=[])


def test_a_corpus_that_no_memory_holds_is_refused_before_it_is_read(root):
    for name in ("a.txt", "b.txt"):
        with (root / name).open("wb") as file:
            file.truncate(LARGEST_HELD // 2 + 1)  # which takes no room on the disk
    with pytest.raises(CorpusError) as refused:
        fingerprint(root, files=["a.txt", "b.txt"])
    assert [(issue.code, issue.where) for issue in refused.value.issues] == [("too-large", str(root / "a.txt"))]


def test_a_table_of_any_format_is_the_same_corpus(root):
    rows = pl.DataFrame({"id": [1, 2, 3], "sentence": ["a b", 'he said "c"', "d, e"], "mood": ["up", "down", "up"]})
    rows.write_csv(root / "t.csv")
    rows.write_parquet(root / "t.parquet")
    lines = "\n".join("\t".join(map(str, row)) for row in [rows.columns, *rows.rows()])
    (root / "t.tsv").write_text(lines + "\n")
    corpora = [table(root, file=f"t.{end}", text="sentence", label="mood") for end in ("csv", "parquet", "tsv")]
    assert len({corpus.digest for corpus in corpora}) == 1
    assert (corpora[0].names, corpora[0].labels) == (("down", "up"), [1, 0, 1])
    assert corpora[0].sentences == ["a b", 'he said "c"', "d, e"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.csv", "text,labels\na,b\n", r"has no column 'label'; did you mean 'labels'"),
        ("t.csv", "text,label\na,b\n,c\n", "row 2 has no text;"),
        ("t.csv", "text,label\na,b\nc,b\n", "has 2 rows and 1 label;"),
        ("t.csv", "text,label\n", "has no rows below its header;"),
        ("t.tsv", "text\tlabel\n\n", "has no rows below its header;"),
        ("t.csv", "", "is empty; its first line names the columns"),
        ("t.parquet", "no parquet", "cannot be read as a Parquet table"),
        ("t.xlsx", "x", "is not a .csv, .tsv or .parquet file; save the table as one of these"),
    ],
)
def test_what_is_wrong_with_a_table_is_one_line(root, name, content, message):
    (root / name).write_text(content)
    with pytest.raises(CorpusError, match=message) as caught:
        table(root, file=name)
    assert "\n" not in str(caught.value)


def test_a_number_is_a_label_as_it_is_written(root):
    (root / "t.csv").write_text("text,label\none,01\ntwo,1\n")
    assert table(root, file="t.csv").names == ("01", "1")
