"""WordPiece against a reading of BERT's paper written here, and BERT's own vocabulary against its published tokens."""

import os
import subprocess
import sys
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lnlab.corpora.financial_phrasebank import financial_phrasebank
from lnlab.corpora.toy_finance import toy_finance
from lnlab.corpora.vocabulary.bert_base_uncased import ENTRIES, VOCABULARY_FILE, bert_base_uncased
from lnlab.corpora.vocabulary.tokenizers import BOS, EOS, PAD, SPECIAL, UNK, learn_tokenizer, tokenizers
from lnlab.corpora.vocabulary.wordpiece import WordPieces, wordpiece
from lnlab.errors import CorpusError
from lnlab.keys import digest

SENTENCES = list(toy_finance((), sentences=600).sentences)

# One digest for each version of the entry: when the tokens change, its version rises and a line is added.
TOKENS = {1: "aae903de60e95b42411195fe374b8122125fe974ccd8d50db214b9342143b7be"}


@pytest.fixture(scope="module")
def trained():
    return wordpiece(SENTENCES, 500)


def basic(text):
    """BERT's ``BasicTokenizer``: words in lower case without accents, every mark of punctuation alone."""
    plain = "".join(c for c in unicodedata.normalize("NFD", text.lower()) if unicodedata.category(c) != "Mn")
    marks = "".join(f" {c} " if is_mark(c) else c for c in plain)
    return marks.split()


def is_mark(c):
    ascii_mark = ord(c) < 128 and c.isprintable() and not c.isalnum() and c != " "
    return ascii_mark or unicodedata.category(c).startswith("P")


def greedy(word, words, unknown):
    """BERT's ``WordpieceTokenizer``: the longest piece first."""
    found, start = [], 0
    while start < len(word):
        pieces = (("##" if start else "") + word[start:end] for end in range(len(word), start, -1))
        piece = next((piece for piece in pieces if piece in words), None)
        if piece is None or len(word) > 100:
            return [unknown]
        found.append(words[piece])
        start += len(piece.removeprefix("##")) if start else len(piece)
    return found


def read(text, words, unknown):
    return [token for word in basic(text) for token in greedy(word, words, unknown)]


# --- reading


def test_the_examples_of_berts_own_tests():
    """``tokenization_test.py`` of google-research/bert: FullTokenizer and WordpieceTokenizer."""
    pieces = ["[UNK]", "[CLS]", "[SEP]", "want", "##want", "##ed", "wa", "un", "runn", "##ing", ","]
    words = {piece: token for token, piece in enumerate(pieces)}
    tokenizer = WordPieces(words, ("[UNK]", "[CLS]", "[SEP]"), "[UNK]", (1, 2), lowercase=True)
    assert tokenizer.encode(["UNwant\u00e9d,running"]) == [[7, 4, 5, 10, 8, 9]]
    assert tokenizer.encode(["unwanted running"]) == [[7, 4, 5, 8, 9]]
    assert tokenizer.encode(["unwantedX running"]) == [[0, 8, 9]]
    assert tokenizer.encode([""]) == [[]]


def test_a_learned_vocabulary_is_read_greedily(trained):
    texts = [*SENTENCES[:200], "Unseenwords, like Öljynjalostamo-42%!", "x" * 101, "x" * 100, "ÅÄÖ"]
    assert trained.encode(texts) == [read(text, trained.words, UNK) for text in texts]


ALPHABET = "abcdefgz0159 .,'-%/()äÖéñ$\t"


@given(st.text(ALPHABET, max_size=30))
@settings(max_examples=200)
def test_any_text_is_read_greedily(text):
    tokenizer = _kept()
    assert tokenizer.encode([text]) == [read(text, tokenizer.words, UNK)]


def _kept(made=[]):  # noqa: B006 - one tokenizer for all examples
    if not made:
        made.append(wordpiece(["abc def 0159 , . ' - % abd abc ggg/(z) fed cab"], 60))
    return made[0]


def test_long_words_are_unknown_as_a_whole(trained):
    assert trained.encode(["1" * 101]) == [[UNK]]
    assert UNK not in trained.encode(["1" * 100])[0]


# --- learning


def test_the_tokens_are_those_of_its_version(trained):
    assert digest([trained.words, trained.encode(SENTENCES)]) == TOKENS[tokenizers["wordpiece"].version]


def test_special_tokens_come_first_and_the_marks_are_among_them(trained):
    assert [trained.words[word] for word in SPECIAL] == [PAD, BOS, EOS, UNK] == [0, 1, 2, 3]
    assert trained.marks == (BOS, EOS)


def test_the_declared_vocabulary_is_used_whole_and_never_exceeded(trained):
    assert sorted(trained.words.values()) == list(range(500))
    assert UNK not in {token for row in trained.encode(SENTENCES) for token in row}
    assert trained.decode(trained.encode(["Net sales rose ."])[0]) == "net sales rose ."


