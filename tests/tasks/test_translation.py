"""The translation task: batches addressed by seed and purpose, and its loss against formulas in float64."""

import math
from itertools import islice

import pytest
import torch

from lnlab.corpora.corpus import corpora
from lnlab.corpora.vocabulary.tokenizers import BOS, EOS, PAD
from lnlab.errors import CorpusError, LabError
from lnlab.keys import digest
from lnlab.tasks.task import Batch, tasks


def same(first, second):
    return all(
        torch.equal(a, b)
        for x, y in zip(first, second, strict=True)
        for a, b in ((x.source, y.source), (x.target_in, y.target_in), (x.target_out, y.target_out))
    )


# Digest of the batches and loss for each version of the entry: when they change, its version rises and a line is added.
NUMBERS = {1: ("ff0c7e67e374a8f2456e8f473b57cd70a7cca06cdc1927e07b0dd7c0d2157701", 21.81534)}


def test_the_batches_and_the_loss_are_those_of_its_version(task, says):
    batches = [
        [b.source.tolist(), b.target_in.tolist(), b.target_out.tolist()] for b in task().batches("test", "probe")
    ]
    loss = task().loss(says(torch.linspace(-2, 2, 132).reshape(3, 4, 11)), batch_of(SAID))[0].item()
    assert (digest(batches), pytest.approx(loss, rel=1e-5)) == NUMBERS[tasks["translation"].version]


# --- batches


def test_an_epoch_has_every_pair_once(task):
    given = task()
    read = sorted(
        (tuple(source[source != 0].tolist()), tuple(target[target != 0].tolist()))
        for batch in given.batches("train", "train")
        for source, target in zip(batch.source, batch.target_out, strict=True)
    )
    sides = given.text.splits["train"]
    whole = [[tuple(row[row != 0].tolist()) for row in side.padded(torch.arange(1500))] for side in sides]
    assert read == sorted(zip(*whole, strict=True))


def test_targets_are_read_one_position_late_between_begin_and_end_marks(task):
    for batch in islice(task().batches("train", "train"), 5):
        for read, said in zip(batch.target_in, batch.target_out, strict=True):
            n = int((said != PAD).sum())
            assert read[0] == BOS
            assert said[n - 1] == EOS
            assert torch.equal(read[1:n], said[: n - 1])
            assert not read[n:].any()
            assert not said[n:].any()
        for source in batch.source:
            n = int((source != PAD).sum())
            assert source[n - 1] == EOS
            assert source[: n - 1].min() > EOS


def test_the_text_of_a_batch_is_the_corpus(task):
    given = task()
    pairs = set(corpora.builder(corpora.resolve(SMALL))(()).splits["train"])
    batch = next(given.batches("train", "train"))
    decode = given.text.tokenizer.decode
    for source, target in zip(batch.source.tolist(), batch.target_out.tolist(), strict=True):
        assert (decode(source), decode(target)) in pairs


SMALL = {"kind": "toy_german_english", "train": 1500, "validation": 60, "test": 60}


def test_tokens_stay_within_the_budget_and_are_nearly_equal(task):
    tokens = torch.tensor([batch.tokens for batch in task(batch_tokens=400).batches("train", "train")]).double()
    assert tokens.max() <= 400
    assert tokens.std() / tokens.mean() < 0.05


def test_batches_are_addressed_by_seed_purpose_split_and_epoch(task):
    first = list(task(1).batches("train", "probe"))
    assert same(first, list(task(1).batches("train", "probe", 0)))
    for other in (
        task(2).batches("train", "probe"),
        task(1).batches("train", "train"),
        task(1).batches("train", "probe", 1),
    ):
        found = list(other)
        assert len(found) == len(first)
        assert any(
            a.target_out.shape != b.target_out.shape or not torch.equal(a.target_out, b.target_out)
            for a, b in zip(first, found, strict=True)
        )


