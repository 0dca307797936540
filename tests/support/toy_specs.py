"""Tiny specs, as data or as text: each is a base with whatever a test has otherwise."""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from lnlab.specfile.dump import inline_text


def changed(base: Mapping[str, Any], **changes: Any) -> dict[str, Any]:
    """The data of a base with other values.

    A mapping changes the keys of the mapping that stands there, unless it names another kind. ``None`` takes a key
    away.
    """
    data = deepcopy(dict(base))
    for key, value in changes.items():
        there = data.get(key)
        same = isinstance(there, dict) and isinstance(value, dict) and value.get("kind") in (None, there.get("kind"))
        data[key] = {k: v for k, v in {**there, **value}.items() if v is not None} if same else value
        if value is None:
            del data[key]
    return data


# Each evaluation goes through all of the validation sentences, 1,000 unless a spec says otherwise.
FEW = {"kind": "toy_german_english", "validation": 40, "test": 40}
TOY: Mapping[str, Any] = {
    "lnlab": 2,
    "title": "A tiny experiment",
    "task": {
        "kind": "translation",
        "corpus": FEW | {"train": 200},
        "vocabulary": 200,
        "batch_tokens": 64,
    },
    "model": {"kind": "encoder_decoder", "layers": 1, "d_model": 16, "heads": 2, "d_ff": 32},
    "placement": "post",
    "optimizer": {"kind": "adam", "lr": 0.01},
}
"""A translator of one layer that trains."""
TRAINED = changed(
    TOY,
    task={"vocabulary": 120, "batch_tokens": 96},
    model={"dropout": 0.1},
    optimizer={"lr": 0.003},
    schedule={"kind": "inverse_sqrt", "warmup_steps": 8},
)
"""The translator with all that a training run has: dropout and warm-up."""
SMALLEST = changed(
    TOY,
    task={"corpus": FEW | {"train": 60}, "vocabulary": 90, "batch_tokens": 96},
    model={"d_model": 8, "heads": 1, "d_ff": 16},
)
"""The smallest translator that trains."""
ONE_BATCH = changed(
    SMALLEST,
    task={"corpus": FEW | {"train": 20}, "batch_tokens": 2000},
    optimizer={"kind": "sgd", "lr": 0.5},
)
"""The smallest translator by SGD, with one batch in an epoch."""
UNTRAINED = changed(TOY, model={"layers": 2}, optimizer=None)
"""A translator of two layers, measured before any update."""
LANGUAGE_MODEL = changed(
    UNTRAINED,
    task={"kind": "language_modeling", "corpus": "toy_english", "vocabulary": 200, "length": 16, "windows": 4},
    model={"kind": "language_model", "layers": 1, "d_model": 8, "heads": 2, "d_ff": 16},
)
"""A language model of one layer, measured before any update."""
ENCODER = changed(
    UNTRAINED,
    task={"kind": "random_tokens", "vocabulary": 50, "sentences": 2, "length": 4},
    model={"kind": "encoder", "layers": 2, "d_model": 8, "heads": 2, "d_ff": 8},
)
"""An encoder of two layers, measured on random tokens before any update."""
PIECES = {
    "lnlab": 2,
    "title": "A title",
    "task": {"kind": "translation", "corpus": "toy"},
    "model": {"kind": "encoder_decoder", "layers": 2},
    "placement": "post",
}
"""A spec of the few pieces that the compiler's tests register."""


def toy_data(base: Mapping[str, Any] = TOY, **changes: Any) -> dict[str, Any]:
    """The data of a base with other values, see ``changed``."""
    return changed(base, **changes)


def toy_spec(base: Mapping[str, Any] = TOY, rest: str = "", **changes: Any) -> str:
    """The text of ``toy_data``, a line for each key. ``rest`` are further keys as a test writes them."""
    return "".join(f"{key}: {inline_text(value)}\n" for key, value in toy_data(base, **changes).items()) + rest
