"""Batches that carry a mask of padding: losses and quantities of the tokens alone, against autograd by hand."""

import pytest
import torch
from torch import nn

import lnlab
from tests.support.refusals import one_line

WORDS, WIDTH, IGNORED = 11, 8, -100
PROBES = [
    {"kind": "gradient_norm", "biases": True},
    "hidden_norm",
    "stream_gradient",
    "activation_moments",
    "norm_concentration",
]


def masked_batches():
    """Batches of sentences of different lengths, with labels at some of their tokens."""
    generator = torch.Generator().manual_seed(3)
    batches = []
    for lengths in ((6, 3, 2), (5, 4)):
        tokens = torch.randint(1, WORDS, (len(lengths), max(lengths)), generator=generator)
        present = torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]
        masked = present & (torch.rand(tokens.shape, generator=generator) < 0.6)
        labels = tokens.where(masked, IGNORED)
        batches.append({"input_ids": tokens * present, "attention_mask": present.long(), "labels": labels})
    return batches


def bert():
    library = pytest.importorskip("transformers", reason="transformers is not installed")
    sizes = {"hidden_size": WIDTH, "intermediate_size": 12, "num_hidden_layers": 2, "num_attention_heads": 2}
    torch.manual_seed(4)
    return library.BertForMaskedLM(library.BertConfig(**sizes, vocab_size=WORDS)).eval()


def masked_words(model, batch):
    """The sum over the words that are asked for, and their number."""
    logits = model(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"]).logits
    loss = nn.functional.cross_entropy(logits.flatten(0, 1), batch["labels"].flatten(), reduction="sum")
    return loss, int((batch["labels"] != IGNORED).sum())


def lengthened(batch, by=3):
    """The same batch with more padding, whose tokens are no padding by their number."""
    more = {"input_ids": 7, "attention_mask": 0, "labels": IGNORED}
    return {name: nn.functional.pad(x, (0, by), value=more[name]) for name, x in batch.items()}


def attention_mask(batch):
    return batch["attention_mask"]


def measured(batches):
    return lnlab.measure(bert(), batches, masked_words, probes=PROBES, mask=attention_mask)


def test_gradients_are_those_of_the_mean_over_the_words_asked_for():
    model, batches = bert(), masked_batches()
    sums, counts = zip(*(masked_words(model, batch) for batch in batches), strict=True)
    assert len(set(counts)) > 1
    (sum(sums) / sum(counts)).backward()
    rows = measured(batches).frame("gradient_norm").filter(quantity="gradient_norm")
    expected = {name: p.grad.norm().item() for name, p in model.named_parameters()}
    assert {row["path"]: row["value"] for row in rows.rows(named=True)} == {
        path: pytest.approx(expected[path], rel=1e-5, abs=1e-9) for path in rows["path"]
    }
    assert set(expected) - set(rows["path"]) == {  # softmax does not see the bias of keys
        f"bert.encoder.layer.{n}.attention.self.key.bias" for n in (0, 1)
    }


def test_the_stream_is_that_of_tokens_alone():
    model, batches = bert(), masked_batches()
    m = measured(batches)
    at = {"layer": 2, "sublayer": "feed_forward", "tensor": "out"}
    norms, squares = [], []
    for batch in batches:
        out = model(
            input_ids=batch["input_ids"], attention_mask=batch["attention_mask"], output_hidden_states=True
        ).hidden_states[2]
        present = batch["attention_mask"].bool()
        norms.append(out[present].norm(dim=-1))
        loss = (
            nn.functional.cross_entropy(
                model.cls(out).flatten(0, 1), batch["labels"].flatten(), reduction="sum", ignore_index=IGNORED
            )
            / (batch["labels"] != IGNORED).sum()
        )
        squares.append(torch.autograd.grad(loss, out)[0][present].square().sum())
    hidden = m.frame("hidden_norm").filter(quantity="hidden_norm", **at)["value"].item()
    assert hidden == pytest.approx(torch.cat(norms).mean().item(), rel=1e-5)
    gradient = m.frame("stream_gradient").filter(**at)["value"].item()
    assert gradient == pytest.approx((sum(squares) / len(squares)).sqrt().item(), rel=1e-5)


def test_more_padding_changes_nothing():
    short, long = measured(masked_batches()), measured([lengthened(batch) for batch in masked_batches()])
    for probe in ("gradient_norm", "hidden_norm", "stream_gradient", "activation_moments", "norm_concentration"):
        one, other = (m.frame(probe) for m in (short, long))
        assert one.drop("value").equals(other.drop("value"))
        largest = one["value"].abs().max()
        assert one["value"].to_list() == pytest.approx(other["value"].to_list(), rel=1e-4, abs=1e-7 * largest)


def test_without_a_mask_every_position_counts():
    long = [lengthened(batch) for batch in masked_batches()]
    m = lnlab.measure(bert(), long, masked_words, probes=["hidden_norm"])
    with torch.no_grad():
        embedded = torch.cat([bert().bert.embeddings(batch["input_ids"]).flatten(0, 1) for batch in long])
    values = m.frame("hidden_norm").filter(quantity="hidden_norm", sublayer="embedding")["value"].to_list()
    assert values == [pytest.approx(embedded.norm(dim=-1).mean().item(), rel=1e-5)]


class TwoStacks(nn.Module):
    """An encoder's and a decoder's stream of different lengths."""

    def __init__(self):
        super().__init__()
        self.left, self.right = nn.Embedding(WORDS, 4), nn.Embedding(WORDS, 4)

    def forward(self, source, target):
        return self.left(source).mean(1, keepdim=True) + self.right(target)


def test_each_stack_may_have_its_own_mask():
    torch.manual_seed(5)
    model, source, target = TwoStacks(), torch.tensor([[1, 2, 0]]), torch.tensor([[3, 0]])
    m = lnlab.measure(
        model,
        [(source, target)],
        lambda f, batch: f(*batch).square().mean(),
        probes=["hidden_norm"],
        stream={"left": "encoder.embedding.out", "right": "decoder.embedding.out"},
        mask=lambda batch: {"encoder": batch[0] != 0, "decoder": batch[1] != 0},
    )
    values = dict(m.frame("hidden_norm").filter(quantity="hidden_norm").select("stack", "value").rows())
    assert values == {
        "encoder": pytest.approx(model.left.weight[1:3].norm(dim=-1).mean().item(), rel=1e-6),
        "decoder": pytest.approx(model.right.weight[3].norm().item(), rel=1e-6),
    }


@pytest.mark.parametrize(
    "mask",
    [lambda _: torch.ones(2, 3), lambda _: None, lambda _: {"decoder": torch.ones(2, 5)}, lambda _: torch.zeros(2, 5)],
)
def test_a_mask_that_does_not_fit_is_one_message(mask, golden):
    model = nn.Sequential(nn.Linear(4, 4), nn.Tanh())
    golden(
        one_line(
            lnlab.measure,
            model,
            [torch.ones(2, 5, 4)],
            lambda f, x: f(x).square().mean(),
            probes=["hidden_norm"],
            stream={"0": "encoder.embedding.out"},
            mask=mask,
        )
    )
