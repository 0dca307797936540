"""What holds of the parameters of every builder, whatever it builds."""

from typing import Any

from pydantic import BaseModel, ConfigDict, field_validator

LARGEST_INTEGER = 2**53
"""The largest count of any parameter: beyond it a float, and JSON, cannot tell neighbours apart."""


class Parameters(BaseModel):
    """The parameters of a builder: no other keys, no coercion, and no integer beyond ``LARGEST_INTEGER``."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, validate_default=True, allow_inf_nan=False, protected_namespaces=()
    )

    @field_validator("*")
    @classmethod
    def _in_range(cls, value: Any) -> Any:
        if isinstance(value, int) and abs(value) > LARGEST_INTEGER:
            raise ValueError(f"out of range: integers lie within ±{LARGEST_INTEGER:,}")
        return value
