"""What a registered piece computes on a fixed tiny input, as a few numbers that may be kept and compared."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import islice
from typing import Any

import torch
from pieces import SMALL, built, pieces_of, setting_with, state_of
from torch import Tensor, nn

from lnlab.catalogue import REGISTRIES
from lnlab.keys import digest
from lnlab.nn.batch_norm import batch_statistics
from lnlab.probes.probe import State
from lnlab.registry import Entry, Roots

Numbers = dict[str, Any]
Measured = tuple[dict[str, int], Numbers]
"""The versions of all that an entry is measured with, and its numbers."""
DIGITS = 8


def summary(values: torch.Tensor | Iterable[float]) -> list[float]:
    """How many, their mean size, and their mean along a ramp from -1 to 1, which no permutation leaves as it is."""
    x = torch.as_tensor(values if isinstance(values, torch.Tensor) else list(values), dtype=torch.float64).flatten()
    ramp = torch.linspace(-1, 1, len(x), dtype=torch.float64)
    return [len(x), *(float(f"{value:.{DIGITS}g}") for value in (x.abs().mean().item(), (x * ramp).mean().item()))]


def _of_a_model(entry: Entry[Any], roots: Roots) -> Measured:
    """First values, and what logits and gradients are once no weight is a constant."""
    setting = setting_with(entry)
    state = state_of(setting, roots=roots)
    first = torch.cat([p.detach().flatten() for p in state.model.parameters()])
    model = _rough(state)
    logits = _answered(state)
    numbers = {"first values": first, "logits": logits, "gradients": _gradients(model)}
    return pieces_of(setting), {name: summary(values) for name, values in numbers.items()}


def _of_an_intervention(entry: Entry[Any], roots: Roots) -> Measured:
    """Logits and gradients inside, and where a step of gradient descent with momentum leads."""
    setting = setting_with(entry)
    state = state_of(setting, roots=roots)
    model = _rough(state)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    with built(entry)(model, optimizer):
        logits = _answered(state)
        gradients = _gradients(model)
        optimizer.step()
    after = torch.cat([p.detach().flatten() for p in model.parameters()])
    numbers = {"logits": logits, "gradients": gradients, "after a step": after}
    return pieces_of(setting), {name: summary(values) for name, values in numbers.items()}


def _rough(state: State) -> nn.Module:
    """Its model in float64 with a ramp on every parameter, so that no scale is 1 and no gate closed."""
    with torch.no_grad():
        for i, p in enumerate(state.model.double().parameters()):
            p += 0.05 * torch.linspace(-1, 1, p.numel(), dtype=torch.float64).view(p.shape) * (1 + i % 3)
    return state.model


def _answered(state: State) -> Tensor:
    """The logits of a batch with padding; a sum of all of them, differently weighted, goes back to every parameter."""
    batch = state.batches(1)[0]
    padded = [tokens.clone() for tokens in (batch.source, batch.target_in)]
    for tokens in padded:
        tokens[-1, 3:] = 0
    with batch_statistics(state.model):
        logits: Tensor = state.model(replace(batch, source=padded[0], target_in=padded[1]))
    (logits * torch.linspace(1, 2, logits.numel(), dtype=torch.float64).view(logits.shape)).sum().backward()
    return logits.detach()


def _gradients(model: nn.Module) -> Tensor:
    return torch.cat([torch.zeros(0) if p.grad is None else p.grad.flatten() for p in model.parameters()])


def _of_a_task(entry: Entry[Any], roots: Roots) -> Measured:
    """Batches of every split, and what a model in float64 loses on them."""
    setting = setting_with(entry)
    state = state_of(setting, roots=roots)
    numbers: Numbers = {}
    for split in ("train", "validation", "test"):
        batches = list(islice(state.task.batches(split, "numbers"), 2))
        tokens = [[b.source.tolist(), b.target_in.tolist(), b.target_out.tolist()] for b in batches]
        losses = [f(state.model.double(), b) for f in (state.task.loss, state.task.nll) for b in batches]
        numbers[f"{split} tokens"] = digest(tokens)
        numbers[f"{split} losses"] = summary(loss.item() / count for loss, count in losses)
    return pieces_of(setting), numbers


def _of_a_corpus(entry: Entry[Any], roots: Roots) -> Measured:
    """The digest of its text, where files have a line each in the folder."""
    (roots[0] / "iwslt14").mkdir(exist_ok=True)
    names = [f"iwslt14/{split}.{language}" for split in ("train", "valid", "test") for language in ("de", "en")]
    for name in (*SMALL["train"], *names):
        (roots[0] / name).write_text("".join(f"{name} line {n} of ei@@ nes\n" for n in range(20)))
    corpus = built(entry)(roots)
    return {}, {"text": corpus.digest}


def _of_a_tokenizer(entry: Entry[Any], roots: Roots) -> Measured:
    """What it makes of sentences, those that it has learned from and one that it has not."""
    toy = REGISTRIES["corpus"]["toy_german_english"]
    corpus = built(toy)(roots)
    texts = [side for pair in corpus.splits["train"] for side in pair]
    tokenizer = built(entry)(texts, 90)
    encoded = tokenizer.encode([*texts[:20], "Ein völlig neues Wort: Zwölftonmusik!"])
    return {f"corpus {toy.name}": toy.version}, {
        "tokens": digest([list(row) for row in encoded]),
        "text": digest([tokenizer.decode(row) for row in encoded]),
    }


def _of_a_probe(entry: Entry[Any], roots: Roots) -> Measured:
    """Every quantity that it measures, in Post-LN and in Pre-LN."""
    numbers: Numbers = {}
    with_it: dict[str, int] = {}
    for placement in ("post", "pre"):
        setting = setting_with(entry, placement=placement)
        with_it |= pieces_of(setting)
        rows = list(built(entry)(state_of(setting, roots=roots)))
        for quantity in sorted({row["quantity"] for row in rows}):
            values = (number for r in rows if r["quantity"] == quantity for number in _numbers_of(r))
            numbers[f"{placement} {quantity}"] = summary(values)
    return with_it, numbers


def _numbers_of(row: dict[str, Any]) -> list[float]:
    """Its value, or the characters of its text."""
    return [row["value"]] if "value" in row else [float(ord(letter)) for letter in row["text"]]


MEASURES: dict[str, Callable[[Entry[Any], Roots], Measured]] = {
    "corpus": _of_a_corpus,
    "tokenizer": _of_a_tokenizer,
    "task": _of_a_task,
    "probe": _of_a_probe,
    "intervention": _of_an_intervention,
} | dict.fromkeys(("model", "norm", "placement", "attention", "linear", "init"), _of_a_model)
