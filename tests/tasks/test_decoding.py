"""Beam search against every sentence there is, against a search in lists, and by hand."""

import math
from itertools import product
from types import SimpleNamespace

import pytest
import torch
from torch import Tensor, nn

from lnlab.corpora.vocabulary.tokenizers import BOS, EOS, PAD, UNK
from lnlab.nn.attention import attentions
from lnlab.nn.inits import inits
from lnlab.nn.models import models
from lnlab.nn.norms import norms
from lnlab.nn.parts import parts_of
from lnlab.nn.placements import placements
from lnlab.randomness import Draw
from lnlab.tasks.decoding import EMPTY, Hypothesis, Search, Translator, beam_search, translate
from lnlab.tasks.encoded import with_end_marks

SIZE = 7
WORDS = range(UNK, SIZE)
"""What may be said beside the end mark."""


def transformer(seed: int = 1, size: int = SIZE, sharp: float = 3.0) -> nn.Module:
    """Two layers on each side, random, in float64 and sharp enough that beams disagree."""
    stack = {"layers": 2, "norm": norms.resolve("layer"), "placement": placements.resolve("post")}
    stack["attention"] = attentions.resolve("softmax")
    choice = models.resolve({"kind": "encoder_decoder", "d_model": 16, "heads": 2, "d_ff": 32, "tied": "none"})
    parts = {"encoder": parts_of(stack), "decoder": parts_of(stack | {"cross_attention": True})}
    model = models.builder(choice)(size, parts)
    inits["xavier_normal"].build(model, Draw(seed))
    with torch.no_grad():
        model.output.table *= sharp
    return model.double().eval()


class Chain(nn.Module):
    """The next token depends on the last one alone: row i of a table holds the logits after token i."""

    def __init__(self, table: Tensor) -> None:
        super().__init__()
        self.table = nn.Parameter(table.double())

    def encode(self, source: Tensor) -> tuple[Tensor, Tensor]:
        return torch.zeros(*source.shape, 1, dtype=torch.float64), (source != PAD)[:, None, None, :]

    def decode(self, target_in: Tensor, memory: Tensor, present: Tensor, *, last: bool = False) -> Tensor:
        return self.table[target_in[:, -1:] if last else target_in]


def chain(rows: dict[int, dict[int, float]], size: int = 6) -> Chain:
    """A chain with these probabilities; whatever is not named is impossible."""
    table = torch.full((size, size), -1e9)
    for before, each in rows.items():
        for token, p in each.items():
            table[before, token] = math.log(p)
    return Chain(table)


def log_p(model: nn.Module, source: Tensor, said: tuple[int, ...]) -> float:
    """Of a whole sentence and its end mark, by the model's own forward pass on a batch of one."""
    read = torch.tensor([[BOS, *said]])
    logits = model(SimpleNamespace(source=source[None], target_in=read))[0]
    return logits.log_softmax(-1)[range(read.shape[1]), [*said, EOS]].sum().item()


def every(longest: int) -> list[tuple[int, ...]]:
    return [said for n in range(longest) for said in product(WORDS, repeat=n)]


SOURCES = with_end_marks([[3, 5], [6, 4, 3, 5, 6], [5], [4, 4, 6]])
ROWS = torch.arange(4)
PENALTIES = [("gnmt", 0.0), ("gnmt", 0.6), ("gnmt", 2.0), ("power", 0.3), ("power", 1.2), ("power", 3.0)]


@torch.no_grad()
@pytest.mark.parametrize(("penalty", "alpha"), PENALTIES)
@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.nightly)])
def test_a_wide_beam_finds_the_best_of_all_sentences(seed, penalty, alpha):
    """85 sentences of at most 4 tokens; with a beam of 64 no prefix is ever lost."""
    model = transformer(seed)
    found = translate(model, SOURCES, ROWS, Search(64, penalty, alpha, (0, 4)))
    for row, hypothesis in enumerate(found):
        source = SOURCES.padded(torch.tensor([row]))[0]
        divisor = (lambda n: ((5 + n) / 6) ** alpha) if penalty == "gnmt" else (lambda n: n**alpha)
        scores = {said: log_p(model, source, said) / divisor(len(said) + 1) for said in every(4)}
        assert len(scores) == 85
        best = max(scores, key=scores.__getitem__)
        assert hypothesis.tokens == best
        assert hypothesis.score == pytest.approx(scores[best], rel=1e-9)


