"""Financial PhraseBank: counted in the published files, found as files or in the zip, and refused when damaged."""

import math
import zipfile
from collections import Counter

import pytest

from lnlab.corpora import financial_phrasebank as module
from lnlab.corpora.files import archive as room
from lnlab.corpora.files.archive import read_zip
from lnlab.corpora.financial_phrasebank import AGREEMENT_FILES, LABELS, SUMS, financial_phrasebank
from lnlab.corpora.labelled import labelled
from lnlab.errors import CorpusError
from lnlab.keys import digest_bytes

TEXT = "Profit rose .@positive\r\nProfit fell .@negative\r\nIt makes paper .@neutral\r\n".encode("latin-1")
ROWS = ["Profit rose .", "Profit fell .", "It makes paper ."]


@pytest.fixture
def written(root):
    """Puts a file into the folder ``financial_phrasebank`` of the root."""

    def write(content: bytes, agreement: str = "75"):
        (root / "financial_phrasebank").mkdir(exist_ok=True)
        (root / "financial_phrasebank" / AGREEMENT_FILES[agreement]).write_bytes(content)

    return write


def zipped(path, members, kind=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(path, "w", kind) as made:
        for name, content in members.items():
            made.writestr(name, content)
    return path


@pytest.mark.data
def test_what_was_counted_in_the_published_file(phrasebank_root):
    """2,264 lines of which 2,259 differ; 1,391 / 570 / 303; a majority of .6144 and an entropy of .9157 nats."""
    corpus = financial_phrasebank((phrasebank_root,))
    counts = Counter(corpus.names[label] for label in corpus.labels)
    assert counts == {"neutral": 1_391, "positive": 570, "negative": 303}
    assert len(set(corpus.sentences)) == 2_259
    assert counts["neutral"] / 2_264 == pytest.approx(0.6144, abs=5e-5)
    assert -sum(n / 2_264 * math.log(n / 2_264) for n in counts.values()) == pytest.approx(0.9157, abs=5e-5)
    lengths = sorted(len(sentence.split()) for sentence in corpus.sentences)
    assert (round(sum(lengths) / 2_264, 1), lengths[int(0.95 * 2_264)], lengths[-1]) == (22.4, 42, 81)
    assert not corpus.printable
    assert "ñ" in "".join(corpus.sentences)


@pytest.mark.data
def test_half_of_the_annotators_agree_on_more(phrasebank_root):
    corpus = financial_phrasebank((phrasebank_root,), agreement="50")
    counts = Counter(corpus.names[label] for label in corpus.labels)
    assert counts == {"neutral": 2_879, "positive": 1_363, "negative": 604}
    assert corpus.digest != financial_phrasebank((phrasebank_root,)).digest


@pytest.mark.data
def test_a_published_file_that_was_changed_is_refused(phrasebank_root, root, written):
    published = phrasebank_root / "financial_phrasebank"
    text = (published / AGREEMENT_FILES["all"]).read_bytes()
    for content, said in (
        (text.replace(b"\r\n", b"\n"), "the SHA-256 of this file should be 5fb370b3"),
        (text[:-2], "the SHA-256"),
        (text.decode("latin-1").encode(), r"is not Latin-1 \(it is UTF-8\)"),
        (text[: len(text) // 2], "has no label"),
    ):
        written(content, "all")
        with pytest.raises(CorpusError, match=said):
            financial_phrasebank((root,))
    for agreement, sha256 in SUMS.items():
        assert digest_bytes((published / AGREEMENT_FILES[agreement]).read_bytes()) == sha256


@pytest.mark.data
def test_the_zip_gives_what_the_file_gives(phrasebank_root, root):
    inner = f"FinancialPhraseBank-v1.0/{AGREEMENT_FILES['all']}"
    text = (phrasebank_root / "financial_phrasebank" / AGREEMENT_FILES["all"]).read_bytes()
    members = {f"__MACOSX/FinancialPhraseBank-v1.0/._{AGREEMENT_FILES['all']}": b"\0", inner: text}
    zipped(root / "FinancialPhraseBank-v1.0.zip", members)
    assert financial_phrasebank((root,)) == financial_phrasebank((phrasebank_root,))


@pytest.mark.parametrize("folder", module._FOLDERS)
def test_a_folder_by_either_name_is_found_and_a_changed_file_read_anew(root, folder):
    (root / folder).mkdir(parents=True)
    for times in (1, 2):
        (root / folder / AGREEMENT_FILES["66"]).write_bytes(TEXT * times)
        corpus = financial_phrasebank((root,), agreement="66")
        assert list(corpus.sentences) == ROWS * times
        assert [corpus.names[i] for i in corpus.labels] == [*LABELS[::-2], "neutral"] * times


@pytest.mark.parametrize("place", module._ARCHIVES)
def test_the_zip_is_found_by_any_name(root, place, tmp_path):
    (root / place).parent.mkdir(exist_ok=True)
    zipped(root / place, {f"FinancialPhraseBank-v1.0/{AGREEMENT_FILES['75']}": TEXT})
    assert financial_phrasebank((root,), agreement="75").sentences == ROWS
    choice = labelled.resolve({"kind": "financial_phrasebank", "agreement": "75"})
    (tmp_path / "financial_phrasebank").mkdir()
    (tmp_path / "financial_phrasebank" / AGREEMENT_FILES["75"]).write_bytes(TEXT)
    assert labelled.key(choice, (root,)) == labelled.key(choice, (tmp_path,)), "the key of the file"


def test_a_truncated_zip_is_damaged_wherever_it_ends(root):
    path = zipped(root / "FinancialPhraseBank-v1.0.zip", {AGREEMENT_FILES["75"]: TEXT * 20})
    whole = path.read_bytes()
    for end in range(0, len(whole), 7):
        path.write_bytes(whole[:end])
        with pytest.raises(CorpusError, match=r"not a whole \.zip"):
            financial_phrasebank((root,), agreement="75")


def test_members_that_are_damaged_lead_out_stand_twice_or_are_too_large_are_refused(root, monkeypatch):
    path = zipped(root / "x.zip", {"a": TEXT * 50}, zipfile.ZIP_STORED)
    path.write_bytes(path.read_bytes().replace(b"makes paper", b"makes steel", 1))
    with pytest.raises(CorpusError, match="CRC"):
        read_zip(path, lambda name: name)
    for name in ("../a.txt", "/a.txt", "b/../../a.txt"):
        with pytest.raises(CorpusError, match="leads out"):
            read_zip(zipped(root / "x.zip", {name: b"x"}), {"a.txt": "a"}.get)
    path = zipped(root / "x.zip", {"one/a.txt": b"x" * 60, "two/a.txt": b"y"})
    with pytest.raises(CorpusError, match="stands there twice"):
        read_zip(path, {"a.txt": "a"}.get)
    monkeypatch.setattr(room, "_LARGEST", 50)
    with pytest.raises(CorpusError, match="more than 50 bytes"):
        read_zip(path, {"a.txt": "a"}.get)


def test_absent_or_in_a_zip_of_something_else_it_says_what_it_lacks(root, golden):
    with golden.raises(CorpusError):
        financial_phrasebank((root,))
    zipped(root / "FinancialPhraseBank-v1.0.zip", {"README.txt": b"see the paper"})
    with golden.raises(CorpusError):
        financial_phrasebank((root,), agreement="75")


def test_keys_hold_the_pinned_checksum_or_the_content(root, written):
    def key(agreement):
        return labelled.key(labelled.resolve({"kind": "financial_phrasebank", "agreement": agreement}), (root,))

    before = {agreement: key(agreement) for agreement in AGREEMENT_FILES}
    for agreement in AGREEMENT_FILES:
        written(TEXT, agreement)
    assert {
        agreement for agreement in AGREEMENT_FILES if key(agreement) != before[agreement]
    } == AGREEMENT_FILES.keys() - SUMS.keys()
    inputs = labelled["financial_phrasebank"].facts.inputs
    assert inputs((root,), {"agreement": "all"}) == []
    assert [path.name for path in inputs((root,), {"agreement": "75"})] == [AGREEMENT_FILES["75"]]
