"""What the keys of a side say of the code and the corpora behind it: versions of pieces, and content of corpora."""

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import polars as pl

from lnlab.app.bisection.judge import ClaimJudge
from lnlab.app.comparison.sides import EVERY_RUN, Side
from lnlab.compile.content_keys import ContentKeys
from lnlab.errors import LabError
from lnlab.keys import Json, digest
from lnlab.registry import Flawed, Registry, Roots
from lnlab.specfile.values import value_label

if TYPE_CHECKING:
    from lnlab.app.request import Registries
    from lnlab.compile.plan import Plan

_FURTHER_VERSIONS = 3
"""How many versions after today's are tried for a piece, where a side was made with newer code."""


class _InVersion(Registry[Any]):
    """A registry with a piece in another version: what keys would be, not what numbers would."""

    def __init__(self, registry: Registry[Any], name: str, version: int) -> None:
        super().__init__(registry.kind, registry.facts)
        self._entries = {**registry.entries, name: replace(registry[name], version=version)}
        self._discovered = True


def _names(plan: "Plan") -> dict[str, str]:
    """Variant in words -> its key, as the code and the corpora of this machine make it."""
    return {
        " ".join(f"{axis}={value_label(value)}" for axis, value in plan.points[variant].items()) or EVERY_RUN: variant
        for variant in plan.points
    }


def same_keys(plan: "Plan", side: Side) -> bool:
    """Whether today's code and corpora give the variants and measurements of a side their keys: then its rows stand."""
    shared = {name: key for name, key in _names(plan).items() if name in side.keys}
    same_variants = bool(shared) and all(key.startswith(side.keys[name][:16]) for name, key in shared.items())
    return same_variants and _measured_of_runs(side, plan) <= {key for *_, key in plan.needs}


def changed_corpora(good: Side, bad: Side) -> Iterator[str]:
    """Corpora and vocabularies that both sides name, with other content."""
    for name in sorted(good.provenance.keys() & bad.provenance.keys()):
        if name.startswith(("corpus ", "tokenizer ")) and good.provenance[name] != bad.provenance[name]:
            yield f"{name}: {good.provenance[name]} → {bad.provenance[name]}"


def changed_versions(plan: "Plan", good: Side, judge: ClaimJudge) -> Iterator[str]:
    """The pieces that in another version give the keys that the good side has: a key holds the versions of all pieces.

    Of a piece inside another one (a tokenizer, a corpus) nothing is known here.
    """
    kinds = {text for run in plan.runs[:1] for text in _kinds(plan.settings[run.variant])}
    kinds |= {text for _, _, probe, _ in plan.needs for text in _kinds(probe)}
    matching = _matches(plan, good, judge.known, judge.roots)
    for kind, registry in judge.known.items():
        for piece in (entry for entry in registry if entry.name in kinds):
            for version in (v for v in range(1, piece.version + _FURTHER_VERSIONS) if v != piece.version):
                known = {**judge.known, kind: _InVersion(registry, piece.name, version)}
                if _matches(plan, good, known, judge.roots) > matching:
                    yield f"{kind} {piece.name}: version {version} → {piece.version}"


def _kinds(choice: Json) -> Iterator[str]:
    """The names of all pieces in a setting or a choice."""
    if isinstance(choice, dict):
        yield from (value for key, value in choice.items() if key == "kind")
    for inner in choice.values() if isinstance(choice, dict) else choice if isinstance(choice, list) else ():
        yield from _kinds(inner)


def _matches(plan: "Plan", side: Side, known: "Registries", roots: Roots) -> int:
    """How many keys of a side follow from the first run of a plan with these pieces."""
    content_keys = ContentKeys(known, roots)
    run = plan.runs[0]
    try:
        keys = content_keys.of(plan.settings[run.variant])
        state = keys.state(run.seed)
        trajectory = keys.trajectory(state)
        measured = _measured_of_all(side)
        names = [name for name, variant in _names(plan).items() if variant == run.variant]
        own_variants = [n for n in names if n in side.keys and keys.variant.startswith(side.keys[n][:16])]
        own = {
            digest(["measurement", place, step, content_keys.choice("probe", probe)])
            for key, step, probe, _ in plan.needs
            if key == run.key
            for place in (state, trajectory)
        }
    except (Flawed, LabError, KeyError):
        return 0
    return len(own_variants) + len(own & measured)


def _measured_of_runs(side: Side, plan: "Plan") -> set[str]:
    """The keys of what a side has measured of the runs of a plan, as far as it has rows."""
    runs = pl.Series([run.key for run in plan.runs], dtype=pl.String).implode()
    tables = side.results.tables.values() if side.results else ()
    rows = (table.filter(pl.col("run").is_in(runs)) for table in tables if "measurement" in table.columns)
    return {key for part in rows for key in part["measurement"].unique()}


def _measured_of_all(side: Side) -> set[str]:
    tables = side.results.tables.values() if side.results else ()
    return {key for table in tables if "measurement" in table.columns for key in table["measurement"].unique()}
