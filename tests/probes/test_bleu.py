"""BLEU and translations of models that say what they are told, and of real ones."""

import math

import pytest
import sacrebleu
import torch
from torch import Tensor, nn

from lnlab.catalogue import REGISTRIES
from lnlab.compile.work import Measurement
from lnlab.corpora.vocabulary.tokenizers import EOS, PAD
from lnlab.errors import LabError
from lnlab.execute.measure import measure
from lnlab.nn.models import models
from lnlab.nn.norms import norms
from lnlab.nn.parts import parts_of
from lnlab.probes.probe import State, probes
from lnlab.randomness import Draw
from lnlab.tables import frame
from lnlab.tasks.task import tasks
from lnlab.tasks.translation import Translation
from tests.support.traces import changed, snapshot

TOY = {"kind": "toy_german_english", "train": 300, "validation": 20, "test": 30}
EXACT = {"alpha": 0.0, "max_len_a": 3.0}
"""So that no translation is cut."""


class Parrot(nn.Module):
    """Says for every source what it was told, and an end mark."""

    def __init__(self, told: dict[tuple[int, ...], list[int]], size: int) -> None:
        super().__init__()
        self.told, self.size = told, size
        self.nothing = nn.Parameter(torch.zeros(1))

    def encode(self, source: Tensor) -> tuple[Tensor, Tensor]:
        return source[..., None].double(), (source != PAD)[:, None, None, :]

    def decode(self, target_in: Tensor, memory: Tensor, present: Tensor, *, last: bool = False) -> Tensor:
        logits = torch.zeros(len(target_in), 1, self.size)
        for row, source in enumerate(memory[..., 0].long().tolist()):
            said = [*self.told[tuple(t for t in source if t)], EOS]
            place = target_in.shape[1] - 1
            logits[row, 0, said[place] if place < len(said) else EOS] = 50.0
        return logits


def task_of(corpus=TOY, roots=(), **given) -> Translation:
    choice = {"kind": "translation", "corpus": corpus, "vocabulary": 200, "batch_tokens": 200} | given
    return tasks.builder(tasks.resolve(choice))(Draw(1), roots)


def parrot(task: Translation, split: str = "test", change=lambda tokens, place: tokens) -> State:
    """A state whose model says the references of a split, changed as told."""
    source, target = (
        [[t for t in row if t] for row in side.padded(torch.arange(len(side.lengths))).tolist()]
        for side in task.text.splits[split]
    )
    told = {tuple(s): change(t[:-1], place) for place, (s, t) in enumerate(zip(source, target, strict=True))}
    return State(Parrot(told, task.size), task, Draw(1), 0)


def real(norm: str = "layer", dropout: float = 0.3) -> State:
    """A random model on the toy corpus."""
    stack = REGISTRIES["placement"].resolve("post"), REGISTRIES["attention"].resolve("softmax")
    part = {"layers": 1, "norm": norms.resolve(norm), "placement": stack[0], "attention": stack[1]}
    choice = models.resolve({"kind": "encoder_decoder", "d_model": 16, "heads": 2, "d_ff": 24, "dropout": dropout})
    parts = {"encoder": parts_of(part), "decoder": parts_of(part | {"cross_attention": True})}
    model = models.builder(choice)(200, parts)
    REGISTRIES["init"]["xavier_normal"].build(model, Draw(1))
    return State(model, task_of(), Draw(1), 0)


def bleu(state: State, **given) -> dict[tuple[str, int | None], float]:
    rows = list(probes.builder(probes.resolve({"kind": "bleu"} | given))(state))
    assert len(frame("sites", rows)) == len(rows)
    found = {(row["quantity"], row.get("index")): row["value"] for row in rows}
    assert len(found) == len(rows)
    return found


def texts(state: State, **given) -> dict[tuple[str, int | None], str | None]:
    rows = list(probes.builder(probes.resolve({"kind": "translations"} | given))(state))
    assert len(frame("texts", rows)) == len(rows)
    return {(row["quantity"], row.get("index")): row["text"] for row in rows}