@pytest.mark.parametrize("size", [16, 21, 40, 100])
def test_a_vocabulary_smaller_than_the_alphabet_is_still_a_maximum(size):
    small = wordpiece(SENTENCES, size)
    tokens = {token for row in small.encode(SENTENCES) for token in row}
    assert len(small.words) <= size
    assert max(tokens) < size
    assert PAD not in tokens
    assert (UNK in tokens) == (size < 100)


def test_the_most_frequent_pair_is_merged_first():
    """Counted by hand: a and ##b stand side by side three times, ##b and ##c twice; with abc next."""
    letters = {*"abcx", *(f"##{c}" for c in "abcx")}
    assert set(wordpiece(["abc abc ab x"], 12).words) == {*SPECIAL, *letters}
    assert set(wordpiece(["abc abc ab x"], 13).words) == {*SPECIAL, *letters, "ab"}
    assert set(wordpiece(["abc abc ab x"], 14).words) == {*SPECIAL, *letters, "ab", "abc"}


def test_case_and_accents_are_kept_where_a_spec_says_so():
    cased = wordpiece(["Öl öl Öl", "Ol"], 60, lowercase=False)
    assert len({tuple(row) for row in cased.encode(["Öl", "öl", "Ol"])}) == 3
    lower = wordpiece(["Öl öl Öl", "Ol"], 60)
    assert len({tuple(row) for row in lower.encode(["Öl", "öl", "Ol"])}) == 1


def test_a_text_cannot_smuggle_in_special_tokens(trained):
    for text in ("<pad>", "a <eos> b", "<bos><unk>"):
        [tokens] = trained.encode([text])
        assert not {PAD, BOS, EOS} & set(tokens)


PROGRAM = """
from lnlab.corpora.vocabulary.wordpiece import wordpiece
from lnlab.corpora.toy_finance import toy_finance
from lnlab.keys import digest
texts = toy_finance((), sentences=600).sentences
print(digest([[each.words, each.encode(texts)] for each in (wordpiece(texts, size) for size in (18, 45, 500))]))
"""


def test_every_process_and_number_of_threads_learns_the_same():
    """Also where the alphabet is cut off among equally frequent letters."""
    found = set()
    for seed, parallel, threads in (("0", "false", "1"), ("1", "true", "4")):
        environment = os.environ | {
            "PYTHONHASHSEED": seed,
            "TOKENIZERS_PARALLELISM": parallel,
            "RAYON_NUM_THREADS": threads,
        }
        run = subprocess.run(
            [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True
        )
        found.add(run.stdout.strip())
    assert len(found) == 1


# --- BERT's own vocabulary


@pytest.fixture
def bert(bert_root):
    return learn_tokenizer(bert_base_uncased, [], ENTRIES, (bert_root,))


@pytest.mark.data
def test_bert_has_its_published_entries_and_marks(bert):
    assert len(bert.words) == ENTRIES == 30_522
    places = {"[PAD]": 0, "[UNK]": 100, "[CLS]": 101, "[SEP]": 102, "[MASK]": 103, "the": 1996, "##s": 2015}
    assert {word: bert.words[word] for word in places} == places
    assert bert.marks == (101, 102)
    assert (bert.words["[unused0]"], bert.words["[unused1]"]) == (BOS, EOS)


@pytest.mark.data
def test_bert_reads_known_examples(bert):
    names = {token: word for word, token in bert.words.items()}
    known = {
        "Hello world": ["hello", "world"],
        "unaffable": ["una", "##ffa", "##ble"],
        "embeddings": ["em", "##bed", "##ding", "##s"],
        "John Johanson 's house": ["john", "johan", "##son", "'", "s", "house"],
    }
    assert {text: [names[token] for token in bert.encode([text])[0]] for text in known} == known
    assert bert.encode(["Hello world"]) == [[7592, 2088]]
    assert bert.decode([101, 7592, 2088, 102, 0]) == "hello world"


@pytest.mark.data
def test_brackets_in_a_text_are_text(bert):
    assert not {0, 101, 102, 103, BOS, EOS} & set(bert.encode(["[SEP] [PAD] [unused1] [MASK]"])[0])


@pytest.mark.data
def test_bert_reads_the_phrasebank_greedily(bert, phrasebank_root):
    texts = financial_phrasebank((phrasebank_root,)).sentences[::7]
    assert bert.encode(texts) == [read(text, bert.words, 100) for text in texts]


def test_without_its_file_both_ways_to_get_it_are_said(root, golden):
    with golden.raises(CorpusError):
        learn_tokenizer(bert_base_uncased, [], ENTRIES, (root,))


def test_another_file_under_its_name_is_refused(root):
    (root / VOCABULARY_FILE).parent.mkdir()
    (root / VOCABULARY_FILE).write_text("[PAD]\n[UNK]\n")
    with pytest.raises(CorpusError, match="07eced37"):
        learn_tokenizer(bert_base_uncased, [], ENTRIES, (root,))
