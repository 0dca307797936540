"""Windows of running text: which tokens are read and predicted, how often, and what the loss is of."""

import math
from itertools import chain

import pytest
import torch

from lnlab.catalogue import REGISTRIES
from lnlab.errors import CorpusError, LabError
from lnlab.randomness import Draw
from lnlab.tasks.task import tasks

assert REGISTRIES  # every corpus can be named


def built(seed=1, roots=(), **parameters):
    choice = {"kind": "language_modeling", "tokenizer": {"kind": "words"}, "vocabulary": 60} | parameters
    return tasks.builder(tasks.resolve(choice))(Draw(seed), roots)


@pytest.fixture
def task(tmp_path):
    """Seven passages of three words and an end mark each: 28 tokens, 27 of which follow another."""
    (tmp_path / "a.txt").write_text("".join(f"w{3 * k} w{3 * k + 1} w{3 * k + 2}\n\n" for k in range(7)))
    corpus = {"kind": "text", "files": ["a.txt"], "held_out": 0}
    return lambda **parameters: built(roots=(tmp_path,), corpus=corpus, **parameters)


def test_every_token_but_the_first_is_predicted_once_from_all_of_its_window(task):
    batches = list(task(length=9, windows=2).batches("train", "train"))
    assert [len(batch.target_out) for batch in batches] == [2, 1]
    rows = [(r.tolist(), o.tolist()) for b in batches for r, o in zip(b.target_in, b.target_out, strict=True)]
    assert all(read[1:] == answered[:-1] for read, answered in rows)
    stream = task(length=9).text["train"].tolist()
    predicted = sorted(rows, key=lambda row: stream.index(row[0][0]) if row[0][0] != 3 else 0)
    assert sorted(token for _, answered in rows for token in answered) == sorted(stream[1:])
    assert len(predicted) == 3
    assert all(batch.source.numel() == 0 and batch.tokens == batch.target_out.numel() for batch in batches)


def test_what_is_left_after_the_last_whole_window_is_not_read(task):
    batches = list(task(length=10, windows=8).batches("train", "train"))
    assert sum(batch.tokens for batch in batches) == 20


def test_an_epoch_has_as_many_batches_as_it_says_in_an_order_of_its_own(task):
    windows = task(length=2, windows=3)
    epochs = [[batch.target_in.tolist() for batch in windows.batches("train", "train", epoch)] for epoch in (0, 1)]
    assert len(epochs[0]) == len(epochs[1]) == windows.epoch_batches == 5
    assert epochs[0] != epochs[1]
    assert sorted(chain(*epochs[0])) == sorted(chain(*epochs[1]))
    again = [batch.target_in.tolist() for batch in task(length=2, windows=3).batches("train", "train", 0)]
    assert again == epochs[0]


def test_a_model_that_knows_the_frequencies_has_the_unigram_entropy(task, says):
    windows = task(length=9, windows=3)
    (batch,) = windows.batches("train", "train")
    counts = torch.bincount(batch.target_out.flatten(), minlength=60).double()
    logits = (counts / counts.sum()).log().expand(3, 9, 60)
    total, number = windows.nll(says(logits), batch)
    assert number == 27
    assert total.item() / number == pytest.approx(windows.unigram_entropy(), rel=1e-6)
    by_hand = -sum(c / 27 * math.log(c / 27) for c in counts.tolist() if c)
    assert windows.unigram_entropy() == pytest.approx(by_hand, rel=1e-6)


def test_text_that_is_shorter_than_a_window_is_a_mistake_with_its_numbers(task, golden):
    with golden.raises(CorpusError):
        next(task(length=28).batches("train", "train"))
    with pytest.raises(CorpusError, match="the split 'test' has 0 tokens"):
        next(task(length=9).batches("test", "train"))
    with golden.raises(LabError):
        next(task(length=9).batches("tset", "train"))


def test_without_files_it_reads_generated_english():
    batch = next(built(vocabulary=300, tokenizer={"kind": "bpe"}).batches("validation", "evaluate"))
    assert batch.target_in.shape == batch.target_out.shape == (8, 64)


class Table(torch.nn.Module):
    """The same logits whatever is read."""

    def __init__(self, rows):
        super().__init__()
        self.logits = torch.nn.Parameter(torch.linspace(-1, 2, rows, dtype=torch.float64))

    def forward(self, batch):
        return self.logits.expand(*batch.target_in.shape, -1)


def test_the_z_loss_has_the_gradient_2_c_log_z_p_and_is_in_the_loss_alone(task):
    weight = 1e-2
    plain, with_z = task(length=9), task(length=9, z_loss=weight)
    batch = next(iter(plain.batches("train", "train")))
    model = Table(plain.size)
    log_z = float(model.logits.detach().exp().sum().log())
    sums = {
        name: getattr(t, kind)(model, batch)[0]
        for name, t, kind in (("plain", plain, "loss"), ("with", with_z, "loss"), ("nll", with_z, "nll"))
    }
    added = weight * batch.tokens * log_z**2
    assert (sums["with"] - sums["plain"]).item() == pytest.approx(added)
    assert sums["nll"].item() == sums["plain"].item()
    scores, _ = with_z.scores(model, batch)
    assert scores["loss"].item() == sums["with"].item()
    (gradient,) = torch.autograd.grad(sums["with"] - sums["plain"], model.logits)
    p = torch.softmax(model.logits.detach(), -1)
    torch.testing.assert_close(gradient, 2 * weight * batch.tokens * log_z * p)
