"""Random tokens: their laws, their addresses, their answers."""

from itertools import islice

import pytest
import torch

from lnlab.errors import LabError
from lnlab.randomness import Draw
from lnlab.tasks.random_tokens import random_tokens
from lnlab.tasks.task import tasks

NAME = random_tokens.__name__


def make(seed=1, **given):
    return tasks.builder(tasks.resolve({"kind": NAME} | given))(Draw(seed), ())


def some(task, n=3, split="train", purpose="probe"):
    return list(islice(task.batches(split, purpose), n))


def test_distinct_tokens_never_repeat_within_a_batch_and_too_few_are_refused(golden):
    for batch in some(make(vocabulary=300, sentences=8, length=32), 5):
        for tokens in (batch.source, batch.target_in):
            assert tokens.shape == (8, 32)
            assert tokens.unique().numel() == 256
            assert tokens.min() >= 1
            assert tokens.max() < 300
    with golden.raises(LabError):
        make(vocabulary=256)
    assert make(vocabulary=257)


@pytest.mark.parametrize(("law", "expected"), [("uniform", lambda k: 1.0), ("zipf", lambda k: 1 / k)])
def test_tokens_have_the_frequencies_of_their_law(law, expected):
    drawn = torch.cat([b.source.flatten() for b in some(make(vocabulary=11, sentences=100, length=50, law=law), 10)])
    found = torch.bincount(drawn, minlength=11)[1:] / drawn.numel()
    wanted = torch.tensor([expected(k) for k in range(1, 11)])
    torch.testing.assert_close(found, wanted / wanted.sum(), rtol=0.05, atol=0.003)


def test_answers_are_labels_of_tokens_or_of_sentences():
    tokens, sentences = make(vocabulary=50, law="uniform"), make(vocabulary=50, law="uniform", classes=4)
    assert (tokens.labels, tokens.unit) == (50, "tokens")
    assert (sentences.labels, sentences.unit) == (4, "sentences")
    assert some(tokens)[0].target_out.shape == (8, 32)
    drawn = torch.cat([batch.target_out for batch in some(sentences, 100)])
    assert torch.bincount(drawn, minlength=4).min() > 150


def test_batches_are_addressed():
    one, two = some(make()), some(make(), 2)
    assert all(torch.equal(a.source, b.source) for a, b in zip(one, two, strict=False))
    for other in (make(seed=2), make(length=31)):
        assert not torch.equal(some(other)[0].source[:, :5], one[0].source[:, :5])
    assert not torch.equal(some(make(), split="test")[0].source, one[0].source)
    assert not torch.equal(one[0].source, one[1].source)


@pytest.mark.parametrize("classes", [None, 5])
def test_the_loss_is_the_sum_of_negative_log_probabilities(classes):
    task = make(vocabulary=20, sentences=3, length=4, classes=classes)
    batch = some(task)[0]
    logits = torch.randn((3, 5) if classes else (3, 4, 20), dtype=torch.float64)
    total, number = task.loss(lambda _: logits, batch)
    chosen = logits.log_softmax(-1).gather(-1, batch.target_out[..., None])
    assert number == (3 if classes else 12)
    assert total.item() == pytest.approx(-chosen.sum().item(), rel=1e-12)
    assert task.nll(lambda _: logits, batch)[0] == total
