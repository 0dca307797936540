"""Hidden words: which are hidden, how many, what is asked of them, and that nothing of the labels is in them."""

import math

import pytest
import torch
from torch import Generator

from lnlab.catalogue import REGISTRIES
from lnlab.corpora.vocabulary.tokenizers import PAD
from lnlab.randomness import Draw
from lnlab.tasks.masked_language_modeling import MASK, hidden_words
from lnlab.tasks.task import tasks

assert REGISTRIES  # every corpus can be named
CORPUS = {"kind": "toy_finance", "sentences": 60}


def make(kind="masked_language_modeling", seed=1, **given):
    choice = {"kind": kind, "corpus": CORPUS, "vocabulary": 150, "batch_sentences": 16} | given
    return tasks.builder(tasks.resolve(choice))(Draw(seed), ())


def test_the_sentences_are_those_of_the_classification_of_the_same_seed_and_no_label_is_read():
    masked, labelled = make(), make("classification")
    for split in ("train", "validation", "test"):
        pairs = zip(masked.batches(split, "train"), labelled.batches(split, "train"), strict=True)
        for batch, plain in pairs:
            hidden = batch.target_out != PAD
            assert torch.equal(torch.where(hidden, batch.target_out, batch.source), plain.source)
            assert (batch.source[hidden] == MASK).all()
    assert masked.epoch_batches == labelled.epoch_batches
    assert masked.size == masked.labels == 150


@pytest.mark.parametrize("share", [0.15, 0.5, 1.0])
def test_the_share_of_each_sentences_words_is_hidden_and_never_a_mark(share):
    lengths = [3, 4, 9, 12]
    source = torch.zeros(4, 12, dtype=torch.int64)
    for row, length in zip(source, lengths, strict=True):
        row[:length] = 5
    hidden = hidden_words(source, share, Generator().manual_seed(1))
    assert hidden.sum(1).tolist() == [math.ceil(share * (length - 2)) for length in lengths]
    assert not hidden[:, 0].any()
    assert not any(row[length - 1 :].any() for row, length in zip(hidden, lengths, strict=True))


def test_every_word_is_hidden_as_often_as_any_other():
    source = torch.full((4000, 7), 5)
    share = hidden_words(source, 0.2, Generator().manual_seed(1)).double().mean(0)[1:-1]
    assert share == pytest.approx([0.2] * 5, abs=4 * math.sqrt(0.2 * 0.8 / 4000))


def test_other_words_are_hidden_in_another_epoch_and_the_same_again():
    first, again, second = (list(make().batches("train", "train", epoch)) for epoch in (0, 0, 1))
    assert all(torch.equal(a.source, b.source) for a, b in zip(first, again, strict=True))
    assert any(not torch.equal(a.source, b.source) for a, b in zip(first, second, strict=True))


def test_a_model_that_knows_the_frequencies_has_the_unigram_entropy_where_all_is_hidden():
    task = make(masked=1.0)
    batches = list(task.batches("train", "train"))
    counts = torch.bincount(torch.cat([b.target_out[b.target_out != PAD] for b in batches]), minlength=150).double()
    frequencies = torch.where(counts > 0, counts / counts.sum(), 1e-300).log()

    def model(batch):
        return frequencies.expand(*batch.source.shape, 150)

    sums = [task.nll(model, batch) for batch in batches]
    loss = sum(total.item() for total, _ in sums) / sum(words for _, words in sums)
    assert loss == pytest.approx(task.unigram_entropy(), rel=1e-9)
