"""``model norm placement attention encoder decoder`` -> the model without its layers, and one long form a stack.

The short form (``norm``, ``placement``, ``attention``, ``model.layers``) means every stack; both forms at once are
refused.
"""

from collections.abc import Mapping
from typing import Any

from lnlab.compile.resolve.choices import Registries, resolve_choice
from lnlab.compile.setting_paths import STACK_CHOICES
from lnlab.compile.source_spans import UNKNOWN
from lnlab.errors import nearest, shown
from lnlab.issues import Code, Issue, Where
from lnlab.keys import Json, canonical
from lnlab.registry import Choice, Flawed
from lnlab.setting import STACKS
from lnlab.written_numbers import number_hint, truth_hint

MOST_LAYERS = 256
STACK_DEFAULTS = {"norm": "layer", "attention": "softmax"}
STACK_KEYS = ("model", *STACK_CHOICES, *STACKS)
_ABSENT = object()
_CROSS = "cross_attention"


def resolve_stacks(raw: Mapping[str, Json], registries: Registries) -> dict[str, Json]:
    """``{"model": ..., "encoder": {...}, "decoder": {...}}`` with every default explicit, for the model's stacks.

    Raises:
        Flawed: everything wrong with them, with paths as the spec writes them.
    """
    return _StackResolver(raw, registries).resolve()


