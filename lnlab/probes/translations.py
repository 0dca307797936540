"""A model's translations as text, or only the sentences' numbers if the licence forbids to show the text.

A translation of such text is as good as the text itself, and is left out with it.
"""

from collections.abc import Iterator

from lnlab.probes.probe import State, probes
from lnlab.probes.support.translating import Alpha, Beam, Number, Offset, Slope, Split, prefixes_read, translations_of
from lnlab.tables import Row
from lnlab.tasks.bleu import Words, bleu_of
from lnlab.tasks.decoding import Penalty, Search

_QUANTITIES = ("source", "reference", "hypothesis", "signature")


@probes.register("translations", table="texts", passes=prefixes_read, quantities=_QUANTITIES, translates=True)
def translations(
    state: State,
    *,
    split: Split = "test",
    sentences: Number = 5,
    beam: Beam = 1,
    length_penalty: Penalty = "gnmt",
    alpha: Alpha = 0.0,
    max_len_a: Slope = 1.2,
    max_len_b: Offset = 10,
    words: Words = "13a",
    lowercase: bool = False,
) -> Iterator[Row]:
    """``argmax_y log p(y|x) / lp(|y|)``: source, reference and translation of the first sentences (Wu et al., 2016).

    Parameters as those of the probe ``bleu``; give both the same, and a report can set the scores beside the texts.
    ``signature`` says how sacreBLEU would score them. Text is left out where the corpus may not be shown.
    """
    search = Search(beam, length_penalty, alpha, (max_len_a, max_len_b))
    examples, hypotheses = translations_of(state, split, sentences, search)
    sources, references = zip(*examples.pairs, strict=True)
    texts = dict(zip(_QUANTITIES, (sources, references, hypotheses), strict=False))
    for place, number in enumerate(examples.numbers):
        for quantity, column in texts.items():
            yield {"quantity": quantity, "index": number, "text": column[place] if examples.printable else None}
    yield {"quantity": "signature", "text": bleu_of(hypotheses, references, words=words, lowercase=lowercase).signature}
