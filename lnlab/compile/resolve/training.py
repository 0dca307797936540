"""``train``: what moves a run and has no registry.

The length of a run is in updates (``steps``), in passes over the training data (``epochs``), which become updates once
the task has said how many an epoch has, or in training tokens for each parameter (``tokens_per_parameter``). A key that
offers no choice yet, such as ``threads``, accepts a single value.
"""

import json
from functools import lru_cache
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model

from lnlab.compile.resolve.choices import ChoiceOrNone, Registries
from lnlab.errors import shown
from lnlab.issues import Issue
from lnlab.keys import Json
from lnlab.parameters import integers_of
from lnlab.registry import Flawed, Readable, Registry, parameter_issues
from lnlab.specfile.moments import At

_Count = Annotated[int, Field(ge=1, lt=2**53)]


class Train(BaseModel):
    """The values under ``train``. The registered rules that end a run are the type of ``stop``."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)
    steps: Annotated[int, Field(ge=0, lt=2**53)] = 0
    accumulate: _Count = 1
    clip: Annotated[float, Field(gt=0)] | None = None
    evaluate: At | None = None
    precision: Literal["float32", "float64", "bfloat16"] = "float32"
    device: Literal["cpu", "cuda", "mps"] = "cpu"
    threads: Annotated[int, Field(ge=1, le=1)] = 1  # a Literal[1] would take true
    stop: Any = None
    epochs: _Count | None = None
    tokens_per_parameter: Annotated[float, Field(gt=0, le=1e9)] | None = None


TRAIN_KEYS = tuple(Train.model_fields)
LENGTHS = ("steps", "epochs", "tokens_per_parameter")
"""The keys that give the length of a run, of which one is given."""
STOP, EVALUATE = "non_finite", "end"
"""The default rule that ends a run, and the default of when it is evaluated."""


@lru_cache(maxsize=8)  # to make a model takes as long as to read a hundred values
def train_model(stops: Registry[Any] | None) -> type[Train]:
    """The model of ``train``, with the registered rules that end a run."""
    stop: Any = {} if stops is None else {"stop": (Annotated[Any, ChoiceOrNone(stops)], None)}
    return create_model("Train", __base__=Train, **stop)


class TrainType(Readable):
    """What stands under ``train``, with the registered rules that end a run."""

    def __init__(self, registries: Registries) -> None:
        self.kind = "train"
        self.stops = registries.get("stop")
        self.model = train_model(self.stops)

    def read(self, raw: Json) -> Train:  # noqa: D102 - as the base class says
        if not isinstance(raw, dict):
            raise Flawed(Issue("wrong-type", (), f"found {shown(raw)}", "write a mapping, as in {steps: 100}"))
        given = [key for key in LENGTHS if raw.get(key) is not None]
        issues = []
        if len(given) > 1:
            what = f"the length is given in {given[0]} or in {given[1]}, not both"
            issues = [Issue("conflict", (given[1],), what, "remove one")]
        try:
            train = self.model.model_validate_json(json.dumps(integers_of(raw)))
        except ValidationError as error:
            issues += parameter_issues(error, raw, dict.fromkeys(TRAIN_KEYS), "train")
        if issues:
            raise Flawed(*issues)
        return train

    def resolve(self, raw: Json) -> dict[str, Any]:
        """``train`` with every default explicit.

        Raises:
            Flawed: everything wrong with it, with paths relative to it.
        """
        train: dict[str, Any] = super().resolve(raw)
        for key in LENGTHS[1:]:
            if train[key] is None:
                del train[key]
        # A run without updates has no curve: nothing is evaluated, and no rule could end it.
        if train["steps"] or any(key in train for key in LENGTHS[1:]):
            train["evaluate"] = train["evaluate"] or EVALUATE
            if train["stop"] is None and self.stops is not None:
                train["stop"] = self.stops.resolve(STOP)
        return train

    def __get_pydantic_json_schema__(self, _: Any, handler: Any) -> dict[str, Json]:
        schema: dict[str, Json] = handler(self.model.__pydantic_core_schema__)
        return schema
