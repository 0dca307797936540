"""The reference says everything that a spec may set, in words."""

import re
from collections.abc import Callable
from typing import Annotated, Any, Literal

import pytest
from pydantic import Field

from lnlab.catalogue import REGISTRIES
from lnlab.compile.reference.key_words import SITE_WORDS
from lnlab.compile.reference.reference import reference
from lnlab.meanings import COMMON_MEANINGS, meaning
from lnlab.registry import Registry, default
from lnlab.report.registries import FRAME_REGISTRIES
from lnlab.specfile.columns import VOCABULARY
from lnlab.specfile.experiment import SETTING, Experiment

EVERY = {**REGISTRIES, **FRAME_REGISTRIES}


@pytest.fixture
def small() -> dict[str, Registry[Any]]:
    norms: Registry[Callable[..., Any]] = Registry("norm")
    tasks: Registry[Callable[..., Any]] = Registry("task")

    @norms.register("rms")
    def rms(width: int, *, eps: Annotated[float, Field(gt=0)] = 1e-6) -> None:
        """``x / rms(x)``: no centring (Zhang and Sennrich, 2019).

        With ``eps: 0`` it may divide by zero. More.
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


def test_every_kind_with_its_formula_parameters_types_and_defaults(small, golden):
    text = reference(small)
    kinds = text[text.index("## Tasks") :]
    golden(kinds)


def test_the_contents_lead_to_every_heading_and_name(small):
    text = reference(small)
    contents = text.partition("## A spec")[0]
    fragments = re.findall(r"\(#([\w-]+)\)", contents)
    headings = {heading.lower().replace(" ", "-").replace(",", "") for heading in re.findall(r"^## (.*)$", text, re.M)}
    assert {"task-t", "norm-none", "norm-rms"} <= set(fragments)
    assert set(fragments) == headings | set(re.findall(r'<a id="([\w-]+)">', text))


def test_every_word_of_a_site_is_explained():
    for column, words in VOCABULARY.items():
        if column in SITE_WORDS:
            explained = [word for group in SITE_WORDS[column] for word in group.split(", ")]
            assert sorted(explained) == sorted(words)
    assert {"stack", "sublayer", "tensor"} == set(SITE_WORDS)


def test_every_parameter_of_every_registered_piece_has_a_meaning():
    pieces = [entry for registry in EVERY.values() for entry in registry if entry.origin.name == "lnlab"]
    used = {name for entry in pieces for name in entry.keywords}
    assert [(e.kind, e.name, name) for e in pieces for name in e.keywords if not meaning(e.build, name)] == []
    assert sorted(COMMON_MEANINGS.keys() - used) == []


def test_the_grammar_names_every_top_level_key(small):
    text = reference(small)
    unnamed = {"norm", "init", "attention", "optimizer", "schedule", "train"}
    assert all(f"\n{key}:" in text for key in {*SETTING, *Experiment.model_fields} - unnamed)
