"""What a loss is a mean over, in the words of a section: tokens, and where every task is a classification sentences."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

from lnlab.analyse.settings import settings, value_at
from lnlab.report.section import Section
from lnlab.tables import Results

_PER_TOKEN, _PER_SENTENCE = "per token", "per sentence"
"""The first is what the glossary says."""
_NUMBERS = ("points", "seeds", "rows")
"""Parts of a section that are tables of results, and stay as they are."""


def unit(results: Results) -> str:
    """What losses are means over: ``sentence`` where every task has classes, ``token`` where one has none."""
    classes = [value_at(setting, "task.classes") for setting in settings(results).values()]
    return "sentence" if classes and all(isinstance(n, int) for n in classes) else "token"


def in_its_unit(section: Section, results: Results) -> Section:
    """The section with every text in the unit of its experiment's losses."""
    told: Section = _per_sentence(section) if unit(results) == "sentence" else section
    return told


def _per_sentence(value: Any) -> Any:
    if isinstance(value, str):
        return value.replace(_PER_TOKEN, _PER_SENTENCE)
    if isinstance(value, Mapping):
        return {key: _per_sentence(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(map(_per_sentence, value))
    if is_dataclass(value) and not isinstance(value, type):
        texts = [part.name for part in fields(value) if part.name not in _NUMBERS]
        return replace(value, **{name: _per_sentence(getattr(value, name)) for name in texts})
    return value
