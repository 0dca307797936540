"""``model norm placement attention encoder decoder`` -> the model without its layers, and one long form a stack.

The short form (``norm``, ``placement``, ``attention``, ``model.layers``) means every stack. Both forms at once are
refused.
"""

import json
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, create_model

from lnlab.compile.resolve.choices import Registries
from lnlab.compile.setting_paths import STACK_CHOICES
from lnlab.errors import nearest, shown
from lnlab.expectations import issue_of_key, issues_of, mistakes_of
from lnlab.issues import Code, Issue, Where
from lnlab.keys import Json
from lnlab.parameters import integers_of
from lnlab.registry import Flawed, Readable, Registry, parameter_issues
from lnlab.setting import STACKS
from lnlab.specfile.read import missing_key

MOST_LAYERS = 256
STACK_DEFAULTS = {"norm": "layer", "attention": "softmax"}
STACK_KEYS = ("model", *STACK_CHOICES, *STACKS)
_CROSS = "cross_attention"
Layers = Annotated[int, Field(ge=1, le=MOST_LAYERS)]
_LAYERS = TypeAdapter(Layers, config=ConfigDict(strict=True))


@lru_cache(maxsize=8)  # to make a model takes as long as to read a hundred values
def stack_model(stack: str, choices: tuple[Registry[Any], ...]) -> type[BaseModel]:
    """The model of what stands under ``encoder`` or ``decoder``."""
    unset: Any = Field(None, validate_default=False)  # may be left out, and not be null
    fields: dict[str, Any] = {"layers": (Layers, unset)}
    fields |= {registry.kind: (Annotated[Any, registry], unset) for registry in choices}
    fields |= {_CROSS: (bool, True)} if stack == "decoder" else {}
    forms = ConfigDict(extra="forbid", frozen=True, strict=True, protected_namespaces=())
    return create_model(stack, __config__=forms, **fields)


class StackType(Readable):
    """What stands under ``encoder`` or ``decoder``: what differs in that stack."""

    def __init__(self, stack: str, registries: Registries) -> None:
        self.kind = stack
        self.model = stack_model(stack, tuple(registries[word] for word in STACK_CHOICES if word in registries))

    def read(self, raw: Json) -> BaseModel:  # noqa: D102 - as the base class says
        if not isinstance(raw, dict):
            raise Flawed(Issue("wrong-type", (), f"found {shown(raw)}", "write a mapping, as in {placement: post}"))
        try:
            return self.model.model_validate_json(json.dumps(integers_of(raw)))
        except ValidationError as error:
            known = self.model.model_fields
            issues = issues_of(
                mistakes_of(error, raw), lambda path: issue_of_key((), str(path[-1]), known), missing_key
            )
            raise Flawed(*issues) from error

    def __get_pydantic_json_schema__(self, _: Any, handler: Any) -> dict[str, Json]:
        schema: dict[str, Json] = handler(self.model.__pydantic_core_schema__)
        return schema


def resolve_stacks(raw: Mapping[str, Json], registries: Registries, types: Mapping[str, Readable]) -> dict[str, Json]:
    """``{"model": ..., "encoder": {...}, "decoder": {...}}`` with every default explicit, for the model's stacks.

    Args:
        raw: those of ``STACK_KEYS`` that are written.
        registries: by kind.
        types: of the keys.

    Raises:
        Flawed: everything wrong with them, with paths as the spec writes them.
    """
    flaws: list[Issue] = []

    def add_flaw(code: Code, path: Where, what: str, remedy: str) -> None:
        flaws.append(Issue(code, path, what, remedy))

    def resolve_at(path: Where, resolve: Callable[[Json], Json], value: Json) -> Json:
        """The resolved value, or None with its flaws added to ``flaws``."""
        try:
            return resolve(value)
        except Flawed as error:
            flaws.extend(issue.below(*path) for issue in error.issues)
            return None

    short = {word: resolve_at((word,), types[word].resolve, raw[word]) for word in STACK_CHOICES if word in raw}
    long = {stack: resolve_at((stack,), types[stack].resolve, raw[stack]) or {} for stack in STACKS if stack in raw}
    written = {stack: raw[stack] if isinstance(raw.get(stack), dict) else {} for stack in STACKS}
    model, layers, names = None, None, tuple[str, ...]()
    stated: Json = raw.get("model")
    parts = stated if isinstance(stated, dict) else {"kind": stated}
    models: Registry[Any] = registries["model"]
    entry = models.entries.get(str(parts.get("kind")))
    own = entry is not None and entry.facts.own
    has_layers = "layers" in parts and not own
    if "model" not in raw:
        add_flaw("missing", ("model",), "a model is required", nearest("", models.entries))
    else:
        # the parameters of the kind, and beside them how many layers its stacks have
        plain = {word: value for word, value in parts.items() if word != "layers"} if has_layers else stated
        model = resolve_at(("model",), lambda choice: models.resolve(choice, () if own else ("layers",)), plain)
        if has_layers:
            try:
                layers = _LAYERS.validate_json(json.dumps(integers_of(parts["layers"])))
            except ValidationError as error:
                issues = parameter_issues(error, parts["layers"], {}, "the model")
                flaws += [issue.below("model", "layers") for issue in issues]
    if model is not None and own:
        for word in (word for word in STACK_KEYS[1:] if word in raw):
            remedy = f"give it a parameter, as model.{word}"
            add_flaw("unsupported", (word,), f"'{model['kind']}' is a model of your own", remedy)
    elif model is not None and entry is not None:
        names = entry.facts.stacks
        if not names:
            what = f"the model '{model['kind']}' does not say which stacks it has"
            add_flaw("unsupported", ("model", "kind"), what, "register stacks=")
        for stack in (stack for stack in STACKS if stack in raw and names and stack not in names):
            add_flaw("unsupported", (stack,), f"this model has no {stack}", f"it has: {', '.join(names)}")

    stacks: dict[str, Json] = {}
    for name in names:
        for word in ("layers", *STACK_CHOICES):
            short_form = "model.layers" if word == "layers" else word
            if word in written[name] and (has_layers if word == "layers" else word in raw):
                what = f"'{short_form}' sets it for every stack already"
                add_flaw("conflict", (name, word), what, f"keep {short_form} or {name}.{word}")
        if not has_layers and "layers" not in written[name]:
            what = "the number of layers is required"
            add_flaw("missing", ("model", "layers"), what, f"add model.layers or {name}.layers")
        stacks[name] = {"layers": long[name].get("layers") if "layers" in written[name] else layers}
        for word in STACK_CHOICES:
            if word in written[name]:
                stacks[name][word] = long[name].get(word)
            elif word in raw:
                stacks[name][word] = short[word]
            elif word in STACK_DEFAULTS:
                stacks[name][word] = types[word].resolve(STACK_DEFAULTS[word])
            else:
                add_flaw("missing", (word,), f"a {word} is required", nearest("", registries[word].entries))
        if name == "decoder" and "encoder" in names:
            stacks[name][_CROSS] = long.get(name, {}).get(_CROSS, True)
        elif name == "decoder" and _CROSS in written[name]:
            add_flaw("unsupported", (name, _CROSS), "this model has no encoder to attend to", "remove it")
    if flaws:
        raise Flawed(*flaws)
    return {"model": model, **stacks}
