"""WordPiece: a word is split from the left into the longest pieces of a vocabulary, inner ones marked ``##``.

Text is normalized as by BERT's basic tokenizer: control characters are removed, Chinese characters stand alone, letters
become lower case without accents, and every mark of punctuation is a word. A word that cannot be split so, or has more
than 100 characters, is unknown as a whole.

Source: Wu et al. 2016, Google's neural machine translation system; Devlin et al. 2019, BERT, ``tokenization.py``.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from tokenizers import Tokenizer as Model
from tokenizers import decoders, models, normalizers, pre_tokenizers, trainers

from lnlab.corpora.vocabulary.tokenizers import (
    BOS,
    EOS,
    LONGEST_WORD,
    SPECIAL,
    UNK,
    Tokenizer,
    most_frequent,
    tokenizers,
)

WITHIN = "##"
_LONGEST = 100
"""Characters of a word that is read in pieces."""


class WordPieces:
    """The greedy splitting of words by a vocabulary.

    Attributes:
        words: every piece with its token.
        marks: the tokens that begin and end a sentence.
    """

    def __init__(
        self, words: Mapping[str, int], special: Sequence[str], unknown: str, marks: tuple[int, int], *, lowercase: bool
    ) -> None:
        self.words = dict(words)
        self.marks = marks
        reading = models.WordPiece(
            self.words, unk_token=unknown, max_input_chars_per_word=_LONGEST, continuing_subword_prefix=WITHIN
        )
        self._model = Model(reading)
        self._model.normalizer = normalized(lowercase=lowercase)
        self._model.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        self._model.decoder = decoders.WordPiece(prefix=WITHIN, cleanup=False)
        self._model.add_special_tokens(list(special))
        self._model.encode_special_tokens = True  # or else a text that contains "[SEP]" would end at it

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """The tokens of each text, without begin and end marks."""
        return [encoded.ids for encoded in self._model.encode_batch_fast(list(texts), add_special_tokens=False)]

    def decode(self, tokens: Sequence[int]) -> str:
        """The text of tokens, with spaces between words and without special tokens."""
        text: str = self._model.decode(list(tokens))
        return text


@tokenizers.register("wordpiece")
def wordpiece(texts: Iterable[str], size: int, *, lowercase: bool = True) -> Tokenizer:
    """``the longest piece first``: WordPiece, learned from the text by merging pairs (Schuster and Nakajima, 2012).

    The pieces are learned as the library ``tokenizers`` does it, which merges the most frequent pair; Schuster and
    Nakajima merge the one that makes the text likeliest. ``size`` is the most tokens there may be, the four special
    ones included. Every character has two pieces, for the beginning of a word and for within it; words with characters
    that do not fit are unknown.
    """
    text = normalized(lowercase=lowercase).normalize_str(" ".join(texts))
    words = [word for word, _ in pre_tokenizers.BertPreTokenizer().pre_tokenize_str(text)]
    alphabet = most_frequent(Counter("".join(words)), (size - len(SPECIAL)) // 2)
    known = set(alphabet)
    # Of words of a thousand characters none is read in pieces, and the trainer takes the square of their length.
    readable = [word for word in words if len(word) <= LONGEST_WORD and known.issuperset(word)]
    return WordPieces(_pieces(readable, alphabet, size), SPECIAL, SPECIAL[UNK], (BOS, EOS), lowercase=lowercase)


def normalized(*, lowercase: bool) -> normalizers.Normalizer:
    """BERT's normalization of characters. A cased vocabulary keeps case and accents."""
    return normalizers.BertNormalizer(
        clean_text=True, handle_chinese_chars=True, strip_accents=lowercase, lowercase=lowercase
    )


def _pieces(words: Sequence[str], alphabet: Sequence[str], size: int) -> dict[str, int]:
    """Learn the pieces. Returns every piece with its token."""
    # The trainer would number the characters within words in the order of a hash table, on which merges then depend. So
    # they are passed in order, as special tokens that it must include.
    model = Model(models.WordPiece(unk_token=SPECIAL[UNK]))
    model.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    special = [*SPECIAL, *alphabet, *(WITHIN + letter for letter in alphabet)]
    trainer = trainers.WordPieceTrainer(vocab_size=size, special_tokens=special, show_progress=False)
    model.train_from_iterator([" ".join(words)], trainer)
    vocabulary: dict[str, int] = model.get_vocab()
    return vocabulary