def test_batches_depend_on_nothing_drawn_before_nor_on_the_loss_and_leave_the_default_generator(task):
    """Two variants that differ in label smoothing, or ask for batches in another order, see the same text."""
    plain, smoothed = task(label_smoothing=0.0), task(label_smoothing=0.3)
    torch.manual_seed(5)
    list(plain.batches("validation", "probe"))
    expected = list(islice(plain.batches("train", "probe"), 4))
    torch.manual_seed(6)
    assert same(expected, list(islice(smoothed.batches("train", "probe"), 4)))
    before = torch.get_rng_state()
    list(task().batches("train", "probe"))
    assert torch.equal(before, torch.get_rng_state())


def test_pairs_that_are_too_long_or_have_an_empty_side_are_dropped_whole_and_counted(task, tmp_path):
    given, every = task(max_length=20), task()
    batches = list(given.batches("train", "train"))
    rows = sum(len(batch.source) for batch in batches)
    assert max(max(batch.source.shape[1], batch.target_out.shape[1]) for batch in batches) <= 20
    source, target = (side.lengths for side in every.text.splits["train"])
    assert rows == int(((source <= 20) & (target <= 20)).sum())
    assert given.dropped("train") == 1500 - rows > 0
    assert every.dropped("train") == 0
    given = task(batch_tokens=16)
    assert max(batch.tokens for batch in given.batches("train", "train")) <= 16
    assert given.dropped("train") > 0
    (tmp_path / "a.de").write_text("ein Haus\n\nein Hund\n")
    (tmp_path / "a.en").write_text("a house\na dog\n \n")
    corpus = {"kind": "parallel_text", "train": ["a.de", "a.en"], "held_out": 0.0}
    given = task(roots=(tmp_path,), corpus=corpus)
    assert sum(len(batch.source) for batch in given.batches("train", "train")) == 1
    assert given.dropped("train") == 2


def test_a_split_without_pairs_and_an_unknown_one_are_mistakes(task, tmp_path, golden):
    (tmp_path / "a.de").write_text("ein Haus\n")
    (tmp_path / "a.en").write_text("a house\n")
    corpus = {"kind": "parallel_text", "train": ["a.de", "a.en"], "held_out": 0.0}
    with golden.raises(CorpusError):
        next(task(roots=(tmp_path,), corpus=corpus).batches("test", "probe"))
    with golden.raises(CorpusError):
        next(task(max_length=2).batches("train", "probe"))
    with golden.raises(LabError):
        next(task().batches("valid", "probe"))


@pytest.mark.parametrize("corpus", ["multi30k", "iwslt14", {"kind": "parallel_text", "train": ["none.de", "none.en"]}])
def test_a_task_is_built_while_its_corpus_is_absent_and_fails_when_it_runs(task, tmp_path, corpus):
    given = task(roots=(tmp_path,), corpus=corpus, vocabulary=8000)
    assert (given.size, given.unit) == (8000, "tokens")
    with pytest.raises(CorpusError):
        next(given.batches("train", "probe"))


# --- loss


def batch_of(said):
    said = torch.tensor(said)
    return Batch(said, said, said)


def by_hand(logits, said, eps):
    """(1 - eps) nll + eps / V sum(-log p) over the tokens that are no padding: sum and count, float64, one by one."""
    total, count = 0.0, 0
    for row, tokens in zip(logits.double().tolist(), said, strict=True):
        for scores, token in zip(row, tokens, strict=True):
            if token == PAD:
                continue
            log_sum = math.log(math.fsum(math.exp(score) for score in scores))
            log_p = [score - log_sum for score in scores]
            total += -(1 - eps) * log_p[token] - eps / len(scores) * math.fsum(log_p)
            count += 1
    return total, count


SAID = [[5, 7, 3, 2], [9, 2, 0, 0], [4, 4, 2, 0]]


@pytest.mark.parametrize("eps", [0.0, 0.1, 0.5])
def test_the_loss_is_the_formula(task, says, eps):
    logits = torch.randn(3, 4, 11, generator=torch.Generator().manual_seed(1)) * 3
    given = task(label_smoothing=eps)
    expected, count = by_hand(logits, SAID, eps)
    loss, tokens = given.loss(says(logits), batch_of(SAID))
    assert tokens == count == 9
    assert loss.item() == pytest.approx(expected, rel=1e-6)
    nll, tokens = given.nll(says(logits), batch_of(SAID))
    assert nll.item() == pytest.approx(by_hand(logits, SAID, 0.0)[0], rel=1e-6)
    assert tokens == 9


