"""Any text finishes: no shape of it takes the square of its length to learn from or to encode."""

import subprocess
import sys

import pytest

SHAPES = {
    "one word of 80,000 letters": "SENTENCES + ['a' * 80_000]",
    "one word of 80,000 random letters": "SENTENCES + [''.join(random.choices(LETTERS, k=80_000))]",
    "one word of 250,000 random letters": "SENTENCES + [''.join(random.choices(LETTERS, k=250_000))]",
    "thirty thousand distinct words in a line": "[' '.join(f'w{i:x}q{i * 7919:x}' for i in range(30_000))]",
    "control characters": "SENTENCES + ['\\x01\\x02\\x1b[31m' * 20_000, 'a\\x1c' * 100_000]",
    "emoji": "SENTENCES + ['\\U0001f600\\u200d\\U0001f469' * 50_000]",
    "empty rows": "SENTENCES + ['', ' ', '\\t'] * 100",
    "NUL": "SENTENCES + ['a\\0b' * 100_000]",
    "a line without spaces": "SENTENCES + ['\\u6f22\\u5b57\\u4eee\\u540d' * 40_000]",
    "combining marks": "SENTENCES + ['a' + '\\u0301' * 200_000]",
    "punctuation": "SENTENCES + ['!?.,' * 50_000]",
}
PROGRAM = """
import random, string, sys
from lnlab.catalogue import REGISTRIES
from lnlab.corpora.vocabulary.tokenizers import tokenizers

random.seed(0)
LETTERS = string.ascii_lowercase
SENTENCES = [f"word {{i}} of {{i % 7}} in the house" for i in range(200)]
for texts in ({shapes}):
    tokenizer = tokenizers.builder(tokenizers.resolve({kind!r}))(texts, 500)
    tokens = tokenizer.encode(texts)
    assert len(tokens) == len(texts)
    assert all(0 < token < 500 for row in tokens for token in row)
    print(len(texts), flush=True)
"""


@pytest.mark.parametrize(
    "kind", ["bpe", *(pytest.param(kind, marks=pytest.mark.nightly) for kind in ("wordpiece", "words"))]
)
def test_a_text_of_any_shape_is_learned_and_encoded_in_time(kind):
    program = PROGRAM.format(shapes=", ".join(SHAPES.values()), kind=kind)
    ended = subprocess.run([sys.executable, "-c", program], check=False, timeout=180, capture_output=True, text=True)
    assert len(ended.stdout.splitlines()) == len(SHAPES), ended.stderr
