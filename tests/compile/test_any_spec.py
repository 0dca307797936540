"""Whatever is written with the words of the schema gives a plan, or a mistake with its place, cause and remedy.

One strategy for misspelt keys, values of other types, and fields that are missing or stand elsewhere. The grids of
``make torture`` do the same to every line of every shipped spec.
"""

import re
from copy import deepcopy
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from lnlab.compile.plan import compile_plan
from lnlab.compile.reference.schema import spec_schema
from lnlab.errors import LabError
from lnlab.specfile.dump import spec_yaml
from lnlab.specfile.load import parse_spec

SPEC = Path("spec.yaml")
PLACE = re.compile(r"spec\.yaml:\d+:\d+")
NAMES = st.sampled_from(["a", "toy", "post", "gradient_norm", "model.layers", "norm", "last", "kind", "1-3", "zzqx"])
OTHERS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 10**6),
    st.sampled_from([0.5, -1.5, 1e300]),
    NAMES,
    st.lists(NAMES, max_size=2),
    st.dictionaries(NAMES, st.integers(0, 3), max_size=2),
)
"""What stands in place of another type."""


def resolved(schema, node):
    """A node with what it refers to, one branch of each condition being drawn by whoever reads it."""
    while isinstance(node, dict) and "$ref" in node:
        path = node["$ref"].removeprefix("#/").split("/")
        node = schema
        for key in path:
            node = node[key.replace("~1", "/").replace("~0", "~")]
    return node if isinstance(node, dict) else {}


def merged(schema, *nodes):
    """One node with the fields of several; of properties that several have, the last."""
    whole = {}
    for node in (resolved(schema, node) for node in nodes):
        properties = {**whole.get("properties", {}), **node.get("properties", {})}
        required = [*whole.get("required", ()), *node.get("required", ())]
        whole = {**whole, **node, "properties": properties, "required": required}
    return whole


def one_of(draw, items):
    """One of the items, by its number: Hypothesis warns of a strategy with a long text."""
    return items[draw(st.integers(0, len(items) - 1))]


def built(draw, schema, node, depth=0):
    """A value that a node describes, up to what several of its parts say together."""
    node = resolved(schema, node)
    if "const" in node:
        return deepcopy(node["const"])
    if "enum" in node:
        return deepcopy(one_of(draw, node["enum"]))
    if "anyOf" in node:
        return built(draw, schema, one_of(draw, node["anyOf"]), depth)
    rest = {key: value for key, value in node.items() if key not in ("if", "then", "else", "allOf")}
    if "if" in node:
        meets = draw(st.booleans()) or "else" not in node
        branch = (node["if"], node.get("then", {})) if meets else (node["else"],)
        return built(draw, schema, merged(schema, rest, *branch), depth)
    if "allOf" in node:
        chosen = resolved(schema, one_of(draw, node["allOf"]))
        branch = (chosen["if"], chosen.get("then", {})) if "if" in chosen else (chosen,)
        return built(draw, schema, merged(schema, rest, *branch), depth)
    kind = node.get("type", "object" if node.get("properties") else None)
    if isinstance(kind, list):
        kind = draw(st.sampled_from(kind))
    if kind == "object":
        known = node.get("properties", {})
        optional = sorted(set(known) - set(node.get("required", ())))
        more = draw(st.lists(st.sampled_from(optional), max_size=max(0, 3 - depth), unique=True)) if optional else []
        made = {
            key: built(draw, schema, known.get(key, {}), depth + 1)
            for key in dict.fromkeys([*node.get("required", ()), *more])
        }
        free = [*node.get("patternProperties", {}).values()]
        free += [node["additionalProperties"]] if isinstance(node.get("additionalProperties"), dict) else []
        if free and depth < 3 and draw(st.booleans()):
            made[draw(NAMES)] = built(draw, schema, one_of(draw, free), depth + 1)
        return made
    if kind == "array":
        fixed = node.get("prefixItems")
        if fixed:
            return [built(draw, schema, item, depth + 1) for item in fixed]
        least = node.get("minItems", 0)
        items = node.get("items", {})
        return [built(draw, schema, items, depth + 1) for _ in range(draw(st.integers(least, least + 1)))]
    if kind in ("integer", "number"):
        least = max(int(node.get("minimum", node.get("exclusiveMinimum", 0))), -3)
        return draw(st.integers(least, least + 3)) if kind == "integer" else draw(st.sampled_from([least + 0.5, least]))
    return draw({"boolean": st.booleans(), "null": st.none(), "string": NAMES}.get(kind, OTHERS))


