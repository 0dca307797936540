"""No word of the validating library reaches a user: every error that it can raise is put in the words of a spec."""

import json
import re
from itertools import product
from typing import Annotated, Literal, get_args

import pytest
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError
from pydantic_core import PydanticKnownError, SchemaValidator
from pydantic_core.core_schema import (
    ErrorType,
    no_info_plain_validator_function,
    typed_dict_field,
    typed_dict_schema,
)

from lnlab.catalogue import REGISTRIES
from lnlab.errors import LabError
from lnlab.expectations import mistakes_of
from lnlab.facts import DataFacts, validated_facts
from lnlab.registry import Flawed
from lnlab.report.registries import FRAME_REGISTRIES
from lnlab.specfile.read import read_experiment

FOREIGN = re.compile(
    r"input should|should (be|have|match|contain)|after validation|valid (integer|number|string|boolean|list|tuple|"
    r"dictionary|array|object|mapping)|unable to (parse|interpret)|not permitted|field required|value error|"
    r"assertion failed|constrained|literal\[|tuple\[|list\[|dict\[|function-|nullable|pydantic|fractional part|"
    r"\\d|\]\+",
    re.IGNORECASE,
)
CONTEXT = {
    **dict.fromkeys(("gt", "ge", "lt", "le", "multiple_of", "min_length", "max_length", "actual_length"), 3),
    **dict.fromkeys(("max_digits", "decimal_places", "whole_digits", "expected_version"), 3),
    **dict.fromkeys(("error", "pattern", "class", "class_name", "attribute", "method_name", "tag"), "x"),
    **dict.fromkeys(("discriminator", "expected_tags", "encoding", "encoding_error", "expected_schemes"), "x"),
    "field_type": "Tuple",
    "expected": "'a', 'b' or 'c'",
    "tz_expected": 0,
    "tz_actual": 1,
}
VALUES = (
    *(None, True, 1.5, -1, 0, 10**30, 2**60, "x", "", "y" * 3000, "0,001", "é", -1.5, 1e308),
    *([], [1.5], ["a", "a"], [1, 2, 3], [None], [[]], [1] * 300, [{"kind": "x"}]),
    *({}, {"a": 1}, {"every": 0}, {"x": {"y": 1}}, {"x": {"6": "six"}}, {"x": {"six": 6}}, {"kind": 3}),
)


def library_error(kind):
    """An error of this kind, with the context that its constructor demands: found by trying."""
    context = {}
    while True:
        try:
            return PydanticKnownError(kind, context or None)
        except TypeError as error:
            (name,) = re.findall(r"'(\w+)' required in context", str(error))
            context[name] = CONTEXT[name]


def test_every_error_of_the_library_is_put_in_our_words():
    for kind, value in product(get_args(ErrorType), (3, "x", "0,001", None, [1])):

        def fail(_, kind=kind):
            raise library_error(kind)

        field = typed_dict_field(no_info_plain_validator_function(fail))
        validator = SchemaValidator(typed_dict_schema({"value": field}))
        with pytest.raises(ValidationError) as caught:
            validator.validate_python({"value": value})
        (found,) = mistakes_of(caught.value, {"value": value})
        assert found.kind == kind
        assert found.remedy
        assert not FOREIGN.search(found.remedy), found.remedy


@pytest.mark.parametrize("kind", sorted({**REGISTRIES, **FRAME_REGISTRIES}))
def test_no_parameter_of_any_piece_is_refused_in_foreign_words(kind):
    registry = {**REGISTRIES, **FRAME_REGISTRIES}[kind]
    names = [(entry.name, name) for entry in registry for name in entry.keywords if name not in entry.nested]
    for (entry, name), value in product(names, VALUES):
        try:
            registry.resolve({"kind": entry, name: value})
        except Flawed as error:
            for flaw in error.issues:
                text = f"{'.'.join(map(str, flaw.path))}: {flaw.what}; {flaw.remedy}"
                assert not FOREIGN.search(text.replace(json.dumps(value)[1:-1] or "-", "")), text
                assert len(text) < 500, text


SPEC = {"lnlab": 2, "title": "t", "task": "translation"}
KEYS = (
    *("lnlab", "title", "question", "source", "differs", "dropped", "related", "theme", "note", "answer", "seeds"),
    *("claim_seeds", "select", "methods", "sweep", "probes", "report", "claims", "profiles"),
)


@pytest.mark.parametrize("key", KEYS)
def test_no_key_of_a_spec_is_refused_in_foreign_words(key):
    nested = [{"a b": "x"}, {"seeds": "x", "lr": 3}, [{"id": 3}], [{"id": "a b", "says": "", "kind": 3}], {"x": []}]
    for value in (*VALUES, *nested, [{"lr": []}], [{"kind": "x", "at": "never"}], {"a<b": {}}, {"says": 3, "while": 3}):
        for flaw in read_experiment({**SPEC, key: value}).issues:
            assert not FOREIGN.search(f"{flaw.path}: {flaw.what}; {flaw.remedy}"), flaw


def test_facts_of_a_piece_are_refused_in_our_words():
    for word, value in (("fingerprint", 3), ("inputs", "x"), ("declares", 3)):
        with pytest.raises(LabError) as caught:
            validated_facts("norm", "mine", DataFacts, {word: value})
        assert word in str(caught.value)
        assert not FOREIGN.search(str(caught.value))


Rate = Annotated[float, Field(lt=1)]


class Shares(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")
    pad: Literal["longest"] | Annotated[int, Field(ge=2)] = 2
    split: tuple[float, float, float] = (0.8, 0.1, 0.1)
    beta2: Rate | Annotated[tuple[Rate, ...], Field(min_length=1)] = 0.9
    parts: list[str] | dict[str, str] | None = None


@pytest.mark.parametrize(
    ("data", "path"),
    [
        ({"pad": 1}, ("pad",)), ({"pad": "longst"}, ("pad",)), ({"split": [0.8]}, ("split",)),
        ({"split": [0.8, "0,1", 0.1]}, ("split", 1)), ({"beta2": []}, ("beta2",)),
        ({"beta2": [0.5, 2]}, ("beta2", 1)), ({"parts": {"a": 1}}, ("parts", "a")),
        ({"parts": ["a", 1]}, ("parts", 1)), ({"parts": 3}, ("parts",)),
    ],
)  # fmt: skip
def test_a_union_is_one_mistake_at_the_place_in_the_data(data, path, golden):
    with pytest.raises(ValidationError) as caught:
        TypeAdapter(Shares).validate_json(json.dumps(data))
    (mistake,) = mistakes_of(caught.value, data)
    assert mistake.path == path
    golden(mistake.remedy)


@pytest.mark.parametrize("value", [5, True, [","], {}, "", "->"])
def test_no_sign_is_taken_for_what_was_meant_by_another_type_or_sign(value):
    with pytest.raises(ValidationError) as caught:
        TypeAdapter(Literal[",", ";", "|"]).validate_python(value)
    assert [mistake.remedy for mistake in mistakes_of(caught.value, value)] == ["write ',', ';' or '|'"]
