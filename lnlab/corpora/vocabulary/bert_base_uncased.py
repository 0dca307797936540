"""BERT's own vocabulary: the 30,522 pieces that ``bert-base-uncased`` was trained with, read from its file.

Token 0 pads, as everywhere. 101 ``[CLS]`` begins a sentence and 102 ``[SEP]`` ends it. Words in brackets in a text are
text. The second and the third entry, which a translation takes for its marks, are unused ones.
"""

from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

from lnlab.corpora.corpus import RemoteFile
from lnlab.corpora.files.fetch import file_below, verified_file
from lnlab.corpora.files.lines import read_lines
from lnlab.corpora.vocabulary.tokenizers import Tokenizer, tokenizers
from lnlab.corpora.vocabulary.wordpiece import WordPieces
from lnlab.registry import Roots

VOCABULARY_FILE = "bert_base_uncased/vocab.txt"
REMOTE = RemoteFile(
    "https://huggingface.co/google-bert/bert-base-uncased/resolve/main/vocab.txt",
    "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
    231_508,
)
ENTRIES = 30_522
_SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


def _locate(roots: Roots) -> list[Path] | None:
    path = file_below(roots, VOCABULARY_FILE)
    return [path] if path else None


@tokenizers.register(
    "bert_base_uncased",
    licence="Apache-2.0",
    citation="Devlin et al. 2019, BERT: Pre-training of Deep Bidirectional Transformers (the vocabulary alone)",
    files={VOCABULARY_FILE: REMOTE},
    locate=_locate,
    fingerprint=lambda _roots, _choice: REMOTE.sha256,  # the pinned one: nothing else is ever read
    declares={"vocabulary": ENTRIES},
)
def bert_base_uncased(_texts: Iterable[str], _size: int, roots: Roots) -> Tokenizer:
    """``the longest piece first``: WordPiece by BERT's own vocabulary of 30,522 pieces (Devlin et al., 2019).

    It learns nothing from the text. A task that names it declares ``vocabulary: 30522``. The file is
    ``bert_base_uncased/vocab.txt`` below a data root.

    Raises:
        CorpusError: the file is absent or damaged.
    """
    return _read(verified_file(roots, "bert_base_uncased", VOCABULARY_FILE, REMOTE.sha256))


@lru_cache(maxsize=1)
def _read(path: Path) -> WordPieces:
    """Read the vocabulary, cached by its path alone, as ``verified_file`` has checked the content."""
    words = {piece: token for token, piece in enumerate(read_lines(path))}
    return WordPieces(words, _SPECIAL, "[UNK]", (words["[CLS]"], words["[SEP]"]), lowercase=True)
