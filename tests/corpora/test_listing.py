"""What ``lnlab data list`` and ``lnlab data fetch`` are made of."""

from dataclasses import replace

import pytest

from lnlab.corpora import (
    financial_phrasebank,
    iwslt14,
    multi30k,
    parallel_text,
    ted_dev,
    toy_finance,
    toy_german_english,
    wmt14,
)
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
    modules = (
        iwslt14,
        multi30k,
        ted_dev,
        toy_german_english,
        wmt14,
        financial_phrasebank,
        toy_finance,
        bert_base_uncased,
    )
    assert set(found) >= {module.__name__.rpartition(".")[2] for module in modules}
    assert parallel_text.__name__.rpartition(".")[2] not in found
    assert all(each.licence and each.citation for each in found.values())


def test_generated_absent_and_present_are_told_apart(root):
    found = by_name((root,))
    assert (found["toy_german_english"].state, found["toy_german_english"].size) == ("generated", None)
    assert (found["multi30k"].state, found["multi30k"].fetchable, found["multi30k"].folder) == ("absent", True, None)
    assert found["multi30k"].size == 637_044 + 568_929 + 24_681 + 21_650 + 22_890 + 21_077
    assert (found["iwslt14"].state, found["iwslt14"].fetchable, found["iwslt14"].size) == ("absent", False, None)


def test_a_present_corpus_says_where_it_lies_and_how_large_it_is(root):
    (root / "iwslt14").mkdir()
    for name in iwslt14.PREPARED_FILES:
        (root / "iwslt14" / name).write_text("four")
    found = by_name((root,))["iwslt14"]
    assert (found.state, found.size) == ("present", 24)
    assert found.folder == str((root / "iwslt14").resolve())


@pytest.mark.data
def test_the_real_corpus_is_found(multi30k_root):
    found = by_name((multi30k_root,))["multi30k"]
    assert found.state == "present"
    assert found.folder == str((multi30k_root / "multi30k").resolve())


@pytest.mark.data
def test_the_real_test_sets_of_ted_are_found(ted_root):
    found = by_name((ted_root,))["ted_dev"]
    assert (found.state, found.fetchable) == ("present", False)
    assert found.folder == str((ted_root / "iwslt_ted").resolve())
    assert found.size == sum((ted_root / "iwslt_ted" / name).stat().st_size for name in ted_dev.TED_DEV_FILES)


@pytest.mark.data
def test_the_real_phrasebank_is_found_and_says_to_look_at_its_licence(phrasebank_root):
    found = by_name((phrasebank_root,))["financial_phrasebank"]
    assert (found.state, found.fetchable) == ("present", False)
    assert found.licence == "CC BY-NC-SA 3.0 (check before redistributing)"
    assert found.size == 299_636 + 671_355


@pytest.mark.data
def test_the_real_vocabulary_of_bert_is_found_with_its_size(bert_root):
    found = by_name((bert_root,))["bert_base_uncased"]
    assert (found.state, found.fetchable, found.size) == ("present", True, bert_base_uncased.REMOTE.size)


def test_a_vocabulary_is_fetched_like_a_corpus(server, root, monkeypatch):
    remote = RemoteFile(server.url("vocab.txt"), digest_bytes(b"[PAD]"), 5)
    server.files["/vocab.txt"] = b"[PAD]"
    _offer(monkeypatch, tokenizers, "bert_base_uncased", {bert_base_uncased.VOCABULARY_FILE: remote})
    assert by_name((root,))["bert_base_uncased"].state == "absent"
    assert fetch_corpus("bert_base_uncased", root) == [root / "bert_base_uncased/vocab.txt"]
    assert by_name((root,))["bert_base_uncased"].state == "present"


@pytest.mark.parametrize("name", ["iwslt14", "ted_dev", "wmt14", "financial_phrasebank"])
def test_what_cannot_be_fetched_says_where_it_is_to_be_had(name):
    source = by_name(())[name].source
    assert "https://" in source
    with pytest.raises(CorpusError, match="cannot be fetched") as caught:
        fetch_corpus(name)
    assert source in str(caught.value)


def test_what_can_be_fetched_or_is_generated_has_no_other_source():
    found = by_name(())
    assert (found["multi30k"].source, found["toy_german_english"].source) == (None, None)


def test_a_corpus_with_one_file_missing_is_absent(root):
    (root / "multi30k").mkdir()
    for name in list(multi30k.FILES)[1:]:
        (root / name).write_text("x")
    assert by_name((root,))["multi30k"].state == "absent"


def test_fetching_puts_files_where_specs_find_them(server, root, monkeypatch):
    server.files["/train.de.gz"] = b"text"
    files = {"multi30k/train.de.gz": RemoteFile(server.url("train.de.gz"), digest_bytes(b"text"), 4)}
    _offer(monkeypatch, corpora, "multi30k", files)
    monkeypatch.setattr(room, "user_folder", lambda: root / "own")
    assert fetch_corpus("multi30k") == [root / "own/multi30k/train.de.gz"]
    assert fetch_corpus("multi30k", root / "there") == [root / "there/multi30k/train.de.gz"]
    assert (root / "there/multi30k/train.de.gz").read_bytes() == b"text"


@pytest.mark.parametrize(
    ("name", "what"),
    [("multi30", "there is no corpus of this name; did you mean 'multi30k'"), ("iwslt14", "cannot be fetched")],
)
def test_what_cannot_be_fetched_says_so(name, what):
    with pytest.raises(CorpusError, match=what):
        fetch_corpus(name)
