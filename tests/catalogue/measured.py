"""What a registered piece computes on a fixed tiny input, as a few numbers that may be kept and compared."""

import json
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from pieces import SMALL, pieces_of, setting_with, smallest, state_of

from lnlab.catalogue import REGISTRIES
from lnlab.keys import digest
from lnlab.nn.batch_norm import batch_statistics
from lnlab.registry import Entry, Roots

FIXTURE = Path(__file__).parents[1] / "fixtures" / "numbers.json"
DIGITS = 8
TOLERANCE = {"probe": 1e-3}
"""Of a kind that computes in float32; whatever is in float64 differs between machines by its float32 draws alone."""
PRECISE = 1e-4

Numbers = dict[str, Any]
Record = dict[str, Any]


def record_of(entry: Entry[Any], roots: Roots) -> Record:
    """The version of an entry, the versions of whatever it is measured with, and its numbers.

    Args:
        entry: of a kind in ``MEASURES``.
        roots: a folder in which anything may be written, and those that may hold real corpora.

    Raises:
        CorpusError: the entry needs a corpus that is not there.
    """
    with_it, numbers = MEASURES[entry.kind](entry, roots)
    own = f"{entry.kind} {entry.name}"
    others = {name: version for name, version in sorted(with_it.items()) if name != own}
    return {"version": entry.version, "with": others, "numbers": numbers}


def complaint(kind: str, kept: Record | None, found: Record) -> str:
    """What is wrong between the record that is kept and the one found now; empty where nothing is."""
    if kept is None:
        return "its numbers are not kept yet: run `make numbers`"
    moved = moves(kept["numbers"], found["numbers"], TOLERANCE.get(kind, PRECISE))
    if found["version"] != kept["version"]:
        return f"its version went from {kept['version']} to {found['version']}: run `make numbers`"
    if moved and kept["with"] != found["with"]:
        return f"its numbers moved with what they are measured with ({', '.join(moved)}): run `make numbers`"
    return f"its numbers moved and its version did not ({', '.join(moved)}): raise it" if moved else ""


def moves(kept: Numbers, found: Numbers, tolerance: float) -> list[str]:
    """The names of the numbers that differ by more than a relative tolerance; digests must be equal."""
    return sorted(name for name in kept.keys() | found.keys() if not _same(kept.get(name), found.get(name), tolerance))


def read() -> dict[str, Record]:
    """The records that are kept, by kind and name."""
    kept: dict[str, Record] = json.loads(FIXTURE.read_text()) if FIXTURE.exists() else {}
    return kept


def write(records: dict[str, Record]) -> None:
    """One line an entry, in order, so that two branches that add entries can be merged."""
    lines = [f'"{name}": {json.dumps(records[name])}' for name in sorted(records)]
    FIXTURE.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def summary(values: torch.Tensor | Iterable[float]) -> list[float]:
    """How many, their mean size, and their mean along a ramp from -1 to 1, which no permutation leaves as it is."""
    x = torch.as_tensor(values if isinstance(values, torch.Tensor) else list(values), dtype=torch.float64).flatten()
    ramp = torch.linspace(-1, 1, len(x), dtype=torch.float64)
    return [len(x), *(float(f"{value:.{DIGITS}g}") for value in (x.abs().mean().item(), (x * ramp).mean().item()))]


def _same(kept: Any, found: Any, tolerance: float) -> bool:
    if not isinstance(kept, list) or not isinstance(found, list):
        return bool(kept == found)
    off = [abs(one - two) for one, two in zip(kept, found, strict=True)]
    return off[0] == 0 and all(each <= tolerance * kept[1] for each in off)


