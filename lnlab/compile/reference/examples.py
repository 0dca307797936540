"""An example of each kind, taken from specs: the shortest mapping that names it."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from lnlab.keys import Json
from lnlab.specfile.load import load_spec

SpecExamples = Mapping[tuple[str, str], tuple[str, str]]
"""``(kind, name) -> (its text, the name of the spec)``."""

_LISTED = {"probes": "probe", "report": "section", "claims": "claim", "interventions": "intervention"}
_NAMED = (
    *("task", "model", "norm", "placement", "attention", "init", "optimizer", "schedule"),
    *("stop", "corpus", "tokenizer", "linear", "feed_forward"),
)
_PROSE = ("id", "says", "source", "because", "role", "primary", "title", "heading", "claims", "requires", "calibration")
"""Keys that do not belong to a kind, and would make an example long."""
_PLAIN = re.compile(r"[A-Za-z_][\w ./()-]*[\w)]|[A-Za-z_]")


def shortest_examples(specs: Iterable[Path]) -> SpecExamples:
    """The shortest mapping of each kind in these specs, the first of equally short ones."""
    examples: dict[tuple[str, str], tuple[str, str]] = {}
    for path in specs:
        for kind, choice in _choices(load_spec(path).data):
            text = flow({key: value for key, value in choice.items() if key not in _PROSE})
            place = (kind, str(choice["kind"]))
            if place not in examples or len(text) < len(examples[place][0]):
                examples[place] = text, path.stem
    return examples


def _choices(data: Json, kind: str | None = None) -> Iterator[tuple[str, Mapping[str, Json]]]:
    """Every mapping with a ``kind``, and which kind of piece it names. ``kind`` is that of ``data`` itself."""
    if isinstance(data, list):
        for item in data:
            yield from _choices(item, kind)
    if isinstance(data, Mapping):
        if kind and isinstance(data.get("kind"), str):
            yield kind, data
        for key, value in data.items():
            last = str(key).rpartition(".")[2]
            yield from _choices(value, _LISTED.get(last, last if last in _NAMED else None))


def flow(value: Json) -> str:
    """A value as YAML on one line: ``{kind: rms, eps: 1e-06}``."""
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{flow(key)}: {flow(inner)}' for key, inner in value.items())}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(flow, value))}]"
    if isinstance(value, str) and _PLAIN.fullmatch(value) and value not in ("true", "false", "null"):
        return value
    return json.dumps(value, ensure_ascii=False)