class _StackResolver:
    """Collects the flaws of one resolution; each choice that is written is resolved once."""

    def __init__(self, raw: Mapping[str, Json], registries: Registries) -> None:
        self.raw = raw
        self.registries = registries
        self.flaws: list[Issue] = []
        self.long = {stack: self.mapping(stack) for stack in STACKS}

    def resolve(self) -> dict[str, Json]:
        model, names = self.model()
        short = {word: self.choice(word, (word,), self.raw[word]) for word in STACK_CHOICES if word in self.raw}
        stacks = {name: self.stack(name, names, short) for name in names}
        if names:
            for stack in set(STACKS) - set(names):
                if stack in self.raw:
                    self.flaw("unsupported", (stack,), f"this model has no {stack}", f"it has: {', '.join(names)}")
        elif model is not None and self.registries["model"][model["kind"]].facts.own:
            for word in (word for word in STACK_KEYS[1:] if word in self.raw):
                self.flaw(
                    "unsupported",
                    (word,),
                    f"'{model['kind']}' is a model of your own",
                    f"give it a parameter, as model.{word}",
                )
        else:
            self.without_model()
        if self.flaws:
            raise Flawed(*self.flaws)
        return {"model": model, **stacks}

    def flaw(self, code: Code, path: Where, what: str, remedy: str) -> None:
        self.flaws.append(Issue(code, path, what, remedy))

    def mapping(self, stack: str) -> dict[str, Json]:
        """The mapping under ``encoder`` or ``decoder``, without unknown keys."""
        mapping = self.raw.get(stack, {})
        if not isinstance(mapping, dict):
            self.flaw("wrong-type", (stack,), f"found {canonical(mapping)}", "write a mapping, as in {placement: post}")
            return {}
        known = ["layers", *STACK_CHOICES] + [_CROSS] * (stack == "decoder")
        for word in mapping:
            if word not in known:
                self.flaw("unknown-key", (stack, word), f"{UNKNOWN} '{word}'", nearest(word, known))
        return {word: value for word, value in mapping.items() if word in known}

    def model(self) -> tuple[Choice | None, tuple[str, ...]]:
        """The model's choice without ``layers``, and the stacks it has (none where it is flawed)."""
        if "model" not in self.raw:
            self.flaw("missing", ("model",), "a model is required", nearest("", self.registries["model"].entries))
            return None, ()
        raw = self.raw["model"]
        kind = raw.get("kind") if isinstance(raw, dict) else raw
        entry = self.registries["model"].entries.get(kind) if isinstance(kind, str) else None
        own = entry is not None and entry.facts.own
        plain = {k: value for k, value in raw.items() if own or k != "layers"} if isinstance(raw, dict) else raw
        try:
            choice = resolve_choice(self.registries["model"], plain, fields=() if own else ("layers",))
        except Flawed as error:
            self.flaws += [flaw.below("model") for flaw in error.issues]
            return None, ()
        names = self.registries["model"][choice["kind"]].facts.stacks
        if not names and not own:
            self.flaw(
                "unsupported",
                ("model", "kind"),
                f"the model '{choice['kind']}' does not say which stacks it has",
                "register stacks=",
            )
        return choice, names

    def choice(self, kind: str, path: Where, raw: Json) -> Choice | None:
        try:
            return resolve_choice(self.registries[kind], raw)
        except Flawed as error:
            self.flaws += [flaw.below(*path) for flaw in error.issues]
            return None

    def without_model(self) -> None:
        """The model is flawed: the stacks are checked nonetheless."""
        for stack in STACKS:
            raw = self.long[stack]
            for word in STACK_CHOICES:
                if word in raw:
                    self.choice(word, (stack, word), raw[word])
            if "layers" in raw:
                self.layers(raw["layers"], stack, long=True)
            if _CROSS in raw:
                self.truth((stack, _CROSS), raw[_CROSS])

    def stack(self, name: str, names: tuple[str, ...], short: Mapping[str, Choice | None]) -> dict[str, Any]:
        """One stack's long form."""
        raw = self.long[name]
        model = self.raw["model"]
        layers = model.get("layers", _ABSENT) if isinstance(model, dict) else _ABSENT
        layers_of_stack = self.layers(self.one_form(name, "layers", layers), name, layers is _ABSENT)
        resolved: dict[str, Any] = {"layers": layers_of_stack}
        for word in STACK_CHOICES:
            choice = self.one_form(name, word, short.get(word, _ABSENT))
            if word in raw:
                choice = self.choice(word, (name, word), raw[word])
            elif choice is _ABSENT and word in STACK_DEFAULTS:
                choice = self.choice(word, (word,), STACK_DEFAULTS[word])
            elif choice is _ABSENT:
                self.flaw("missing", (word,), f"a {word} is required", nearest("", self.registries[word].entries))
            resolved[word] = choice
        if name == "decoder" and "encoder" in names:
            resolved[_CROSS] = self.truth((name, _CROSS), raw.get(_CROSS, True))
        elif _CROSS in raw:
            self.flaw("unsupported", (name, _CROSS), "this model has no encoder to attend to", "remove it")
        return resolved

    def one_form(self, stack: str, word: str, short: Json) -> Json:
        """The long form if there is one, else the short one; both at once are a flaw."""
        if word not in self.long[stack]:
            return short
        if short is not _ABSENT:
            written = "model.layers" if word == "layers" else word
            self.flaw(
                "conflict",
                (stack, word),
                f"'{written}' says it for every stack already",
                f"keep {written} or {stack}.{word}",
            )
        return self.long[stack][word]

    def layers(self, value: Json, stack: str, long: bool) -> int | None:
        path = (stack, "layers") if long and value is not _ABSENT else ("model", "layers")
        if value is _ABSENT:
            self.flaw("missing", path, "the number of layers is required", f"add model.layers or {stack}.layers")
        elif isinstance(value, bool) or not isinstance(value, int | float) or value != int(value) or value < 1:
            self.flaw(
                "wrong-type",
                path,
                f"found {shown(value)}",
                _with_hint("give a whole number of layers, from 1", number_hint(value, whole=True)),
            )
        elif value > MOST_LAYERS:
            self.flaw("out-of-range", path, f"found {int(value):,} layers", f"at most {MOST_LAYERS:,} are planned")
        else:
            return int(value)
        return None

    def truth(self, path: Where, value: Json) -> bool | None:
        if isinstance(value, bool):
            return value
        self.flaw("wrong-type", path, f"found {shown(value)}", _with_hint("write true or false", truth_hint(value)))
        return None


def _with_hint(remedy: str, hint: str) -> str:
    return f"{remedy}; {hint}" if hint else remedy