def in_lists(model: nn.Module, source: Tensor, search: Search, longest: int) -> Hypothesis:
    """The search that the module states, of one sentence, with nothing but lists and the model's forward pass."""
    live, ended = [((), 0.0)], []
    for length in range(1, longest + 1):
        lengthened = []
        for prefix, log in live:
            read = torch.tensor([[BOS, *prefix]])
            after = model(SimpleNamespace(source=source[None], target_in=read))[0, -1].log_softmax(-1).tolist()
            allowed = (EOS,) if length == longest else (EOS, *WORDS)
            lengthened += [((*prefix, token), log + after[token]) for token in allowed]
        lengthened.sort(key=lambda each: -each[1])
        ended += [each for each in lengthened[: search.beam] if each[0][-1] == EOS]
        live = [each for each in lengthened if each[0][-1] != EOS][: search.beam]
        if len(ended) >= search.beam:
            break
    scored = [Hypothesis(said[:-1], search.score(log, len(said))) for said, log in ended]
    return max(scored, key=lambda each: each.score)


@torch.no_grad()
@pytest.mark.parametrize(
    "beam", [pytest.param(1, marks=pytest.mark.nightly), 2, pytest.param(4, marks=pytest.mark.nightly)]
)
@pytest.mark.parametrize(("penalty", "alpha"), PENALTIES[1:4])
def test_a_narrow_beam_is_the_search_in_lists(beam, penalty, alpha):
    search = Search(beam, penalty, alpha, (1.5, 2))
    for seed in range(3):
        model = transformer(seed, sharp=1.5)
        for row, hypothesis in enumerate(translate(model, SOURCES, ROWS, search)):
            source = SOURCES.padded(torch.tensor([row]))[0]
            expected = in_lists(model, source, search, math.floor(1.5 * len(source) + 2))
            assert hypothesis.tokens == expected.tokens
            assert hypothesis.score == pytest.approx(expected.score, rel=1e-9)


@torch.no_grad()
def test_a_beam_of_one_says_the_likeliest_token_each_time():
    for seed in range(4):
        model = transformer(seed)
        for row, hypothesis in enumerate(translate(model, SOURCES, ROWS, Search(longest=(1, 6)))):
            source, said = SOURCES.padded(torch.tensor([row])), [BOS]
            while len(said) <= source.shape[1] + 6 and (len(said) == 1 or said[-1] != EOS):
                logits = model(SimpleNamespace(source=source, target_in=torch.tensor([said])))[0, -1]
                logits[[PAD, BOS]] = -math.inf
                said.append(int(logits.argmax()) if len(said) < source.shape[1] + 6 else EOS)
            assert hypothesis.tokens == tuple(said[1:-1])


def test_a_wider_beam_finds_what_a_narrow_one_misses_and_length_penalties_prefer_other_sentences():
    """After 3, the likelier first word, nothing is likely: 3 has 0.6 0.4, and 4 has 0.4 1.0."""
    model = chain({BOS: {3: 0.6, 4: 0.4}, 3: {EOS: 0.4, 3: 0.3, 4: 0.3}, 4: {EOS: 1.0}})
    source = torch.tensor([[5, EOS]])
    (one,), (two,) = (beam_search(model, source, Search(beam)) for beam in (1, 2))
    assert one.tokens == (3,)
    assert one.score == pytest.approx(math.log(0.24))
    assert two.tokens == (4,)
    assert two.score == pytest.approx(math.log(0.4))
    # Otherwise the test above would not tell them apart.
    searches = [Search(64, penalty, alpha, (0, 4)) for penalty, alpha in PENALTIES]
    found = {search: [h.tokens for h in translate(transformer(1), SOURCES, ROWS, search)] for search in searches}
    assert len({tuple(tokens) for tokens in found.values()}) > 2
    assert Search(alpha=1.0).score(-2.0, 5) == pytest.approx(-2 * 6 / 10)
    assert Search(alpha=0.5).score(-3.0, 1) == pytest.approx(-3)
    assert Search(penalty="power", alpha=1.2).score(-2.0, 5) == pytest.approx(-2 / 5**1.2)
    assert Search(penalty="power").score(-2.0, 5) == -2


