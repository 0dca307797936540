"""A tiny spec, as data or as text: a translator of one layer that trains, with whatever a test has otherwise."""

from copy import deepcopy
from typing import Any

from lnlab.specfile.dump import spec_yaml

TOY = {
    "lnlab": 2,
    "title": "A tiny training",
    "task": {
        "kind": "translation",
        "corpus": {"kind": "toy_german_english", "train": 200},
        "vocabulary": 200,
        "batch_tokens": 64,
    },
    "model": {"kind": "encoder_decoder", "layers": 1, "d_model": 16, "heads": 2, "d_ff": 32},
    "placement": "post",
    "optimizer": {"kind": "adam", "lr": 0.01},
}


def toy_data(**changes: Any) -> dict[str, Any]:
    """The data with other values: a mapping for one that stands there changes its keys, ``None`` takes a key away."""
    data = deepcopy(TOY)
    for key, value in changes.items():
        there = data.get(key)
        data[key] = {**there, **value} if isinstance(there, dict) and isinstance(value, dict) else value
        if value is None:
            del data[key]
    return data


def toy_spec(**changes: Any) -> str:
    """The text of ``toy_data``."""
    return spec_yaml(toy_data(**changes))