def _of_a_model(entry: Entry[Any], _roots: Roots) -> tuple[dict[str, int], Numbers]:
    """First values, and what logits and gradients are with padding, in float64, once no weight is a constant."""
    setting = setting_with(entry)
    state = state_of(setting)
    model = state.model.double()
    first = torch.cat([p.detach().flatten() for p in model.parameters()])
    with torch.no_grad():
        for i, p in enumerate(model.parameters()):
            p += 0.05 * torch.linspace(-1, 1, p.numel(), dtype=torch.float64).view(p.shape) * (1 + i % 3)
    batch = state.batches(1)[0]
    padded = [tokens.clone() for tokens in (batch.source, batch.target_in)]
    for tokens in padded:
        tokens[1, 3:] = 0
    with batch_statistics(model):
        logits = model(replace(batch, source=padded[0], target_in=padded[1]))
    towards = (logits * torch.linspace(1, 2, logits.numel(), dtype=torch.float64).view(logits.shape)).sum()
    gradients = torch.autograd.grad(towards, list(model.parameters()))
    found = {"first values": first, "logits": logits.detach(), "gradients": torch.cat([g.flatten() for g in gradients])}
    return pieces_of(setting), {name: summary(values) for name, values in found.items()}


def _of_a_task(entry: Entry[Any], roots: Roots) -> tuple[dict[str, int], Numbers]:
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


def _of_a_corpus(entry: Entry[Any], roots: Roots) -> tuple[dict[str, int], Numbers]:
    """The digest of its text, where files have a line each in the folder."""
    (roots[0] / "iwslt14").mkdir(exist_ok=True)
    names = [f"iwslt14/{split}.{language}" for split in ("train", "valid", "test") for language in ("de", "en")]
    for name in (*SMALL["train"], *names):
        (roots[0] / name).write_text("".join(f"{name} line {n} of ei@@ nes\n" for n in range(20)))
    corpus = REGISTRIES["corpus"].builder(REGISTRIES["corpus"].resolve(smallest(entry)))(roots)
    return {}, {"text": corpus.digest}


def _of_a_tokenizer(entry: Entry[Any], roots: Roots) -> tuple[dict[str, int], Numbers]:
    """What it makes of sentences, those that it has learned from and one that it has not."""
    corpus = REGISTRIES["corpus"].builder(REGISTRIES["corpus"].resolve(SMALL["corpus"]))(roots)
    texts = [side for pair in corpus.splits["train"] for side in pair]
    tokenizer = REGISTRIES["tokenizer"].builder(REGISTRIES["tokenizer"].resolve(smallest(entry)))(texts, 90)
    encoded = tokenizer.encode([*texts[:20], "Ein völlig neues Wort: Zwölftonmusik!"])
    return {"corpus toy_german_english": REGISTRIES["corpus"]["toy_german_english"].version}, {
        "tokens": digest([list(row) for row in encoded]),
        "text": digest([tokenizer.decode(row) for row in encoded]),
    }


def _of_a_probe(entry: Entry[Any], _roots: Roots) -> tuple[dict[str, int], Numbers]:
    """Every quantity that it measures, in Post-LN and in Pre-LN."""
    numbers: Numbers = {}
    with_it: dict[str, int] = {}
    for placement in ("post", "pre"):
        setting = setting_with(entry, placement=placement)
        with_it |= pieces_of(setting)
        choice = REGISTRIES["probe"].resolve(entry.name)
        choice |= {"batches": 2} if "batches" in choice else {}
        rows = list(REGISTRIES["probe"].builder(choice)(state_of(setting)))
        for quantity in sorted({row["quantity"] for row in rows}):
            numbers[f"{placement} {quantity}"] = summary(r["value"] for r in rows if r["quantity"] == quantity)
    return with_it, numbers


MEASURES: dict[str, Callable[[Entry[Any], Roots], tuple[dict[str, int], Numbers]]] = {
    "corpus": _of_a_corpus,
    "tokenizer": _of_a_tokenizer,
    "task": _of_a_task,
    "probe": _of_a_probe,
} | dict.fromkeys(("model", "norm", "placement", "attention", "init"), _of_a_model)
