"""Labelled sentences as a task: splits and tokenizers of each seed, batches and padding, and its loss in float64."""

import math

import pytest
import torch

from lnlab.corpora.toy_finance import toy_finance
from lnlab.corpora.vocabulary.tokenizers import BOS, EOS, PAD, learn_tokenizer
from lnlab.errors import CorpusError, LabError
from lnlab.randomness import Draw
from lnlab.tasks import classification as room
from lnlab.tasks.task import tasks

CORPUS = {"kind": "toy_finance", "sentences": 300}


def make(seed=1, roots=(), **given):
    choice = {"kind": "classification", "corpus": CORPUS, "vocabulary": 300, "batch_sentences": 16} | given
    return tasks.builder(tasks.resolve(choice))(Draw(seed), roots)


def read(task, split="train", purpose="train", epoch=0):
    return list(task.batches(split, purpose, epoch))


def rows_of(batches):
    """Each sentence of the batches without its padding, and its label."""
    pairs = [pair for b in batches for pair in zip(b.source, b.target_out.tolist(), strict=True)]
    return sorted((tuple(row[row != PAD].tolist()), label) for row, label in pairs)


# --- splits


def test_every_sentence_is_read_once_an_epoch_with_its_label():
    task = make()
    for split, rows in task.rows.items():
        whole = [(tuple(task.text.padded(row[None])[0].tolist()), int(task.answers[row])) for row in rows]
        assert rows_of(read(task, split)) == sorted(whole)
    assert [len(rows) for rows in task.rows.values()] == [240, 30, 30]


def test_the_labels_are_those_of_the_sentences_and_their_number_is_declared():
    task, corpus = make(max_length=10_000), toy_finance((), sentences=300)
    tokenizer = learn_tokenizer(task.tokenizer, [corpus.sentences[r] for r in task.rows["train"].tolist()], 300, ())
    known = {
        (BOS, *tokens, EOS): label
        for tokens, label in zip(tokenizer.encode(corpus.sentences), corpus.labels, strict=True)
    }
    assert all(known[row] == label for row, label in rows_of(read(task, "test")))
    with pytest.raises(LabError, match=r"the corpus has 3 labels \(negative, neutral, positive\), and 4 are declared"):
        read(make(classes=4))


def test_the_tokenizer_sees_the_training_sentences_of_its_seed_alone(monkeypatch):
    seen = []

    def listening(build, texts, *rest):
        seen.append(texts)
        return learn_tokenizer(build, texts, *rest)

    monkeypatch.setattr(room, "learn_tokenizer", listening)
    monkeypatch.setattr(room, "cached_encoding", lambda key, make: make())
    corpus = toy_finance((), sentences=300)
    for seed in (1, 2):
        task = make(seed)
        read(task, "test")
        assert seen[-1] == [corpus.sentences[row] for row in task.rows["train"].tolist()]
        assert not {corpus.sentences[row] for row in task.rows["test"].tolist()} & set(seen[-1])
    assert seen[0] != seen[1]


def test_every_seed_has_as_many_batches_and_the_labels_of_the_whole():
    found = {(make(seed).epoch_batches, len(read(make(seed))), make(seed).unigram_entropy()) for seed in (1, 2, 3)}
    assert len(found) == 1
    [(batches, read_in, entropy)] = found
    assert batches == read_in == 15
    p = torch.bincount(torch.tensor(toy_finance((), sentences=300).labels)).double() / 300
    assert entropy == pytest.approx(-(p * p.log()).sum().item(), abs=5e-3)


@pytest.mark.data
def test_the_entropy_of_the_phrasebank(phrasebank_root):
    """.9157 nats of all lines; its training sentences, without those that occur twice, are within .001 of it."""
    task = make(corpus="financial_phrasebank", vocabulary=400, roots=(phrasebank_root,))
    assert {split: len(rows) for split, rows in task.rows.items()} == {"train": 1_807, "validation": 226, "test": 226}
    assert task.unigram_entropy() == pytest.approx(0.9157, abs=1e-3)


@pytest.mark.data
def test_bert_reads_between_its_own_marks(phrasebank_root, bert_root):
    given = {"corpus": "financial_phrasebank", "tokenizer": "bert_base_uncased", "vocabulary": 30_522}
    [first, *_] = read(make(roots=(phrasebank_root, bert_root), **given), "test")
    assert set(first.source[:, 0].tolist()) == {101}
    assert all(row[row != PAD][-1] == 102 for row in first.source)


# --- batches


@pytest.mark.parametrize(("batch", "expected"), [(16, [15]), (7, [6, 7]), (3, [3]), (240, [240]), (999, [240])])
@pytest.mark.parametrize("bucket", [False, True])
def test_batches_are_as_large_as_asked_or_one_fewer(batch, expected, bucket):
    task = make(batch_sentences=batch, bucket=bucket, split=[0.8, 0.1, 0.1])
    sizes = [len(b.target_out) for b in read(task)]
    assert len(sizes) == task.epoch_batches == math.ceil(240 / batch)
    assert sum(sizes) == 240
    assert max(sizes) - min(sizes) <= 1
    assert max(sizes) <= batch