def containers_in(value):
    """Every mapping and list of a value that holds something, from outside to inside."""
    if isinstance(value, dict | list) and value:
        yield value
        for inner in value.values() if isinstance(value, dict) else value:
            yield from containers_in(inner)


def specs_by(schema):
    """The strategy of all specs that are written with the words of a schema."""

    @st.composite
    def specs(draw):
        return spec_by(schema, draw)

    return specs()


def spec_by(schema, draw):
    """A spec by the schema, after up to three changes that may make it wrong."""
    sound = {"lnlab": 2, "title": "A title", "task": {"kind": "translation", "corpus": "toy"}, "placement": "post"}
    sound |= {"model": {"kind": "encoder_decoder", "layers": 2}, "probes": [{"kind": "gradient_norm"}]}
    made = built(draw, schema, schema)
    keys = draw(st.lists(st.sampled_from(sorted(made)), unique=True, max_size=3)) if made else []
    data = sound | {key: made[key] for key in keys}
    for _ in range(draw(st.integers(0, 3))):
        container = one_of(draw, list(containers_in(data)))
        keys = sorted(container, key=str) if isinstance(container, dict) else range(len(container))
        key = draw(st.sampled_from(keys))
        change = draw(st.sampled_from(["lost", "of another type", "misspelt"]))
        if change == "of another type":
            container[key] = draw(OTHERS)
        elif change == "lost":
            del container[key]
        elif isinstance(container, dict) and isinstance(key, str):
            at = draw(st.integers(0, len(key) - 1)) if key else 0
            container[key[:at] + draw(st.sampled_from(["", "x", "é", "."])) + key[at + 1 :]] = container.pop(key)
        if not data:
            break
    return data


def complaints(data, laboratory, checked_by_schema):
    """What is wrong with the mistakes that are found in a spec, or what the schema has against one that has none."""
    document = parse_spec(spec_yaml(data), SPEC)
    try:
        compile_plan(document, laboratory, ())
    except LabError as error:
        issues = error.issues
    else:  # a method that no grid names is not looked into
        return [told for told in checked_by_schema(document.data) if not told.startswith("$.methods")]
    assert issues
    return [
        str(issue)
        for issue in issues
        if not (PLACE.match(issue.where) and issue.what and issue.remedy) or "\n" in str(issue)
    ]


@pytest.fixture(scope="module")
def specs(laboratory):
    return specs_by(spec_schema(laboratory))


# A spec that fails is short enough to be read as it is; to make it shorter takes minutes.
READ_AS_IT_IS = settings(phases=[Phase.generate], suppress_health_check=list(HealthCheck))


@settings(READ_AS_IT_IS, max_examples=300, derandomize=True)
@given(drawn=st.data())
def test_it_gives_a_plan_or_is_told_with_place_cause_and_remedy(drawn, specs, laboratory, checked_by_schema):
    assert complaints(drawn.draw(specs), laboratory, checked_by_schema) == []


@pytest.mark.torture
@settings(READ_AS_IT_IS, max_examples=20_000)
@given(drawn=st.data())
def test_it_does_so_for_any_number_of_specs(drawn, specs, laboratory, checked_by_schema):
    assert complaints(drawn.draw(specs), laboratory, checked_by_schema) == []
