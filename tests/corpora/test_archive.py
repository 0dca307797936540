"""Archives that are read in memory: what they hold, and everything that they must not hold."""

import gzip
import io
import tarfile
import zipfile
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lnlab.corpora.files import archive as room
from lnlab.corpora.files.archive import read_archive, read_content, read_zip
from lnlab.errors import CorpusError

WANTED = {"a.txt": "a", "b.txt": "b"}
FILES = {"de-en/a.txt": "eins", "de-en/more/b.txt": "zwei", "de-en/readme": "x" * 30_000}


@pytest.fixture
def written(tmp_path):
    def write(content: bytes):
        path = tmp_path / "de-en.tgz"
        path.write_bytes(content)
        return path

    return write


def member(name, *, kind=tarfile.REGTYPE, link="", content=b"", times=1) -> bytes:
    """An archive with one member of any kind, so many times."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as tar:
        for _ in range(times):
            info = tarfile.TarInfo(name)
            info.type, info.linkname, info.size = kind, link, len(content)
            tar.addfile(info, io.BytesIO(content))
    return made.getvalue()


def test_members_are_found_by_their_name_in_any_folder_and_nothing_is_written(written, archive, tmp_path):
    path = written(archive(FILES))
    found = read_archive(path, WANTED.get)
    assert {name: content.raw for name, content in found.items()} == {"a": b"eins", "b": b"zwei"}
    assert found["a"].where == f"{path}: a"
    assert [path.name for path in tmp_path.iterdir()] == ["de-en.tgz"]


def refused(path, match):
    with pytest.raises(CorpusError, match=match):
        read_archive(path, WANTED.get)


@pytest.mark.parametrize("name", ["../a.txt", "/etc/passwd", "de-en/../../a.txt", "..\\a.txt", "\\a.txt", "x/.."])
def test_a_path_that_leads_out_is_refused_wanted_or_not(written, name):
    refused(written(member(name)), "leads out of the archive")


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE])
def test_a_link_or_a_device_under_a_wanted_name_is_refused(written, kind):
    refused(written(member("a.txt", kind=kind, link="/etc/passwd")), "'a.txt' is a link, a device or a file with holes")


def test_a_file_with_holes_is_refused_before_they_are_filled(written):
    """GNU's sparse files say how large they are, and need not hold it."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz", format=tarfile.PAX_FORMAT) as tar:
        info = tarfile.TarInfo("a.txt")
        info.size = 512
        info.pax_headers = {"GNU.sparse.map": f"0,1,{1 << 40},1", "GNU.sparse.size": str(1 << 40)}
        tar.addfile(info, io.BytesIO(bytes(512)))
    refused(written(made.getvalue()), "file with holes, and no plain file")


def test_a_name_that_stands_twice_and_one_that_unfolds_without_end_are_refused(written, archive, monkeypatch):
    refused(written(member("a.txt", content=b"x", times=2)), "stands there twice")
    monkeypatch.setattr(room, "_LARGEST", 100_000)
    refused(written(archive({"de-en/other": bytes(200_000), **FILES})), "holds more than 100000 bytes")


def test_an_archive_that_is_cut_off_or_changed_is_never_half_read(written, archive):
    whole = archive(FILES)
    for kept in (0, 5, 100, -1, -5, -60):
        refused(written(whole[:kept]), r"\.tgz: is not a whole")
    refused(written(whole[:-8] + bytes(4) + whole[-4:]), r"not a whole \.tgz archive \(CRC")


@settings(max_examples=150)
@given(st.data())
def test_whatever_an_archive_holds_the_error_is_the_users(tmp_path_factory, data):
    """Bytes of the inner archive are changed, so that headers say anything."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as tar:
        for name in ("a.txt", "b.txt"):
            info = tarfile.TarInfo(name)
            info.size = 4
            tar.addfile(info, io.BytesIO(b"text"))
    raw = bytearray(made.getvalue()[: data.draw(st.integers(0, 2048))])
    for place, value in data.draw(st.lists(st.tuples(st.integers(0, 1600), st.integers(0, 255)), max_size=6)):
        raw[place % max(len(raw), 1) : place % max(len(raw), 1) + 1] = bytes([value])
    for start in range(0, len(raw) - 511, 512):
        if data.draw(st.booleans()):  # a right checksum, or else no header is read further
            block = bytearray(raw[start : start + 512])
            block[148:156] = b" " * 8
            block[148:156] = f"{sum(block):06o}\0 ".encode()
            raw[start : start + 512] = block
    path = tmp_path_factory.mktemp("fuzz") / "de-en.tgz"
    path.write_bytes(gzip.compress(bytes(raw), 1) if data.draw(st.booleans()) else bytes(raw))
    with suppress(CorpusError):
        assert set(read_archive(path, WANTED.get)) <= {"a", "b"}


@pytest.mark.parametrize("kind", ["file", "tgz", "zip"])
def test_as_many_bytes_as_the_limit_are_read_and_one_more_is_not(tmp_path, archive, monkeypatch, kind):
    path = tmp_path / "x"
    if kind == "file":
        content, read = b"12345", lambda: read_content(path).raw == b"12345"
    else:
        content = archive({"a.txt": "12345"})
        read = lambda: read_archive(path, WANTED.get)["a"].raw == b"12345"  # noqa: E731
    if kind == "zip":
        made = io.BytesIO()
        with zipfile.ZipFile(made, "w") as zipped:
            zipped.writestr("a.txt", "12")
            zipped.writestr("b.txt", "345")
        content = made.getvalue()
        read = lambda: {name: one.raw for name, one in read_zip(path, WANTED.get).items()} == {"a": b"12", "b": b"345"}  # noqa: E731
    path.write_bytes(content)
    size = len(gzip.decompress(content)) if kind == "tgz" else 5
    monkeypatch.setattr(room, "_LARGEST", size)
    assert read()
    monkeypatch.setattr(room, "_LARGEST", size - 1)
    with pytest.raises(CorpusError, match=f"more than {size - 1} bytes"):
        read()


def test_a_file_of_a_folder_must_be_there(tmp_path):
    with pytest.raises(CorpusError, match="cannot be read"):
        read_content(tmp_path / "none")
