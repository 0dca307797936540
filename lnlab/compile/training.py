"""``train``: what moves a run and has no registry. What cannot be chosen yet has one value, and the key says so."""

import json
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from lnlab.compile.choices import Registries, resolve_choice
from lnlab.keys import Json
from lnlab.registry import Choice, Flaw, Flawed, flaws_of
from lnlab.spec.experiment import One
from lnlab.spec.moments import At

Count = Annotated[int, Field(ge=1, lt=2**53)]


class Train(BaseModel):
    """The plain values under ``train``; ``stop`` is a choice beside them."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, validate_default=True, allow_inf_nan=False)
    steps: Annotated[int, Field(ge=0, lt=2**53)] = 0
    accumulate: Count = 1
    clip: Annotated[float, Field(gt=0)] | None = None
    evaluate: At | None = None
    precision: Literal["float32", "float64"] = "float32"
    device: Literal["cpu"] = "cpu"
    threads: One = 1


KNOWN = (*Train.model_fields, "stop", "epochs")


def resolve_train(given: Json, registries: Registries) -> dict[str, Any]:
    """``train`` with every default explicit.

    Raises:
        Flawed: everything wrong with it, with paths relative to it.
    """
    if not isinstance(given, dict):
        raise Flawed(Flaw((), f"found {json.dumps(given)}", "write a mapping, as in {steps: 100}"))
    flaws, stop = _stop(given.get("stop"), registries)
    if "epochs" in given:
        flaws.append(Flaw(("epochs",), "a run cannot be given in epochs yet", "give train.steps"))
    try:
        plain = Train.model_validate_json(json.dumps({k: v for k, v in given.items() if k not in ("stop", "epochs")}))
    except ValidationError as error:
        flaws += flaws_of(error, dict.fromkeys(KNOWN), "train")
    if flaws:
        raise Flawed(*flaws)
    return {**plain.model_dump(mode="json"), "stop": stop}


def _stop(given: Json, registries: Registries) -> tuple[list[Flaw], Choice | None]:
    try:
        return [], None if given is None else resolve_choice(registries["stop"], given)
    except Flawed as error:
        return [flaw.below("stop") for flaw in error.flaws], None
