"""What ``lnlab data list`` and ``lnlab data fetch`` are made of."""

from dataclasses import replace

import pytest

from lnlab.corpora import financial_phrasebank, iwslt14, multi30k, toy_finance, toy_german_english, wmt14
from lnlab.corpora import listing as room
from lnlab.corpora.corpus import RemoteFile, corpora
from lnlab.corpora.listing import corpus_listings, fetch_corpus
from lnlab.corpora.vocabulary import bert_base_uncased
from lnlab.corpora.vocabulary.tokenizers import tokenizers
from lnlab.errors import CorpusError
from lnlab.keys import digest_bytes


def _offer(monkeypatch, registry, name, files):
    """Let these files of an entry be downloaded, for the time of a test."""
    entry = registry[name]
    monkeypatch.setitem(registry.entries, name, replace(entry, facts=replace(entry.facts, files=files)))


def by_name(roots):
    return {each.name: each for each in corpus_listings(roots)}


def test_every_named_corpus_is_listed_with_its_licence():
    found = by_name(())
    files = (iwslt14, multi30k, toy_german_english, wmt14, financial_phrasebank, toy_finance)
    assert set(found) >= {module.__name__.rpartition(".")[2] for module in (*files, bert_base_uncased)}
    assert "parallel_text" not in found
    assert all(each.licence and each.citation for each in found.values())
    assert (found["multi30k"].source, found["toy_german_english"].source) == (None, None)


def test_generated_absent_and_present_are_told_apart(root):
    found = by_name((root,))
    assert (found["toy_german_english"].state, found["toy_german_english"].size) == ("generated", None)
    assert (found["multi30k"].state, found["multi30k"].fetchable, found["multi30k"].folder) == ("absent", True, None)
    assert found["multi30k"].size == 637_044 + 568_929 + 24_681 + 21_650 + 22_890 + 21_077
    assert (found["iwslt14"].state, found["iwslt14"].fetchable, found["iwslt14"].size) == ("absent", False, None)


def test_a_present_corpus_says_where_it_lies_and_how_large_it_is_and_is_absent_without_one_file(root):
    (root / "iwslt14").mkdir()
    for name in iwslt14.PREPARED_FILES:
        (root / "iwslt14" / name).write_text("four")
    found = by_name((root,))["iwslt14"]
    assert (found.state, found.size, found.folder) == ("present", 24, str((root / "iwslt14").resolve()))
    (root / "iwslt14" / name).unlink()
    assert by_name((root,))["iwslt14"].state == "absent"


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "where", "folder", "fetchable", "size"),
    [
        ("multi30k", "multi30k_root", "multi30k", True, 637_044 + 568_929 + 24_681 + 21_650 + 22_890 + 21_077),
        ("financial_phrasebank", "phrasebank_root", "financial_phrasebank", False, 299_636 + 671_355),
        ("bert_base_uncased", "bert_root", "bert_base_uncased", True, bert_base_uncased.REMOTE.size),
    ],
)
def test_the_real_files_are_found(name, where, folder, fetchable, size, request):
    root = request.getfixturevalue(where)
    found = by_name((root,))[name]
    assert (found.state, found.fetchable, found.folder) == ("present", fetchable, str((root / folder).resolve()))
    assert found.size == size


def test_a_corpus_or_a_vocabulary_is_fetched_to_where_specs_find_it(server, root, monkeypatch):
    server.files["/file"] = b"[PAD]"
    remote = RemoteFile(server.url("file"), digest_bytes(b"[PAD]"), 5)
    monkeypatch.setattr(room, "user_folder", lambda: root / "own")
    offers = (tokenizers, bert_base_uncased.VOCABULARY_FILE), (corpora, "multi30k/train.de.gz")
    for registry, file in offers:
        name = file.partition("/")[0]
        _offer(monkeypatch, registry, name, {file: remote})
        assert by_name((root,))[name].state == "absent"
        assert fetch_corpus(name) == [root / "own" / file]
        assert fetch_corpus(name, root / "there") == [root / "there" / file]
        assert (root / "there" / file).read_bytes() == b"[PAD]"
    assert by_name((root / "own",))["bert_base_uncased"].state == "present"


@pytest.mark.parametrize("name", ["iwslt14", "wmt14", "financial_phrasebank"])
def test_what_cannot_be_fetched_says_where_it_is_to_be_had(name):
    source = by_name(())[name].source
    assert "https://" in source
    with pytest.raises(CorpusError, match="https://") as caught:
        fetch_corpus(name)
    assert source in str(caught.value)
    with pytest.raises(CorpusError, match="did you mean 'multi30k'"):
        fetch_corpus("multi30")
