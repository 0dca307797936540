"""``train``: what moves a run and has no registry.

The length of a run is in updates (``steps``) or in passes over the training data (``epochs``), which become updates
once the task has said how many an epoch has. What cannot be chosen yet has one value, and the key says so.
"""

import json
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from lnlab.compile.resolve.choices import Registries, resolve_choice
from lnlab.errors import shown
from lnlab.issues import Issue
from lnlab.keys import Json
from lnlab.parameters import integers_of
from lnlab.registry import Choice, Flawed, parameter_issues
from lnlab.specfile.moments import At

_Count = Annotated[int, Field(ge=1, lt=2**53)]


class Train(BaseModel):
    """The plain values under ``train``; ``stop`` is a choice beside them."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, validate_default=True, allow_inf_nan=False)
    steps: Annotated[int, Field(ge=0, lt=2**53)] = 0
    accumulate: _Count = 1
    clip: Annotated[float, Field(gt=0)] | None = None
    evaluate: At | None = None
    precision: Literal["float32", "float64", "bfloat16"] = "float32"
    device: Literal["cpu", "cuda", "mps"] = "cpu"
    threads: Annotated[int, Field(ge=1, le=1)] = 1  # a Literal[1] would take true


TRAIN_KEYS = (*Train.model_fields, "stop", "epochs")
STOP, EVALUATE = "non_finite", "end"
"""The default rule that ends a run, and the default of when it is evaluated."""
_EPOCHS = TypeAdapter(_Count, config=ConfigDict(strict=True))


def resolve_train(raw: Json, registries: Registries) -> dict[str, Any]:
    """``train`` with every default explicit.

    Raises:
        Flawed: everything wrong with it, with paths relative to it.
    """
    if not isinstance(raw, dict):
        raise Flawed(Issue("wrong-type", (), f"found {shown(raw)}", "write a mapping, as in {steps: 100}"))
    flaws, epochs = _epochs(raw)
    trains = bool(raw.get("steps")) or epochs is not None
    stop_flaws, stop = _stop(raw.get("stop") or (STOP if trains else None), registries)
    flaws += stop_flaws
    values = {key: value for key, value in raw.items() if key not in ("stop", "epochs")}
    try:
        plain = Train.model_validate_json(json.dumps(integers_of(values)))
    except ValidationError as error:
        flaws += parameter_issues(error, values, dict.fromkeys(TRAIN_KEYS), "train")
    if flaws:
        raise Flawed(*flaws)
    resolved = {**plain.model_dump(mode="json"), "stop": stop}
    if trains and resolved["evaluate"] is None:
        resolved["evaluate"] = EVALUATE
    return resolved if epochs is None else {**resolved, "epochs": epochs}


def _epochs(raw: Json) -> tuple[list[Issue], int | None]:
    """The number of epochs, if the spec counts the run in epochs."""
    if raw.get("epochs") is None:
        return [], None
    if "steps" in raw:
        return [Issue("conflict", ("epochs",), "a run is given in steps or in epochs", "remove one of them")], None
    try:
        return [], _EPOCHS.validate_json(json.dumps(integers_of(raw["epochs"])))
    except ValidationError as error:
        return [flaw.below("epochs") for flaw in parameter_issues(error, raw["epochs"], {}, "train")], None


def _stop(raw: Json, registries: Registries) -> tuple[list[Issue], Choice | None]:
    try:
        return [], None if raw is None else resolve_choice(registries["stop"], raw)
    except Flawed as error:
        return [flaw.below("stop") for flaw in error.issues], None
