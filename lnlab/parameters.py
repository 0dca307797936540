"""What all builders' parameters have in common."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict, GetCoreSchemaHandler, GetJsonSchemaHandler, field_validator
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

LARGEST_INTEGER = 2**53
"""The largest count of any parameter: beyond it a float, and JSON, cannot tell neighbours apart."""
UNKNOWN_KEY = "unknown_key"
"""The type of a validator's error about a key of a mapping. Its context has the ``key`` and the ``known`` ones."""


class Parameters(BaseModel):
    """The parameters of a builder: no other keys, no coercion, and no integer beyond ``LARGEST_INTEGER``."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, validate_default=True, allow_inf_nan=False, protected_namespaces=()
    )

    @field_validator("*")
    @classmethod
    def _in_range(cls, value: Any) -> Any:
        if isinstance(value, int) and abs(value) > LARGEST_INTEGER:
            remedy = f"out of range: integers lie within ±{LARGEST_INTEGER:,}"
            raise PydanticCustomError("out_of_range", "{remedy}", {"remedy": remedy})
        return value


@dataclass(frozen=True)
class TextForm:
    """Text of one form, as ``Annotated[str, TextForm(pattern, words)]``: other text is refused with ``write WORDS``."""

    pattern: str
    words: str

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self._matching, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {**handler(schema), "pattern": f"^({self.pattern})$"}

    def _matching(self, text: str) -> str:
        if re.fullmatch(self.pattern, text):
            return text
        raise PydanticCustomError("form", "{remedy}", {"remedy": f"write {self.words}"})


def record_keys(kind: Any, path: tuple[str | int, ...]) -> Iterator[str]:
    """The keys of the record that stands at a path in a value of a type."""
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        fields = {field.alias or name: field.annotation for name, field in kind.model_fields.items()}
        yield from record_keys(fields.get(str(path[0])), path[1:]) if path else fields
        return
    same_place = get_origin(kind) in (Annotated, Union, UnionType)
    for argument in get_args(kind) if path or same_place else ():
        yield from record_keys(argument, path if same_place else path[1:])


def integers_of(value: Any) -> Any:
    """Integral floats as integers (``1e4`` in YAML is a float). A parameter declared float turns them back."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {key: integers_of(inner) for key, inner in value.items()}
    return [integers_of(inner) for inner in value] if isinstance(value, list) else value


def plain_values(value: Any) -> Any:
    """A value without models: each as its kind and the fields that were given."""
    if isinstance(value, BaseModel):
        fields = type(value).model_fields
        names = [name for name in fields if name == "kind" or name in value.model_fields_set]
        return {fields[name].alias or name: plain_values(getattr(value, name)) for name in names}
    if isinstance(value, Mapping):
        return {key: plain_values(inner) for key, inner in value.items()}
    return [plain_values(item) for item in value] if isinstance(value, list | tuple) else value