@pytest.mark.parametrize("sentences", range(4, 40))
def test_no_batch_is_of_one_sentence_unless_batches_are_of_one_or_two(sentences):
    task = make(corpus={"kind": "toy_finance", "sentences": sentences}, batch_sentences=3, split=[1, 0, 0])
    assert min(len(b.target_out) for b in read(task)) >= 2


def test_batches_are_addressed_by_purpose_split_and_epoch():
    task = make()
    assert all(map(torch.equal, *([b.source for b in read(each)] for each in (task, make()))))
    first = task.answers[task.rows["train"]]
    addresses = ("train", 0), ("train", 1), ("probe", 0)
    orders = [torch.cat([b.target_out for b in read(task, "train", *at)]) for at in addresses]
    assert not any(torch.equal(a, b) for i, a in enumerate([first, *orders]) for b in orders[i:])
    assert rows_of(read(task)) == rows_of(read(task, epoch=1))


def test_sentences_are_padded_to_the_longest_or_to_a_length():
    for batch in read(make()):
        assert (batch.source != PAD).sum(1).max() == batch.source.shape[1]
        assert batch.target_in.shape == (len(batch.target_out), 0)
    fixed = read(make(pad=64, max_length=64))
    assert {batch.source.shape[1] for batch in fixed} == {64}
    assert rows_of(fixed) == rows_of(read(make(max_length=64)))


def test_buckets_have_sentences_of_nearly_one_length():
    def padding(batches):
        return sum(int((b.source == PAD).sum()) for b in batches)

    plain, bucketed = read(make()), read(make(bucket=True))
    assert rows_of(plain) == rows_of(bucketed)
    assert padding(bucketed) < padding(plain) / 4
    means = [b.source.shape[1] for b in bucketed]
    assert means != sorted(means)


def test_long_sentences_are_cut_before_their_end_mark_and_none_is_left_out():
    whole, cut = make(max_length=1_000), make(max_length=12)
    for row in range(0, 300, 7):
        long, short = (task.text.padded(torch.tensor([row]))[0].tolist() for task in (whole, cut))
        assert short == (long if len(long) <= 12 else [*long[:11], EOS])
    assert [len(rows) for rows in cut.rows.values()] == [len(rows) for rows in whole.rows.values()]
    assert make(max_length=2).text.lengths.tolist() == [2] * 300


# --- losses


def test_the_loss_is_the_formula_and_accuracy_a_count():
    task = make(label_smoothing=0.1)
    batch = read(task)[0]
    logits = torch.randn(len(batch.target_out), 3, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    log_p = logits - logits.exp().sum(1, keepdim=True).log()
    right = log_p.gather(1, batch.target_out[:, None])[:, 0]
    nll, loss = -right.sum(), -(0.9 * right + 0.1 * log_p.mean(1)).sum()
    count = len(batch.target_out)
    assert task.loss(lambda _: logits, batch) == (pytest.approx(loss.item(), rel=1e-12), count)
    assert task.nll(lambda _: logits, batch) == (pytest.approx(nll.item(), rel=1e-12), count)
    sums, number = task.scores(lambda _: logits, batch)
    assert {name: float(x) for name, x in sums.items()} == pytest.approx(
        {
            "loss": loss.item(),
            "nll": nll.item(),
            "accuracy": sum(int(row.argmax()) == y for row, y in zip(logits, batch.target_out.tolist(), strict=True)),
        }
    )
    assert number == count
    assert (task.unit, task.size, task.labels) == ("sentences", 300, 3)


# --- mistakes


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"split": [0.8, 0.1, 0.2]}, "the shares 0.8, 0.1, 0.2 add up to 1.1"),
        ({"pad": 64}, "sentences are padded to 64 tokens, and may have 128; write max_length: 64 too"),
    ],
)
def test_what_contradicts_itself_is_refused_before_any_text_is_read(given, said):
    with pytest.raises(LabError) as caught:
        make(corpus="financial_phrasebank", **given)
    assert said in str(caught.value)


def test_a_split_without_sentences_and_an_absent_corpus_are_told_when_they_are_read(golden):
    task = make(split=[0.8, 0.2, 0])
    with golden.raises(CorpusError):
        read(task, "test")
    with golden.raises(LabError):
        read(task, "tests")
    task = make(corpus="financial_phrasebank")
    assert (task.size, task.labels) == (300, 3)
    with pytest.raises(CorpusError, match="financial_phrasebank"):
        read(task)


# --- filling


@pytest.mark.parametrize("given", [{"pad": 24, "max_length": 24}, {}], ids=["to a length", "to the longest"])
def test_a_sentence_that_is_repeated_is_itself_until_the_end(given):
    """Token by token against its padded twin of the same batch, whose tokens are counted."""
    for padded, filled in zip(read(make(**given)), read(make(fill="repeat", **given)), strict=True):
        assert padded.source.shape == filled.source.shape
        assert torch.equal(padded.target_out, filled.target_out)
        for plain, full in zip(padded.source.tolist(), filled.source.tolist(), strict=True):
            words = [token for token in plain if token != PAD]
            assert full == (words * len(plain))[: len(plain)]
    assert any((b.source == PAD).any() for b in read(make(**given)))
