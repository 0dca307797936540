"""``BLEU = 100 BP exp(1/4 Σ_n log p_n)``: the agreement of translations with references (Papineni et al., 2002).

``p_n`` is the share of the translations' n-grams that occur in their references, n = 1 ... 4, and ``BP = exp(1 - r/c)``
the brevity penalty where the c words of all translations are fewer than the r of all references, else 1. It is computed
by sacreBLEU (Post, 2018), which splits words itself. Its signature says how. A precision of zero is smoothed
(``smooth:exp``), but where no word agrees BLEU is 0. BLEU of a single sentence is over the orders that it is long
enough for.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any, Literal

Words = Literal["13a", "intl", "char", "none"]
"""How text is split into words. ``none`` leaves text as it is, where it is split already."""


@dataclass(frozen=True)
class Bleu:
    """BLEU and its parts.

    Attributes:
        score: from 0 to 100.
        precisions: p_1 ... p_4, from 0 to 100.
        brevity_penalty: from 0 to 1.
        length_ratio: words of the translations over those of the references.
        signature: sacreBLEU's signature, with its version.
    """

    score: float
    precisions: tuple[float, ...]
    brevity_penalty: float
    length_ratio: float
    signature: str


def bleu_of(
    hypotheses: Sequence[str], references: Sequence[str], *, words: Words = "13a", lowercase: bool = False
) -> Bleu:
    """BLEU of all translations together, at least one, each with one reference."""
    metric = _metric(words, lowercase, alone=False)
    bleu = metric.corpus_score(list(hypotheses), [list(references)])
    return Bleu(
        score=bleu.score,
        precisions=tuple(bleu.precisions),
        brevity_penalty=bleu.bp,
        length_ratio=bleu.sys_len / max(bleu.ref_len, 1),
        signature=str(metric.get_signature()),
    )


def sentence_bleu(hypothesis: str, reference: str, *, words: Words = "13a", lowercase: bool = False) -> float:
    """BLEU of one translation, from 0 to 100."""
    return float(_metric(words, lowercase, alone=True).sentence_score(hypothesis, [reference]).score)


@cache
def _metric(words: Words, lowercase: bool, *, alone: bool) -> Any:
    """Build sacreBLEU's metric, imported at the first use, as few programs compute BLEU."""
    sacrebleu = import_module("sacrebleu.metrics.bleu")
    # `force` spares the warning that text looks split into words already, as that of `words: none` does.
    return sacrebleu.BLEU(tokenize=words, lowercase=lowercase, effective_order=alone, force=True)
