"""WordPiece against a reading of BERT's paper written here, and BERT's own vocabulary against its published tokens."""

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lnlab.corpora.financial_phrasebank import financial_phrasebank
from lnlab.corpora.toy_finance import toy_finance
from lnlab.corpora.vocabulary.bert_base_uncased import ENTRIES, VOCABULARY_FILE, bert_base_uncased
from lnlab.corpora.vocabulary.tokenizers import BOS, EOS, SPECIAL, UNK, learn_tokenizer
from lnlab.corpora.vocabulary.wordpiece import WordPieces, wordpiece
from lnlab.errors import CorpusError

SENTENCES = list(toy_finance((), sentences=600).sentences)


SMALL = wordpiece(["abc def 0159 , . ' - % abd abc ggg/(z) fed cab"], 60)


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
    assert trained.encode(["1" * 101]) == [[UNK]]
    assert UNK not in trained.encode(["1" * 100])[0]
    assert trained.decode(trained.encode(["Net sales rose ."])[0]) == "net sales rose ."


@given(st.text("abcdefgz0159 .,'-%/()äÖéñ$\t", max_size=30))
@settings(max_examples=200)
def test_any_text_is_read_greedily(text):
    assert SMALL.encode([text]) == [read(text, SMALL.words, UNK)]


# --- learning


def test_the_most_frequent_pair_is_merged_first():
    """Counted by hand: a and ##b stand side by side three times, ##b and ##c twice; with abc next."""
    letters = {*SPECIAL, *"abcx", *(f"##{c}" for c in "abcx")}
    for size, merged in ((12, set()), (13, {"ab"}), (14, {"ab", "abc"})):
        assert set(wordpiece(["abc abc ab x"], size).words) == letters | merged


# --- BERT's own vocabulary


@pytest.fixture
def bert(bert_root):
    return learn_tokenizer(bert_base_uncased, [], ENTRIES, (bert_root,))


@pytest.mark.data
def test_bert_has_its_published_entries_and_marks(bert):
    assert len(bert.words) == ENTRIES == 30_522
    places = {"[PAD]": 0, "[UNK]": 100, "[CLS]": 101, "[SEP]": 102, "[MASK]": 103, "the": 1996, "##s": 2015}
    places |= {"[unused0]": BOS, "[unused1]": EOS}
    assert {word: bert.words[word] for word in places} == places
    assert bert.marks == (101, 102)
    assert not {0, 101, 102, 103, BOS, EOS} & set(bert.encode(["[SEP] [PAD] [unused1] [MASK]"])[0])


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
def test_bert_reads_the_phrasebank_greedily(bert, phrasebank_root):
    texts = financial_phrasebank((phrasebank_root,)).sentences[::7]
    assert bert.encode(texts) == [read(text, bert.words, 100) for text in texts]


def test_an_absent_file_and_another_under_its_name_are_refused(root, golden):
    with golden.raises(CorpusError):
        learn_tokenizer(bert_base_uncased, [], ENTRIES, (root,))
    (root / VOCABULARY_FILE).parent.mkdir()
    (root / VOCABULARY_FILE).write_text("[PAD]\n[UNK]\n")
    with pytest.raises(CorpusError, match="07eced37"):
        learn_tokenizer(bert_base_uncased, [], ENTRIES, (root,))
