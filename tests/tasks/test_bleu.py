"""BLEU by hand and against sacreBLEU's own function."""

import math

import pytest
import sacrebleu

from lnlab.tasks.bleu import bleu_of, sentence_bleu

SAID = ["Ein Hund läuft.", "The cat sat on the mat, she thinks", "", "A dog runs on the beach ."]
TRUE = ["Ein Hund rennt.", "The cat sat on a mat, he thinks.", "Nothing here", "A dog is running on the beach."]


def test_precisions_and_the_brevity_penalty_of_all_sentences_together_by_hand():
    """Of 6 words 5 are right, of 5 pairs 3 (ab bc cd), of 4 triples 2, of 3 quadruples 1."""
    found = bleu_of(["a b c d e f"], ["a b c d x f"])
    assert found.precisions == pytest.approx((500 / 6, 60, 50, 100 / 3))
    assert (found.brevity_penalty, found.length_ratio) == (1, 1)
    assert found.score == pytest.approx(100 * (1 / 12) ** 0.25)
    found = bleu_of(["a b c d e"], ["a b c d e f g"])
    assert found.brevity_penalty == pytest.approx(math.exp(1 - 7 / 5))
    assert found.length_ratio == pytest.approx(5 / 7)
    assert found.score == pytest.approx(100 * math.exp(-0.4))
    assert bleu_of(["a b c d e f g h"], ["a b c d e"]).brevity_penalty == 1
    # Precisions 9/10, 7/8, 5/6, 3/4 of two sentences that have 62.0 and 100 alone.
    said, true = ["a b c d e", "f g h i j"], ["a b c d x", "f g h i j"]
    assert bleu_of(said, true).score == pytest.approx(100 * (9 / 10 * 7 / 8 * 5 / 6 * 3 / 4) ** 0.25)
    assert sentence_bleu("the cat", "the cat sat on") == pytest.approx(100 * math.exp(1 - 4 / 2))
    assert sentence_bleu("", "the cat") == 0
    case = {False: "mixed", True: "lc"}
    for words, lowercase in (("13a", False), ("char", True)):
        expected = f"nrefs:1|case:{case[lowercase]}|eff:no|tok:{words}|smooth:exp|version:{sacrebleu.__version__}"
        assert bleu_of(SAID, TRUE, words=words, lowercase=lowercase).signature == expected


@pytest.mark.parametrize("words", ["13a", "intl", "char", "none"])
@pytest.mark.parametrize("lowercase", [True, False])
def test_it_is_what_sacrebleu_says(words, lowercase):
    found = bleu_of(SAID, TRUE, words=words, lowercase=lowercase)
    theirs = sacrebleu.corpus_bleu(SAID, [TRUE], tokenize=words, lowercase=lowercase, force=True)
    assert (found.score, found.precisions) == (theirs.score, tuple(theirs.precisions))
    assert found.brevity_penalty == theirs.bp
    assert found.length_ratio == pytest.approx(theirs.sys_len / theirs.ref_len)
    for said, true in zip(SAID, TRUE, strict=True):
        alone = sacrebleu.sentence_bleu(said, [true], tokenize=words, lowercase=lowercase).score
        assert sentence_bleu(said, true, words=words, lowercase=lowercase) == alone
