"""``model norm placement attention encoder decoder`` -> the model without its layers, and one long form a stack.

The short form (``norm``, ``placement``, ``attention``, ``model.layers``) means every stack; both forms at once are
refused.
"""

from collections.abc import Mapping
from typing import Any

from lnlab.compile.resolve.choices import Registries, resolve_choice
from lnlab.compile.setting_paths import SHORT
from lnlab.compile.source_spans import UNKNOWN
from lnlab.errors import nearest
from lnlab.keys import Json, canonical
from lnlab.registry import Choice, Flaw, Flawed, Where
from lnlab.setting import STACKS

MOST_LAYERS = 256
DEFAULTS = {"norm": "layer", "attention": "softmax"}
KEYS = ("model", *SHORT, *STACKS)
_ABSENT = object()
_CROSS = "cross_attention"


def resolve_stacks(given: Mapping[str, Json], registries: Registries) -> dict[str, Json]:
    """``{"model": ..., "encoder": {...}, "decoder": {...}}`` with every default explicit, for the model's stacks.

    Raises:
        Flawed: everything wrong with them, with paths as the spec writes them.
    """
    return _Stacks(given, registries).resolve()


class _Stacks:
    """Collects the flaws of one resolution; each choice that is written is resolved once."""

    def __init__(self, given: Mapping[str, Json], registries: Registries) -> None:
        self.given = given
        self.registries = registries
        self.flaws: list[Flaw] = []
        self.long = {stack: self.mapping(stack) for stack in STACKS}

    def resolve(self) -> dict[str, Json]:
        model, names = self.model()
        short = {word: self.choice(word, (word,), self.given[word]) for word in SHORT if word in self.given}
        made = {name: self.stack(name, names, short) for name in names}
        if names:
            for stack in set(STACKS) - set(names):
                if stack in self.given:
                    self.flaw((stack,), f"this model has no {stack}", f"it has: {', '.join(names)}")
        else:
            self.without_model()
        if self.flaws:
            raise Flawed(*self.flaws)
        return {"model": model, **made}

    def flaw(self, path: Where, what: str, remedy: str) -> None:
        self.flaws.append(Flaw(path, what, remedy))

    def mapping(self, stack: str) -> dict[str, Json]:
        """What stands under ``encoder`` or ``decoder``, without keys that nobody knows."""
        given = self.given.get(stack, {})
        if not isinstance(given, dict):
            self.flaw((stack,), f"found {canonical(given)}", "write a mapping, as in {placement: post}")
            return {}
        known = ["layers", *SHORT] + [_CROSS] * (stack == "decoder")
        for word in given:
            if word not in known:
                self.flaw((stack, word), f"{UNKNOWN} '{word}'", nearest(word, known))
        return {word: value for word, value in given.items() if word in known}

    def model(self) -> tuple[Choice | None, tuple[str, ...]]:
        """The model's choice without ``layers``, and the stacks it has (none where it is flawed)."""
        if "model" not in self.given:
            self.flaw(("model",), "a model is required", nearest("", self.registries["model"].entries))
            return None, ()
        given = self.given["model"]
        plain = {k: v for k, v in given.items() if k != "layers"} if isinstance(given, dict) else given
        try:
            made = resolve_choice(self.registries["model"], plain, fields=("layers",))
        except Flawed as error:
            self.flaws += [flaw.below("model") for flaw in error.flaws]
            return None, ()
        names = self.registries["model"][made["kind"]].facts.stacks
        if not names:
            self.flaw(
                ("model", "kind"), f"the model '{made['kind']}' does not say which stacks it has", "register stacks="
            )
        return made, names

    def choice(self, kind: str, path: Where, given: Json) -> Choice | None:
        try:
            return resolve_choice(self.registries[kind], given)
        except Flawed as error:
            self.flaws += [flaw.below(*path) for flaw in error.flaws]
            return None

    def without_model(self) -> None:
        """The model is flawed: what the stacks say is looked at all the same."""
        for stack in STACKS:
            given = self.long[stack]
            for word in SHORT:
                if word in given:
                    self.choice(word, (stack, word), given[word])
            if "layers" in given:
                self.layers(given["layers"], stack, long=True)
            if _CROSS in given:
                self.truth((stack, _CROSS), given[_CROSS])

    def stack(self, name: str, names: tuple[str, ...], short: Mapping[str, Choice | None]) -> dict[str, Any]:
        """One stack's long form."""
        given = self.long[name]
        model = self.given["model"]
        layers = model.get("layers", _ABSENT) if isinstance(model, dict) else _ABSENT
        made: dict[str, Any] = {"layers": self.layers(self.one_form(name, "layers", layers), name, layers is _ABSENT)}
        for word in SHORT:
            chosen = self.one_form(name, word, short.get(word, _ABSENT))
            if word in given:
                chosen = self.choice(word, (name, word), given[word])
            elif chosen is _ABSENT and word in DEFAULTS:
                chosen = self.choice(word, (word,), DEFAULTS[word])
            elif chosen is _ABSENT:
                self.flaw((word,), f"a {word} is required", nearest("", self.registries[word].entries))
            made[word] = chosen
        if name == "decoder" and "encoder" in names:
            made[_CROSS] = self.truth((name, _CROSS), given.get(_CROSS, True))
        elif _CROSS in given:
            self.flaw((name, _CROSS), "this model has no encoder to attend to", "remove it")
        return made

    def one_form(self, stack: str, word: str, short: Json) -> Json:
        """The long form if it is given, else the short one; both at once are a flaw."""
        if word not in self.long[stack]:
            return short
        if short is not _ABSENT:
            written = "model.layers" if word == "layers" else word
            self.flaw(
                (stack, word), f"'{written}' says it for every stack already", f"keep {written} or {stack}.{word}"
            )
        return self.long[stack][word]

    def layers(self, given: Json, stack: str, long: bool) -> int | None:
        path = (stack, "layers") if long and given is not _ABSENT else ("model", "layers")
        if given is _ABSENT:
            self.flaw(path, "the number of layers is required", f"add model.layers or {stack}.layers")
        elif isinstance(given, bool) or not isinstance(given, int | float) or given != int(given) or given < 1:
            self.flaw(path, f"found {canonical(given)}", "give a whole number of layers, from 1")
        elif given > MOST_LAYERS:
            self.flaw(path, f"found {int(given):,} layers", f"at most {MOST_LAYERS:,} are planned")
        else:
            return int(given)
        return None

    def truth(self, path: Where, given: Json) -> bool | None:
        if isinstance(given, bool):
            return given
        self.flaw(path, f"found {canonical(given)}", "write true or false")
        return None
