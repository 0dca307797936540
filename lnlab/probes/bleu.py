"""``100 BP exp(1/4 Σ log p_n)`` of a model's translations (Papineni et al., 2002).

``tasks.bleu`` explains the formula, and ``tasks.decoding`` the search for translations.
"""

from collections.abc import Iterator
from typing import Annotated

from pydantic import Field

from lnlab.probes.probe import State, probes
from lnlab.probes.support.known_sites import of_the_model
from lnlab.probes.support.translating import Alpha, Beam, Number, Offset, Slope, Split, prefixes_read, translations_of
from lnlab.tables import Row
from lnlab.tasks.bleu import Words, bleu_of, sentence_bleu
from lnlab.tasks.decoding import Penalty, Search
from lnlab.vocabulary.training import BLEU


@probes.register(
    "bleu",
    table="sites",
    passes=prefixes_read,
    quantities=BLEU,
    translates=True,
    # Which sentences have a score of their own depends on the corpus.
    sites=lambda *_: {
        **of_the_model(("bleu", "brevity_penalty", "length_ratio", "copy_bleu")),
        "bleu_precision": [{"index": n} for n in range(1, 5)],
    },
)
def bleu(
    state: State,
    *,
    split: Split = "test",
    sentences: Number | None = None,
    beam: Beam = 1,
    length_penalty: Penalty = "gnmt",
    alpha: Alpha = 0.0,
    max_len_a: Slope = 1.2,
    max_len_b: Offset = 10,
    words: Words = "13a",
    lowercase: bool = False,
    each: Annotated[int, Field(ge=0)] = 0,
) -> Iterator[Row]:
    """``100 BP exp(1/4 Σ log p_n)``: of the first ``sentences`` of a split, null: of all (Papineni et al., 2002).

    ``length_penalty`` divides log p(y|x) by ``gnmt`` ((5 + |y|)/6)^alpha or by ``power`` |y|^alpha; a translation has
    at most ``max_len_a |x| + max_len_b`` tokens, end marks counted. A beam of 1 is greedy.

    ``bleu_precision`` is p_n in percent with n as ``index``; ``copy_bleu`` is the BLEU of the sources as translations;
    ``sentence_bleu`` is that of each of the first ``each`` sentences, ``index`` its number in the split, from 1. Text
    is compared as the corpus has it; sacreBLEU splits it into ``words``, ``none`` where that has been done.
    """
    search = Search(beam, length_penalty, alpha, (max_len_a, max_len_b))
    examples, hypotheses = translations_of(state, split, sentences, search)
    sources, references = zip(*examples.pairs, strict=True)
    scores = bleu_of(hypotheses, references, words=words, lowercase=lowercase)
    yield {"quantity": "bleu", "value": scores.score}
    for n, precision in enumerate(scores.precisions, 1):
        yield {"quantity": "bleu_precision", "index": n, "value": precision}
    yield {"quantity": "brevity_penalty", "value": scores.brevity_penalty}
    yield {"quantity": "length_ratio", "value": scores.length_ratio}
    yield {"quantity": "copy_bleu", "value": bleu_of(sources, references, words=words, lowercase=lowercase).score}
    for number, text, reference in list(zip(examples.numbers, hypotheses, references, strict=True))[:each]:
        value = sentence_bleu(text, reference, words=words, lowercase=lowercase)
        yield {"quantity": "sentence_bleu", "index": number, "value": value}
