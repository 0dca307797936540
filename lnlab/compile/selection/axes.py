"""What stands at each axis of each variant: the word where a choice is all defaults, else the resolved choice."""

from collections.abc import Sequence

from lnlab.compile.resolve.choices import Registries, in_short
from lnlab.compile.work import Setting
from lnlab.keys import Json
from lnlab.registry import Registry
from lnlab.setting import MISSING, STACKS, inside, key_of_stack, split
from lnlab.setting import Setting as Reader
from lnlab.specfile.columns import METHOD


class Axes:
    """The axes of an experiment: all paths that any of its grids varies, so that every run has a value for each."""

    def __init__(self, paths: Sequence[str], registries: Registries) -> None:
        self.paths = tuple(paths)
        self.registries = registries
        self._short: dict[tuple[str, int], tuple[Json, Json]] = {}

    def point(self, setting: Setting, method: Json = None) -> dict[str, Json]:
        """{axis: value}. Where stacks disagree at a short form: the value of each; where nothing stands: None."""
        return {path: method if path == METHOD else self._value(setting, path) for path in self.paths}

    def _value(self, setting: Setting, path: str) -> Json:
        reader = Reader(setting)
        found = reader.at(path)
        if found is not MISSING:
            return self._shown(setting, path, found)
        long = reader.long_forms(path)
        if long == [path]:
            return None
        each = {form: reader.at(form) for form in long}
        return {split(f)[0]: None if v is MISSING else self._shown(setting, f, v) for f, v in each.items()}

    def _shown(self, setting: Setting, path: str, value: Json) -> Json:
        """A choice in short; anything else as it is."""
        if not isinstance(value, dict) or "kind" not in value:
            return value
        held = self._short.get((path, id(value)))
        if held is None:  # what is held is alive, so its id is nobody else's
            registry = self._registry(setting, split(path))
            held = self._short[path, id(value)] = (value, in_short(registry, value) if registry else value)
        return held[1]

    def _registry(self, setting: Setting, words: tuple[str, ...]) -> Registry | None:  # type: ignore[type-arg]
        """The registry that serves the choice at a path."""
        if words[0] in (*STACKS, "train"):
            setting, words = setting[words[0]], words[1:]
        elif key_of_stack(words[0]) is not None:
            stacks = (setting[stack] for stack in STACKS if stack in setting)
            setting = next(stack for stack in stacks if Reader(stack).at(".".join(words)) is not MISSING)
        registry: Registry | None = self.registries.get(words[0])  # type: ignore[type-arg]
        value = setting[words[0]]
        for word in words[1:]:
            registry = registry[value["kind"]].nested.get(word) if registry else None
            value = inside(value)[word]
        return registry