def test_the_loss_in_float64_is_the_formula_to_the_last_digits_with_second_derivatives(task, says):
    logits = torch.randn(3, 4, 11, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    assert task().loss(says(logits), batch_of(SAID))[0].item() == pytest.approx(
        by_hand(logits, SAID, 0.1)[0], rel=1e-13
    )
    model = says(torch.randn(3, 4, 11, generator=torch.Generator().manual_seed(1), dtype=torch.float64))
    assert torch.autograd.gradgradcheck(lambda x: task().loss(lambda batch: x, batch_of(SAID))[0], (model.logits,))


def test_uniform_logits_cost_the_logarithm_of_the_vocabulary_and_a_perfect_prediction_the_entropy_of_the_target(
    task, says
):
    """1.246 nats a token for V = 10,000 and eps = 0.1: -sum q ln q with q = 0.9 + 1e-5 once and 1e-5 elsewhere."""
    size, eps = 10_000, 0.1
    right, wrong = 1 - eps + eps / size, eps / size
    logits = torch.full((1, 2, size), math.log(wrong), dtype=torch.float64)
    logits[0, 0, 5] = logits[0, 1, 2] = math.log(right)
    loss, count = task(vocabulary=size).loss(says(logits), batch_of([[5, 2]]))
    assert loss.item() / count == pytest.approx(-right * math.log(right) - (size - 1) * wrong * math.log(wrong))
    assert loss.item() / count == pytest.approx(1.246, abs=5e-4)
    loss, count = task().loss(says(torch.zeros(3, 4, 11)), batch_of(SAID))
    assert loss.item() / count == pytest.approx(math.log(11))


@pytest.mark.parametrize("pads", [1, 5])
def test_padding_changes_neither_loss_nor_gradient(task, says, pads):
    logits = torch.randn(3, 4, 11, generator=torch.Generator().manual_seed(2))
    noise = torch.randn(3, pads, 11, generator=torch.Generator().manual_seed(3)) * 50
    short, long = says(logits), says(torch.cat([logits, noise], 1))
    given = task()
    first, count = given.loss(short, batch_of(SAID))
    second, again = given.loss(long, batch_of([row + [0] * pads for row in SAID]))
    assert count == again
    assert first.item() == pytest.approx(second.item(), abs=1e-7 * count)
    gradient = torch.autograd.grad(second, long.logits)[0]
    assert torch.allclose(torch.autograd.grad(first, short.logits)[0], gradient[:, :4], atol=1e-7)
    assert not gradient[:, 4:].any()
    assert not gradient[1, 2:4].any()


def test_the_mean_over_a_set_is_over_its_tokens_not_over_its_batches(task):
    """Sums and counts add up to the mean over tokens, however the set is cut into batches."""

    class ByToken(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.table = torch.nn.Embedding.from_pretrained(
                torch.randn(300, 300, generator=torch.Generator().manual_seed(1))
            )

        def forward(self, batch):
            return self.table(batch.target_in)

    model = ByToken()
    means = []
    for budget in (100, 333):
        pieces = [
            task(batch_tokens=budget).nll(model, batch)
            for batch in task(batch_tokens=budget).batches("validation", "v")
        ]
        means.append(sum(loss.item() for loss, _ in pieces) / sum(count for _, count in pieces))
    assert means[0] == pytest.approx(means[1], rel=1e-6)


@pytest.mark.data
def test_the_real_corpus_is_encoded_and_nothing_is_lost(task, multi30k_root):
    given = task(roots=(multi30k_root,), corpus="multi30k", vocabulary=4000, batch_tokens=4096)
    batches = list(given.batches("train", "train"))
    assert sum(len(batch.source) for batch in batches) == 29_000
    assert max(int(batch.source.max()) for batch in batches) < 4000
    tokens = [batch.tokens for batch in batches]
    assert max(tokens) <= 4096
    assert min(tokens) > 3900
    assert given.dropped("train") == 0
