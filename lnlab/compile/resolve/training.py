"""``train``: what moves a run and has no registry.

A run is given in updates (``steps``) or in passes over the training data (``epochs``), which become updates once the
task has said how many an epoch has. What cannot be chosen yet has one value, and the key says so.
"""

import json
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from lnlab.compile.resolve.choices import Registries, resolve_choice
from lnlab.keys import Json
from lnlab.registry import Choice, Flaw, Flawed, flaws_of
from lnlab.specfile.experiment import One
from lnlab.specfile.moments import At

_Count = Annotated[int, Field(ge=1, lt=2**53)]


class Train(BaseModel):
    """The plain values under ``train``; ``stop`` is a choice beside them."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, validate_default=True, allow_inf_nan=False)
    steps: Annotated[int, Field(ge=0, lt=2**53)] = 0
    accumulate: _Count = 1
    clip: Annotated[float, Field(gt=0)] | None = None
    evaluate: At | None = None
    precision: Literal["float32", "float64"] = "float32"
    device: Literal["cpu"] = "cpu"
    threads: One = 1


KNOWN = (*Train.model_fields, "stop", "epochs")
STOP, EVALUATE = "non_finite", "end"
"""The rule that ends a run, and when it is evaluated, where nothing is given."""
_EPOCHS = TypeAdapter(_Count)


def resolve_train(given: Json, registries: Registries) -> dict[str, Any]:
    """``train`` with every default explicit.

    Raises:
        Flawed: everything wrong with it, with paths relative to it.
    """
    if not isinstance(given, dict):
        raise Flawed(Flaw((), f"found {json.dumps(given)}", "write a mapping, as in {steps: 100}"))
    flaws, epochs = _epochs(given)
    trained = bool(given.get("steps")) or epochs is not None
    wrong, stop = _stop(given.get("stop") or (STOP if trained else None), registries)
    flaws += wrong
    try:
        plain = Train.model_validate_json(json.dumps({k: v for k, v in given.items() if k not in ("stop", "epochs")}))
    except ValidationError as error:
        flaws += flaws_of(error, dict.fromkeys(KNOWN), "train")
    if flaws:
        raise Flawed(*flaws)
    made = {**plain.model_dump(mode="json"), "stop": stop}
    if trained and made["evaluate"] is None:
        made["evaluate"] = EVALUATE
    return made if epochs is None else {**made, "epochs": epochs}


def _epochs(given: Json) -> tuple[list[Flaw], int | None]:
    """The number of epochs, if the run is given in epochs."""
    if given.get("epochs") is None:
        return [], None
    if "steps" in given:
        return [Flaw(("epochs",), "a run is given in steps or in epochs", "remove one of them")], None
    try:
        return [], _EPOCHS.validate_json(json.dumps(given["epochs"]))
    except ValidationError as error:
        return [flaw.below("epochs") for flaw in flaws_of(error, {}, "train")], None


def _stop(given: Json, registries: Registries) -> tuple[list[Flaw], Choice | None]:
    try:
        return [], None if given is None else resolve_choice(registries["stop"], given)
    except Flawed as error:
        return [flaw.below("stop") for flaw in error.flaws], None
