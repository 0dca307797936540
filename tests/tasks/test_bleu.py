"""BLEU against sacreBLEU's own function."""

import pytest
import sacrebleu

from lnlab.tasks.bleu import bleu_of, sentence_bleu

SAID = ["Ein Hund läuft.", "The cat sat on the mat, she thinks", "", "A dog runs on the beach ."]
TRUE = ["Ein Hund rennt.", "The cat sat on a mat, he thinks.", "Nothing here", "A dog is running on the beach."]


@pytest.mark.parametrize("words", ["13a", "intl", "char", "none"])
@pytest.mark.parametrize("lowercase", [True, False])
def test_it_is_what_sacrebleu_says(words, lowercase):
    found = bleu_of(SAID, TRUE, words=words, lowercase=lowercase)
    theirs = sacrebleu.corpus_bleu(SAID, [TRUE], tokenize=words, lowercase=lowercase, force=True)
    assert (found.score, found.precisions) == (theirs.score, tuple(theirs.precisions))
    assert found.brevity_penalty == theirs.bp
    case = "lc" if lowercase else "mixed"
    signature = f"nrefs:1|case:{case}|eff:no|tok:{words}|smooth:exp|version:{sacrebleu.__version__}"
    assert found.signature == signature
    assert found.length_ratio == pytest.approx(theirs.sys_len / theirs.ref_len)
    for said, true in zip(SAID, TRUE, strict=True):
        alone = sacrebleu.sentence_bleu(said, [true], tokenize=words, lowercase=lowercase).score
        assert sentence_bleu(said, true, words=words, lowercase=lowercase) == alone
