"""The reference says everything that a spec may set, in words."""

from collections.abc import Callable
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from lnlab.compile.reference.reference import reference, schema_in_words
from lnlab.registry import Registry, default
from lnlab.specfile.experiment import Experiment


@pytest.fixture
def small() -> dict[str, Registry[Any]]:
    norms: Registry[Callable[..., Any]] = Registry("norm")
    tasks: Registry[Callable[..., Any]] = Registry("task")

    @norms.register("rms")
    def rms(width: int, *, eps: Annotated[float, Field(gt=0)] = 1e-6) -> None:
        """``x / rms(x)``: no centring (Zhang and Sennrich, 2019).

        More.
        """

    @norms.register("none")
    def none(width: int) -> None:
        """``x``: none."""

    @tasks.register("t")
    def t(
        draw: object,
        *,
        norm: Annotated[Callable[..., Any], norms] = default("rms"),
        other: Annotated[Callable[..., Any], norms],
        mode: Literal["a", "b"] = "a",
        betas: tuple[float, int] = (0.5, 1),
    ) -> None:
        """``t``: a task."""

    return {"norm": norms, "task": tasks, "extra": Registry("extra")}


def test_every_kind_with_its_formula_parameters_types_and_defaults(small):
    text = reference(small)
    kinds = text[text.index("## Tasks") :]
    assert (
        kinds
        == """\
## Tasks

### `t`

``t``: a task.

| parameter | type | default |
|---|---|---|
| `norm` | a norm | `rms` |
| `other` | a norm | required |
| `mode` | one of `a`, `b` | `a` |
| `betas` | list of 2: number, integer | `[0.5, 1]` |

## Norms

### `none`

``x``: none.

### `rms`

``x / rms(x)``: no centring (Zhang and Sennrich, 2019).

| parameter | type | default |
|---|---|---|
| `eps` | number, above 0 | `1e-06` |

## extra

None yet.

"""
    )


def test_the_grammar_names_every_top_level_key(small):
    text = reference(small)
    unnamed = {"norm", "init", "attention", "optimizer", "schedule", "train"}
    assert all(f"\n{key}:" in text for key in set(Experiment.model_fields) - unnamed)


class _Inner(BaseModel):
    a: int


@pytest.mark.parametrize(
    ("annotation", "words"),
    [
        (int | None, "integer or null"),
        (list[str], "list of text"),
        (list[Any], "list of anything"),
        (dict[str, int], "mapping"),
        (bool, "true or false"),
        (Literal["x"], "`x`"),
        (_Inner, "mapping of `a`"),
        (Annotated[int, Field(ge=1, le=3)], "integer, at least 1, at most 3"),
        (Annotated[str, Field(pattern="^a$")], "text, like ^a$"),
    ],
)
def test_types_in_words(annotation, words):
    model = type("Given", (BaseModel,), {"__annotations__": {"given": annotation}})
    made = model.model_json_schema()
    assert schema_in_words(made["properties"]["given"], made.get("$defs", {})) == words
