"""What a registered piece computes on a fixed tiny input, as a few numbers that may be kept and compared."""

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from inspect import signature
from itertools import islice
from typing import Any

import torch
from torch import Tensor, nn

from lnlab.catalogue import REGISTRIES
from lnlab.corpora import wmt14
from lnlab.corpora.vocabulary.tokenizers import learn_tokenizer
from lnlab.keys import digest
from lnlab.nn.batch_norm import batch_statistics
from lnlab.probes.probe import State
from lnlab.registry import Choice, Entry, Roots
from tests.support.pieces import SMALL, built, pieces_of, setting_with, smallest, state_for, state_of

Numbers = dict[str, Any]
Measured = tuple[dict[str, int], Numbers]
"""The versions of all that an entry is measured with, and its numbers."""
DIGITS = 8
COLUMNS = {"value": "", "text": "", "left": " left", "count": " count", "node": " node", "weight": " weight"}
"""Of a probe's rows, those whose numbers are kept, and what is said of them."""


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
    names = [f"iwslt14/{split}.{language}" for split in ("train", "valid", "test") for language in ("de", "en")]
    plain = [f"wmt14/{name}" for forms in wmt14.WMT14_PARTS for name in next(n for n in forms if n[0].endswith(".en"))]
    for name in (*SMALL["train"], *names, *plain):
        (roots[0] / name).parent.mkdir(exist_ok=True)
        (roots[0] / name).write_text("".join(f"{name} line {n} of ei@@ nes\n" for n in range(20)))
    corpus = built(entry)(roots)
    return {}, {"text": corpus.digest}


def _of_a_text_corpus(entry: Entry[Any], roots: Roots) -> Measured:
    """The digest of its passages, where a file has a line each in the folder."""
    for name in SMALL["files"]:
        (roots[0] / name).write_text("".join(f"{name} line {n}\n" for n in range(20)))
    return {}, {"text": built(entry)(roots).digest}


def _of_a_labelled_corpus(entry: Entry[Any], roots: Roots) -> Measured:
    """The digest of its sentences and labels."""
    (roots[0] / SMALL["file"]).write_text("text,label\n" + "".join(f"line {n},{n % 2}\n" for n in range(20)))
    return {}, {"text": built(entry)(roots).digest}


def _of_a_tokenizer(entry: Entry[Any], roots: Roots) -> Measured:
    """What it makes of sentences, those that it has learned from and one that it has not."""
    toy = REGISTRIES["corpus"]["toy_german_english"]
    corpus = built(toy)(roots)
    texts = [side for pair in corpus.splits["train"] for side in pair]
    tokenizer = learn_tokenizer(built(entry), texts, 90, roots)
    encoded = tokenizer.encode([*texts[:20], "Ein völlig neues Wort: Zwölftonmusik!"])
    return {f"corpus {toy.name}": toy.version}, {
        "tokens": digest([list(row) for row in encoded]),
        "text": digest([tokenizer.decode(row) for row in encoded]),
    }


def _of_a_probe(entry: Entry[Any], roots: Roots) -> Measured:
    return numbers_of_a_probe(smallest(entry), roots)


def numbers_of_a_probe(choice: Choice, roots: Roots) -> Measured:
    """Every quantity that it measures, in Post-LN and in Pre-LN."""
    numbers: Numbers = {}
    with_it: dict[str, int] = {}
    probe = REGISTRIES["probe"]
    entry, measure = probe[choice["kind"]], probe.builder(probe.resolve(choice))
    for placement in ("post", "pre"):
        setting = setting_with(entry, placement=placement)
        with_it |= pieces_of(setting)
        rows = list(measure(state_for(choice, setting, roots)))
        named = [(row.get("quantity", row.get("operator")), row) for row in rows]
        for quantity in sorted({name for name, _ in named}):
            for column, said in COLUMNS.items():
                values = [_number(x) for name, row in named if name == quantity for x in _several(row.get(column))]
                numbers |= {f"{placement} {quantity}{said}": summary(values)} if values else {}
    return with_it, numbers


def _of_an_optimizer(entry: Entry[Any], roots: Roots) -> Measured:
    """Where weights are after each of some updates, under slopes and a rate that change; half of them decay."""
    shape = (1, 5) if entry.name == "muon" else (5,)  # it moves matrices alone
    weights, gates = (nn.Parameter(torch.linspace(-1, 2, 5, dtype=torch.float64).view(shape)) for _ in range(2))
    groups = [{"params": [weights], "weight_decay": 0.1}, {"params": [gates], "weight_decay": 0.0}]
    if entry.facts.splits:
        weights.data = weights.data.view(1, 5)
        groups = [{**group, "hidden": group["params"][0] is weights} for group in groups]
    optimizer = built(entry)(groups)
    path = []
    for t in range(1, 13):
        for group in optimizer.param_groups:
            group["lr"] *= 1 + (t % 3) / 2
            for p in group["params"]:
                p.grad = p.detach() ** 3 + torch.linspace(-2, 1, 5, dtype=torch.float64).view(p.shape) / t
        optimizer.step()
        path += [weights.detach().flatten().clone(), gates.detach().flatten().clone()]
    return {}, {"path": summary(torch.cat(path)), "moved": summary(torch.cat(path[-2:]) - torch.cat(path[:2]))}


def _of_a_schedule(entry: Entry[Any], roots: Roots) -> Measured:
    """The factors of 40 updates, 30 of which are all that there are, in epochs of 7."""
    supplied = {"steps": 30, "epoch": 7.0}
    factor = built(entry)(**{name: supplied[name] for name in signature(entry.build).parameters if name in supplied})
    return {}, {"factors": summary(factor(t) for t in range(1, 41))}


def _of_a_stop(entry: Entry[Any], roots: Roots) -> Measured:
    """How and when it ends runs that rise, fall and rest, fall for ever, or break."""
    runs = {
        "rising": [4 + t for t in range(12)],
        "resting": [4 - min(t, 4) / 8 for t in range(12)],
        "falling": [4 / (1 + t / 8) for t in range(12)],
        "breaking": [4.0, 3.9, math.nan, 3.8],
    }
    rule, numbers = built(entry)(), Numbers()
    for name, losses in runs.items():
        curve = list(enumerate(losses))
        endings = [rule({("train", "loss"): curve[:n], ("validation", "nll"): curve[:n]}) for n in range(1, len(curve))]
        numbers[name] = digest([ending and [ending.status, ending.reason] for ending in endings])
    return {}, numbers


def _several(value: Any) -> list[Any]:
    """The characters of a text, a number alone, nothing for nothing."""
    return [] if value is None else list(value) if isinstance(value, str) else [value]


def _number(value: Any) -> float:
    """A number, or that of a character."""
    return float(ord(value)) if isinstance(value, str) else value


MEASURES: dict[str, Callable[[Entry[Any], Roots], Measured]] = {
    "corpus": _of_a_corpus,
    "labelled_corpus": _of_a_labelled_corpus,
    "text_corpus": _of_a_text_corpus,
    "tokenizer": _of_a_tokenizer,
    "task": _of_a_task,
    "probe": _of_a_probe,
    "intervention": _of_an_intervention,
    "optimizer": _of_an_optimizer,
    "schedule": _of_a_schedule,
    "stop": _of_a_stop,
} | dict.fromkeys(("model", "norm", "placement", "attention", "linear", "feed_forward", "init"), _of_a_model)
