"""``argmax_y log p(y|x) / lp(|y|)``: a model's translation of a sentence, by beam search.

``lp`` is the length penalty: ``((5 + |y|) / 6)^alpha`` (Wu et al., 2016) or ``|y|^alpha`` (Ott et al., 2019, fairseq).
Lengths count the end mark. At every step each of the ``beam`` prefixes of a sentence is extended by every token, and
the extensions are ranked by ``log p``. Those among the first ``beam`` that end are hypotheses, and the best ``beam``
that do not end are the next prefixes. A sentence is done when it has ``beam`` hypotheses, and of these the one with the
best score is its translation, as in fairseq. At the maximum length ``floor(a |x| + b)`` only the end mark may follow.
With a beam of 1 this is greedy decoding.

The begin mark and padding are never produced. Sentences are searched in batches of similar lengths. As their padding is
masked, none depends on another. At every step the decoder reads the whole prefix of each unfinished sentence again.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal, Protocol, runtime_checkable

import torch
from torch import Tensor, nn
from torch.nn.functional import log_softmax

from lnlab.corpora.vocabulary.tokenizers import BOS, EOS, PAD
from lnlab.tasks.encoded import Sentences

Penalty = Literal["gnmt", "power"]
_AT_ONCE = 128
"""Prefixes that a decoder reads at once: enough to keep a core busy, and little memory."""


@runtime_checkable
class Translator(Protocol):
    """A model that can translate."""

    def parameters(self) -> Iterator[nn.Parameter]:
        """Its parameters, all on one device."""
        ...

    def encode(self, source: Tensor) -> tuple[Tensor, Tensor]:
        """Encode tokens (batch, length), padded with 0: what a decoder attends to, and its mask."""
        ...

    def decode(self, target_in: Tensor, memory: Tensor, present: Tensor, *, last: bool = False) -> Tensor:
        """The logits after every token of (batch, length), or after the last one alone: (batch, 1, size)."""
        ...


@dataclass(frozen=True)
class Search:
    """The parameters of beam search.

    Attributes:
        beam: number of prefixes kept per sentence.
        penalty: the formula of the length penalty.
        alpha: its exponent. 0 means no penalty.
        longest: a and b of the maximum length ``floor(a |x| + b)``.
    """

    beam: int = 1
    penalty: Penalty = "gnmt"
    alpha: float = 0.0
    longest: tuple[float, int] = (1.2, 10)

    def score(self, log_p: float, length: int) -> float:
        """``log p / lp(|y|)``."""
        return log_p / math.pow((5 + length) / 6 if self.penalty == "gnmt" else length, self.alpha)


@dataclass(frozen=True)
class Hypothesis:
    """A translation.

    Attributes:
        tokens: without begin and end marks.
        score: its log-probability in nats, including that of the end mark, over the length penalty. Where no
            translation has a finite one, the hypothesis is empty and its score minus infinity.
    """

    tokens: tuple[int, ...]
    score: float


EMPTY = Hypothesis((), -math.inf)


@torch.no_grad()
def translate(model: Translator, source: Sentences, rows: Tensor, search: Search) -> list[Hypothesis]:
    """Translate the sentences of ``rows``, in their order. The mode of the model is not changed."""
    order = source.lengths[rows].argsort(stable=True)  # sentences of one length together, so that few are padded
    hypotheses: dict[int, Hypothesis] = {}
    for part in torch.split(order, max(1, _AT_ONCE // search.beam)):
        hypotheses.update(zip(part.tolist(), beam_search(model, source.padded(rows[part]), search), strict=True))
    return [hypotheses[position] for position in range(len(rows))]


def beam_search(model: Translator, source: Tensor, search: Search) -> list[Hypothesis]:
    """The translations of a batch (sentences, length), padded with 0, each with its end mark."""
    best = [EMPTY] * len(source)
    beams = _initial_beams(model, source, search)
    while beams.positions:
        values, parents, tokens = _best_extensions(beams, model)
        complete = (tokens == EOS) & (values > -math.inf)
        complete[:, search.beam :] = False  # an end ranked below the beam is no hypothesis, as in fairseq
        _keep_best(best, beams, complete, values, parents, search)
        beams = _next_beams(beams, complete.sum(1), values, parents, tokens)
    return best


@dataclass(frozen=True)
class Beams:
    """The unfinished sentences of a batch.

    Attributes:
        positions: their indices in the batch.
        prefixes: (sentences, beam, length), a begin mark first.
        scores: (sentences, beam), log p of each prefix.
        ended: (sentences,), number of hypotheses of each.
        longest: (sentences,), the maximum length of each.
        memory: (sentences beam, source length, width), the encoded source.
        present: (sentences beam, 1, 1, source length), True where the decoder may attend.
    """

    positions: list[int]
    prefixes: Tensor
    scores: Tensor
    ended: Tensor
    longest: Tensor
    memory: Tensor
    present: Tensor

    def select(self, active: Tensor) -> "Beams":
        """Keep only some sentences."""
        positions = [position for position, keep in zip(self.positions, active.tolist(), strict=True) if keep]
        prefixes, scores, ended, longest = (t[active] for t in (self.prefixes, self.scores, self.ended, self.longest))
        rows = active.repeat_interleave(self.scores.shape[1])
        return Beams(
            positions=positions,
            prefixes=prefixes,
            scores=scores,
            ended=ended,
            longest=longest,
            memory=self.memory[rows],
            present=self.present[rows],
        )


def _initial_beams(model: Translator, source: Tensor, search: Search) -> Beams:
    """Begin each sentence with one empty prefix. The others of its beam have log p = -∞, so that none counts twice."""
    source = source.to(next(model.parameters()).device)
    memory, present = (t.repeat_interleave(search.beam, 0) for t in model.encode(source))
    prefixes = torch.full((len(source), search.beam, 1), BOS, device=source.device)
    scores = memory.new_full((len(source), search.beam), -math.inf)
    scores[:, 0] = 0.0
    lengths = (source != PAD).sum(1)
    longest = (search.longest[0] * lengths.double() + search.longest[1]).floor().long().clamp(min=1)
    return Beams(
        positions=list(range(len(source))),
        prefixes=prefixes,
        scores=scores,
        ended=torch.zeros_like(lengths),
        longest=longest,
        memory=memory,
        present=present,
    )


def _best_extensions(beams: Beams, model: Translator) -> tuple[Tensor, Tensor, Tensor]:
    """The best 2 beam extensions, (sentences, 2 beam): log p, the prefixes that they extend, their last tokens.

    At most half of them end, one for each prefix, so that at least ``beam`` do not.
    """
    number, beam, length = beams.prefixes.shape
    logits = model.decode(beams.prefixes.flatten(0, 1), beams.memory, beams.present, last=True)
    log_p = log_softmax(logits[:, -1], -1).view(number, beam, -1)
    # Never padding nor a begin mark, and nothing but an end mark at the greatest length.
    banned = (beams.longest == length)[:, None].repeat(1, log_p.shape[-1])
    banned[:, EOS] = False
    banned[:, [PAD, BOS]] = True
    allowed = log_p.masked_fill(banned[:, None], -math.inf)
    values, indices = (beams.scores[..., None] + allowed).flatten(1).topk(2 * beam, 1)
    return values, indices // log_p.shape[-1], indices % log_p.shape[-1]


def _keep_best(
    best: list[Hypothesis], beams: Beams, complete: Tensor, values: Tensor, parents: Tensor, search: Search
) -> None:
    """Replace worse hypotheses by new ones. Those of a sentence are equally long, so that the first is the best."""
    length = beams.prefixes.shape[2]
    first = complete.long().argmax(1).tolist()
    for i in complete.any(1).nonzero()[:, 0].tolist():
        score = search.score(values[i, first[i]].item(), length)
        if score > best[beams.positions[i]].score:
            tokens = beams.prefixes[i, parents[i, first[i]], 1:].tolist()
            best[beams.positions[i]] = Hypothesis(tuple(tokens), score)


def _next_beams(beams: Beams, ended: Tensor, values: Tensor, parents: Tensor, tokens: Tensor) -> Beams:
    """Keep the best prefixes that do not end, for the unfinished sentences."""
    beam, length = beams.prefixes.shape[1:]
    # Stable, so that prefixes that go on stay in the order of their scores.
    live = (tokens == EOS).long().argsort(dim=1, stable=True)[:, :beam]
    scores, parents, tokens = (t.gather(1, live) for t in (values, parents, tokens))
    read = beams.prefixes.gather(1, parents[..., None].expand(-1, -1, length))
    prefixes = torch.cat([read, tokens[..., None]], 2)
    extended = replace(beams, prefixes=prefixes, scores=scores, ended=beams.ended + ended)
    active = (extended.ended < beam) & (length < beams.longest) & (scores[:, 0] > -math.inf)
    return extended.select(active)
