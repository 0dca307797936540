"""Rules on how far the runs were trained: how much they learned, and at what scale."""

import math
from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean, median
from typing import Any

from lnlab.claims.claim import Verdict
from lnlab.keys import Json
from lnlab.referee.rule import Remark, rule
from lnlab.referee.study import Study, setting_part
from lnlab.referee.words import counted, in_words, spread

_BARELY = 0.15
"""A best run that ends less than this share of the entropy of words below it has barely learned."""
_LEARNS = 0.1
"""Nats below the loss of word frequencies from which a run has learned anything: below it rules of failure speak."""
_TRAINED_FROM = 50
"""Updates from which a run counts as trained: shorter ones look at the first updates on purpose."""

_LEARNED = ("learned_fraction", "bleu", "final_bleu", "accuracy")
_COMPARED = (("clipping", "clip", ("train", "clip")), ("weight decay", "decay", ("optimizer", "weight_decay")))
"""What else a source may state of its training: its word, its key, and where a setting has it."""


@rule("R3c", "Does anything of this size learn much?", "longer training, or a sentence that says so")
def barely_learns(study: Study) -> Iterator[Remark]:
    """Where the best run of the size and budget that a claim compares ends close to the loss of word frequencies."""
    by_size: dict[tuple[Json, ...], dict[tuple[Json, ...], list[float]]] = {}
    for run, gain in study.gains.items():
        point = study.points[run]
        setting = tuple(str(point.get(axis)) for axis in ("method", "optimizer.lr", "schedule.warmup_steps"))
        by_size.setdefault(size_of_run(study, run), {}).setdefault(setting, []).append(gain)
    best = {size: max(median(gains) for gains in settings.values()) for size, settings in by_size.items()}
    claims_of: dict[str, list[str]] = {}
    for verdict in study.judged():
        runs = [run for arm in study.arms[verdict.claim] for run in arm.runs if run in study.gains]
        if not runs or not _asks_what_is_learned(study, verdict) or "frequenc" in verdict.says:
            continue
        run = min(runs, key=lambda run: best[size_of_run(study, run)])
        gain, entropy = best[size_of_run(study, run)], study.word_entropy[run]
        if _LEARNS <= gain < _BARELY * entropy:
            share = f"{gain / entropy:.0%}".replace("%", " %")
            says = f"The best run of this size ends only {share} below the loss of word frequencies."
            claims_of.setdefault(says, []).append(verdict.claim)
    for says, claims in claims_of.items():
        yield Remark(says, tuple(claims), grave=True)


def _asks_what_is_learned(study: Study, verdict: Verdict) -> bool:
    """Whether a claim compares what runs have learned: losses, shares of a loss, or the rates at which they train."""
    runs = (run for arm in study.arms[verdict.claim] for run in arm.runs)
    if any(setting_part(study.settings[run], "task").get("kind") == "classification" for run in runs):
        return False  # whose entropy is that of labels
    of_learning = study.is_loss(verdict.claim) or study.over(verdict.claim) is not None
    return of_learning or study.quantity(verdict.claim) in _LEARNED or verdict.kind == "status"


def size_of_run(study: Study, run: str) -> tuple[Json, ...]:
    """What a run could learn with: layers, width and updates."""
    setting = study.settings[run]
    layers = (setting_part(setting, stack).get("layers") for stack in ("encoder", "decoder"))
    return (*layers, setting_part(setting, "model").get("d_model"), study.run_facts[run]["steps"])


@rule("R9", "At what scale does it hold?")
def scale(study: Study) -> Iterator[Remark]:
    """Tokens per parameter, epochs and updates of the trained runs, and what the source has."""
    trained = [run for run, facts in study.run_facts.items() if (facts["steps"] or 0) >= _TRAINED_FROM]
    if not trained or not study.verdicts:
        return
    ratios = [ratio for run in trained if (ratio := _tokens_per_parameter(study, run)) is not None]
    epochs = [epochs for run in trained if (epochs := study.epochs.get(run))]
    updates = [study.run_facts[run]["steps"] for run in trained]
    parts = [f"{spread(ratios)} tokens per parameter"] if ratios else []
    parts += [f"{spread(epochs)} epochs"] if epochs else []
    least, most = min(updates), max(updates)
    parts.append(counted(most, "update") if least == most else f"{least:,} to {most:,} updates")
    apart = "; ".join(_against_the_source(study, trained, ratios, updates))
    yield Remark(f"{', '.join(parts)}.{f' The source: {apart}.' if apart else ''}")


def _tokens_per_parameter(study: Study, run: str) -> float | None:
    facts, tokens = study.run_facts[run], _tokens_of_update(study.settings[run])
    return tokens * facts["steps"] / facts["parameters"] if tokens and facts.get("parameters") else None


def _tokens_of_update(setting: Mapping[str, Any]) -> float | None:
    """Tokens that one update reads, where the task states them."""
    task, train = setting_part(setting, "task"), setting_part(setting, "train")
    tokens = task["windows"] * task["length"] if task.get("windows") else task.get("batch_tokens")
    return tokens * (train.get("accumulate") or 1) if tokens else None


def _against_the_source(
    study: Study, runs: Sequence[str], ratios: Sequence[float], updates: Sequence[int]
) -> Iterator[str]:
    """What the source has where it has something else."""
    source = study.source_setting
    sizes = [study.run_facts[run]["parameters"] for run in runs if study.run_facts[run].get("parameters")]
    if (stated := source.get("parameters")) and sizes:
        yield f"{stated:,} parameters there, {spread(sizes, 3)} here"
    if (stated := source.get("tokens_per_parameter")) and ratios:
        yield f"{stated:g} tokens per parameter there, {spread(ratios)} here"
    if (stated := source.get("updates")) and max(updates) != stated:
        yield f"{stated:,} updates there, {max(updates):,} here"
    settings = [study.settings[run] for run in runs]
    rates = {rate for s in settings if (rate := setting_part(s, "optimizer").get("lr"))}
    for rate in source.get("rates") or ():
        if rates and not min(rates) <= rate <= max(rates):
            yield f"its learning rate {rate:g} is {'below' if rate < min(rates) else 'above'} this grid"
    for word, key, (part, name) in _COMPARED:
        own = {setting_part(setting, part).get(name) for setting in settings}
        if key in source and own != {source[key]}:
            names = in_words(sorted("none" if not value else f"{value:g}" for value in own), "or")
            yield f"{word} {source[key]:g} there, {names} here"


def mean_loss(study: Study, runs: Sequence[str]) -> float:
    """The mean last loss of runs, infinite where one failed."""
    return fmean(study.losses.get(run, math.inf) for run in runs)