def spoiled(tokens: list[int], place: int) -> list[int]:
    """Every other sentence without its first half; every third with two words the other way round."""
    kept = tokens[len(tokens) // 2 :] if place % 2 else tokens
    return [*kept[:2][::-1], *kept[2:]] if place % 3 == 0 else kept


# --- scores


def test_a_model_that_says_the_references_has_a_hundred_and_one_that_is_not_finite_nothing():
    found = bleu(parrot(task_of()), each=30, **EXACT)
    ones = {"brevity_penalty": 1.0, "length_ratio": 1.0}
    for (quantity, _), value in found.items():
        if quantity != "copy_bleu":
            assert value == pytest.approx(ones.get(quantity, 100.0))
    assert [index for quantity, index in found if quantity == "sentence_bleu"] == list(range(1, 31))
    assert [index for quantity, index in found if quantity == "bleu_precision"] == [1, 2, 3, 4]
    assert {quantity for quantity, _ in found} == set(probes["bleu"].facts.quantities)
    state = real()
    with torch.no_grad():
        state.model.output.table.fill_(math.nan)
    found = bleu(state, sentences=5, each=5)
    assert all(math.isfinite(value) for value in found.values())
    assert found["bleu", None] == 0


@pytest.mark.parametrize("given", [{}, {"words": "char"}, {"lowercase": True, "words": "none"}])
@pytest.mark.parametrize("beam", [1, 3])
def test_scores_are_those_of_sacrebleu_on_the_text_of_the_corpus(beam, given):
    task = task_of()
    found = bleu(parrot(task, change=spoiled), beam=beam, sentences=20, each=5, **EXACT, **given)
    pairs = task.corpus(()).splits["test"][:20]
    sources, references = map(list, zip(*pairs, strict=True))
    tokens = task.text.splits["test"][1].padded(torch.arange(20)).tolist()
    said = [task.text.tokenizer.decode(spoiled([t for t in row if t][:-1], n)) for n, row in enumerate(tokens)]
    options = {"tokenize": given.get("words", "13a"), "lowercase": given.get("lowercase", False)}
    theirs = sacrebleu.corpus_bleu(said, [references], force=True, **options)
    assert 20 < found["bleu", None] < 90
    assert found["bleu", None] == theirs.score
    assert [found["bleu_precision", n] for n in (1, 2, 3, 4)] == list(theirs.precisions)
    assert found["brevity_penalty", None] == theirs.bp < 1
    assert found["length_ratio", None] == pytest.approx(theirs.sys_len / theirs.ref_len)
    copied = sacrebleu.corpus_bleu(sources, [references], force=True, **options).score
    assert found["copy_bleu", None] == copied < found["bleu", None]
    alone = [sacrebleu.sentence_bleu(s, [r], **options).score for s, r in zip(said[:5], references, strict=False)]
    assert [found["sentence_bleu", n] for n in range(1, 6)] == alone


def test_splits_sentences_and_the_greatest_length_are_those_asked_for_and_cost_grows_with_them(golden):
    state = parrot(task_of(), "validation")
    assert bleu(state, split="validation", each=99, **EXACT)["bleu", None] == pytest.approx(100)
    assert max(n for q, n in bleu(state, split="validation", each=99, **EXACT) if q == "sentence_bleu") == 20
    with golden.raises(LabError):
        bleu(state, split="validation", sentences=21)
    # Of one token, the end mark, nothing is left.
    found = bleu(parrot(task_of()), max_len_a=0.0, max_len_b=1)
    assert (found["bleu", None], found["length_ratio", None]) == (0, 0)
    cost = {(n, b): probes["bleu"].facts.passes({"sentences": n, "beam": b}) for n in (None, 100) for b in (1, 5)}
    assert cost[100, 1] == 100 / 25 * 20 / 2
    assert cost[None, 1] == 10 * cost[100, 1]
    assert cost[None, 5] == 5 * cost[None, 1]


# --- the model is used and not touched


@pytest.mark.parametrize("kind", ["bleu", "translations"])
def test_dropout_is_off_and_nothing_is_left_behind(kind):
    training, evaluation = real(), real()
    training.model.train()
    training.model.encoder.layers[0].eval()
    before, choice = snapshot(training.model), probes.resolve({"kind": kind, "sentences": 8, "beam": 2})
    evaluation.model.eval()
    found = [measure(each, Measurement("key", 0, choice), REGISTRIES) for each in (training, evaluation)]
    assert found[0] == found[1]
    assert changed(before, snapshot(training.model)) == []
    assert all(row["measurement"] == "key" for row in found[0][1])


def test_under_batch_norm_no_translation_depends_on_those_beside_it():
    state = real("batch")
    few, many = (texts(state, sentences=n) for n in (3, 30))
    assert {key: many[key] for key in few} == few
    assert any(text for (quantity, _), text in few.items() if quantity == "hypothesis")


@pytest.mark.parametrize("kind", ["bleu", "translations"])
def test_what_does_not_translate_is_the_users_mistake(kind, state, golden):
    with golden.raises(LabError):
        list(probes[kind].build(state()))


# --- texts


def test_texts_of_the_toy_corpus_are_shown():
    task = task_of()
    found = texts(parrot(task), sentences=3, **EXACT)
    for number, (source, reference) in enumerate(task.corpus(()).splits["test"][:3], 1):
        assert found["source", number] == source
        assert found["reference", number] == found["hypothesis", number] == reference
    assert found["signature", None] == f"nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:{sacrebleu.__version__}"
    assert len(found) == 10


@pytest.fixture
def own(tmp_path):
    """A corpus of the user's own, of which the second test sentence is empty and the fourth is too long."""
    test = ["ein geheimer Satz", "", "zwei geheime Wörter", "lang " * 30, "drei geheime Wörter hier"]
    for side in ("de", "en"):
        (tmp_path / f"train.{side}").write_text("".join(f"{text} {side}\n" for text in test * 5))
        (tmp_path / f"test.{side}").write_text("".join(f"{text} {side}\n" if text else "\n" for text in test))
    files = {split: [f"{split}.de", f"{split}.en"] for split in ("train", "test")}
    return task_of({"kind": "parallel_text", **files, "held_out": 0.0}, (tmp_path,), max_length=20)


def test_texts_of_any_other_corpus_are_kept_back(own):
    found = texts(parrot(own), sentences=3, **EXACT)
    assert [key for key in found if key[0] == "hypothesis"] == [("hypothesis", n) for n in (1, 3, 5)]
    shown = {key for key, text in found.items() if text is not None}
    assert shown == {("signature", None)}
    assert not any("geheim" in str(text) for text in found.values())


def test_sentences_are_counted_as_the_lines_of_their_split(own):
    found = bleu(parrot(own), each=9, **EXACT)
    assert [n for quantity, n in found if quantity == "sentence_bleu"] == [1, 3, 5]
    assert found["bleu", None] == pytest.approx(100)
