"""For any registered piece, whoever registers it: its smallest parameters, and a setting in which it plays its part."""

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

from lnlab.catalogue import REGISTRIES
from lnlab.compile.checks.contradictions import contradictions
from lnlab.compile.resolve.resolve import resolve_setting
from lnlab.compile.work import ResolvedSetting, Trajectory
from lnlab.execute.program import build
from lnlab.probes.probe import State
from lnlab.registry import Choice, Entry, Flawed, Roots
from tests.support.trained import trained

SMALL: dict[str, Any] = {
    "d_model": 16,
    "heads": 2,
    "d_ff": 24,
    "factor": 0.5,
    "spec": "other.yaml",
    "at_most": 3.0,
    "train": ["left.txt", "right.txt"],
    "files": ["left.txt"],
    "file": "labels.csv",
    "tensors": ["w1"],
    "corpus": {"kind": "toy_german_english", "train": 60, "validation": 20, "test": 20},
    "labelled_corpus": {"kind": "toy_finance", "sentences": 60},
}
"""By the name of a parameter, or by the kind of a choice: its value where it has no default."""
TINY = {
    "toy_german_english": SMALL["corpus"],
    "toy_english": {"train": 60, "validation": 20, "test": 20},
    "language_modeling": {
        "corpus": {"kind": "toy_english", "train": 60, "validation": 20, "test": 20},
        "vocabulary": 60,
        "length": 8,
        "windows": 2,
    },
    "output_perturbation": {"draws": 1},
    "batches": 2,
    "adam_2k": {"freeze": 4},
    "step": {"at": [20]},
    "warmup_steps": 8,
    "patience": 2,
    "hessian_spectrum": {"draws": 2, "steps": 4, "precision": "float64"},
    "sharpness": {"precision": "float64", "tolerance": 1e-4},
    "psi_variance": {"trajectories": 40, "steps": 30},
    "bleu": {"sentences": 3, "each": 2},
    "translations": {"sentences": 2},
}
"""By the name of an entry or of a parameter: its value in place of a default that takes long or does nothing."""

LABELS = {"kind": "random_tokens", "vocabulary": 40, "sentences": 3, "length": 5, "classes": 3}
TEXT = {"kind": "translation", "corpus": SMALL["corpus"], "vocabulary": 60, "batch_tokens": 32}
TASKS = ({**LABELS, "classes": None}, LABELS, TEXT)
SETTING = ("task", "model", "norm", "placement", "attention", "init")
MODELS = ("encoder_decoder", "encoder", "language_model", "classifier")


def measurable(kind: str) -> list[Entry[Any]]:
    """All entries of a kind but the inits whose values are a model's of a user's own, or another run's."""
    elsewhere = ("own", "continues")
    return [entry for entry in REGISTRIES[kind] if not any(getattr(entry.facts, fact, False) for fact in elsewhere)]


def smallest(entry: Entry[Any]) -> Choice:
    """A choice of this entry in which every required parameter, and every one that would take long, is small."""
    needed = [name for name, p in entry.keywords.items() if p.default is p.empty and name != "where"]
    kinds = {name: registry.kind for name, registry in entry.nested.items()}
    required = {name: SMALL.get(kinds.get(name, name), SMALL.get(name)) for name in needed}
    quick = {name: TINY[name] for name in entry.keywords if name in TINY}
    where = {"tensor": "in" if getattr(entry.facts, "acts_on", None) == "function" else "w1"}
    place = {"where": where} if "where" in entry.keywords else {}
    return {"kind": entry.name} | required | quick | place | TINY.get(entry.name, {})


def built(entry: Entry[Any]) -> Callable[..., Any]:
    """The builder of its smallest choice, which waits for what the lab supplies."""
    registry = REGISTRIES[entry.kind]
    return registry.builder(registry.resolve(smallest(entry)))


def setting_with(entry: Entry[Any], **overrides: Any) -> ResolvedSetting:
    """The first setting that holds this entry and contradicts nothing; keys as a spec writes them.

    Raises:
        LookupError: there is none.
    """
    reason = ""
    for candidate in _candidates(entry, overrides):
        try:
            setting = resolve_setting(candidate, REGISTRIES)
        except Flawed as flawed:
            reason = str(flawed)
            continue
        flaws = contradictions(setting, REGISTRIES)
        if not flaws:
            return setting
        reason = flaws[0].what
    raise LookupError(f"no setting suits {entry.kind} '{entry.name}': {reason}")


def state_of(setting: ResolvedSetting, seed: int = 1, roots: Roots = ()) -> State:
    """The state at initialization, built as in a run."""
    return build(Trajectory("tests", seed, setting, 0, ()), REGISTRIES, roots)


def state_for(choice: Choice, setting: ResolvedSetting, roots: Roots = ()) -> State:
    """As ``state_of``; after three updates where a probe reads them, Adam's moments, or the next update."""
    state = state_of(setting, roots=roots)
    return trained(state) if sees_training(choice) else state


def sees_training(choice: Choice) -> bool:
    """Whether a probe needs updates before it."""
    probe, resolved = REGISTRIES["probe"][choice["kind"]], REGISTRIES["probe"].resolve(choice)
    adams = resolved.get("coordinates") == "adam" or "preconditioned" in str(resolved.get("operator"))
    return bool(probe.facts.ahead(resolved) or adams or probe.facts.trained)


def pieces_of(setting: ResolvedSetting) -> dict[str, int]:
    """Every entry that a setting names, with its version."""
    versions: dict[str, int] = {}

    def visit(kind: str, choice: Choice) -> None:
        entry = REGISTRIES[kind][choice["kind"]]
        versions[f"{kind} {entry.name}"] = entry.version
        for name, registry in entry.nested.items():
            visit(registry.kind, choice[name])

    for kind in ("task", "model", "init"):
        visit(kind, setting[kind])
    for stack in REGISTRIES["model"][setting["model"]["kind"]].facts.stacks:
        for kind in ("norm", "placement", "attention"):
            visit(kind, setting[stack][kind])
    return versions


def speaks(entry: Entry[Any]) -> bool:
    """Whether it is a probe that needs a model and a task that translate."""
    return entry.kind == "probe" and bool(entry.facts.translates)


def _candidates(entry: Entry[Any], overrides: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Settings that might suit an entry, the plainest first."""
    chosen = {entry.kind: smallest(entry)} if entry.kind in SETTING else {}
    models = [entry.name] if entry.kind == "model" else MODELS
    both = getattr(entry.facts, "norm_of", None) == "both"  # of four layers, a quarter is one
    shape = {"layers": 4 if both else 2} | {word: SMALL[word] for word in ("d_model", "heads", "d_ff")}
    tasks = (TEXT,) if speaks(entry) else TASKS
    for task, placement, tied, name in product(tasks, _placements(), ({}, {"tied": "none"}), models):
        parts = REGISTRIES["model"][name].nested.items()
        inside = {word: smallest(entry) for word, registry in parts if registry.kind == entry.kind}
        plain = {"task": task, "placement": placement, "model": {"kind": name} | shape | tied | inside}
        needed = {"norm": entry.facts.norm} if getattr(entry.facts, "norm", None) else {}
        yield plain | needed | {key: value for key, value in chosen.items() if key != "model"} | overrides


def _placements() -> Iterator[Choice]:
    """The plainest first; those that wait for what an init will write into them, waiting."""
    yield from ({"kind": "pre"}, {"kind": "post"})
    for entry in REGISTRIES["placement"]:
        word, value = entry.facts.waits or (None, None)
        yield {"kind": entry.name} if word is None else {"kind": entry.name, word: value}