# --- what may be said


def test_marks_are_never_said_and_a_model_that_ends_at_once_says_nothing():
    """Here they are the likeliest by far."""
    rows = {token: {PAD: 0.4, BOS: 0.4, 4: 0.1, 5: 0.07, EOS: 0.03} for token in (BOS, 4, 5)}
    for beam in (1, 2, 4):
        (found,) = beam_search(chain(rows), torch.tensor([[3, EOS]]), Search(beam))
        assert set(found.tokens) <= {4, 5}
    (found,) = beam_search(chain({BOS: {EOS: 0.9, 3: 0.1}, 3: {EOS: 1.0}}), torch.tensor([[3, EOS]]), Search())
    assert found == Hypothesis((), pytest.approx(math.log(0.9)))


@pytest.mark.parametrize(("slope", "offset"), [(1.2, 10), (0.0, 1), (2.5, 3), (0.3, 1)])
@pytest.mark.parametrize("beam", [1, 3])
def test_a_model_that_never_ends_is_ended_at_the_greatest_length(slope, offset, beam):
    model = chain({token: {3: 0.7, 4: 0.3} for token in (BOS, 3, 4)})
    for row, found in enumerate(translate(model, SOURCES, ROWS, Search(beam, longest=(slope, offset)))):
        length = math.floor(slope * int(SOURCES.lengths[row]) + offset)
        assert found.tokens == (3,) * (length - 1)


@pytest.mark.parametrize("beam", [1, 4])
def test_a_model_that_is_not_finite_says_nothing_and_stops(beam):
    broken = transformer()
    with torch.no_grad():
        broken.output.table.fill_(math.nan)
    assert translate(broken, SOURCES, ROWS, Search(beam)) == [EMPTY] * 4


# --- sentences do not depend on each other


MANY = 12


def many(n: int = MANY, size: int = 40) -> tuple[nn.Module, list[list[int]]]:
    generator = torch.Generator().manual_seed(7)
    lengths = torch.randint(1, 15, (n,), generator=generator).tolist()
    return transformer(size=size), [torch.randint(3, size, (k,), generator=generator).tolist() for k in lengths]


@pytest.mark.parametrize("beam", [pytest.param(1, marks=pytest.mark.nightly), 4])
def test_neither_padding_nor_company_nor_order_changes_a_translation(beam):
    model, texts = many()
    source, rows, search = with_end_marks(texts), torch.arange(MANY), Search(beam, "gnmt", 0.6)
    together = translate(model, source, rows, search)
    assert len({h.tokens for h in together}) > MANY / 2
    alone = [beam_search(model, source.padded(rows[i : i + 1]), search)[0] for i in range(MANY)]
    longer = [torch.cat([source.padded(rows[i : i + 1]), torch.zeros(1, 9, dtype=torch.int64)], 1) for i in range(MANY)]
    padded = [beam_search(model, each, search)[0] for each in longer]
    turned = translate(model, source, rows.flip(0), search)[::-1]
    for other in (alone, padded, turned):
        assert [h.tokens for h in other] == [h.tokens for h in together]
        assert [h.score for h in other] == pytest.approx([h.score for h in together], rel=1e-9)


def test_some_rows_are_translated_in_the_order_asked():
    model, texts = many()
    source, rows = with_end_marks(texts), torch.tensor([7, 3, 10, 3])
    every = translate(model, source, torch.arange(MANY), Search())
    assert [h.tokens for h in translate(model, source, rows, Search())] == [every[i].tokens for i in rows]


def test_only_sentences_that_are_not_done_are_read_again():
    model, texts = many()
    read: list[int] = []
    decode = model.decode
    model.decode = lambda target_in, *rest, **given: read.append(len(target_in)) or decode(target_in, *rest, **given)
    lengths = [len(h.tokens) + 1 for h in translate(model, with_end_marks(texts), torch.arange(MANY), Search())]
    assert sum(read) == sum(lengths)
    assert len(set(lengths)) > 3


def test_a_translator_has_encode_and_decode():
    assert isinstance(transformer(), Translator)
    assert not isinstance(nn.Linear(1, 1), Translator)
