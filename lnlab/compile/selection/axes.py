"""The value of each axis in each variant: the word where a choice is all defaults, else the resolved choice."""

from collections.abc import Sequence

from lnlab.compile.interned import Variant
from lnlab.compile.resolve.choices import Registries, shortest_form
from lnlab.compile.work import ResolvedSetting
from lnlab.keys import Json
from lnlab.registry import Registry
from lnlab.setting import DEPTHS, MISSING, STACKS, children, key_of_stack, path_words
from lnlab.setting import Setting as Reader
from lnlab.specfile.columns import METHOD, TIMES


class Axes:
    """The axes of an experiment: all paths that any of its grids varies, so that every run has a value for each."""

    def __init__(self, paths: Sequence[str], registries: Registries) -> None:
        self.paths = tuple(paths)
        self.registries = registries
        # The keys of a setting of which the value at a path is read: of every stack for a short form and a depth.
        self._keys = {
            path: (path_words(path)[0], *STACKS)
            if path in DEPTHS or key_of_stack(path) is not None
            else path_words(path)[:1]
            for path in self.paths
        }
        self._values: dict[tuple[str, ...], Json] = {}

    def point(self, variant: Variant) -> dict[str, Json]:
        """{axis: value}. A short form at which stacks disagree has the value of each. None stands for no value."""
        setting = variant.setting
        point: dict[str, Json] = {}
        for path in self.paths:
            if path == METHOD:
                point[path] = variant.method
                continue
            # Read once of settings that are equal in what it is read of.
            place = (path, *(setting.texts.get(key, "") for key in self._keys[path]))
            if place not in self._values:
                reader = Reader(setting)
                value, long = reader.at(path), reader.long_forms(path)
                if value is not MISSING:
                    self._values[place] = self._shortened(setting, path, value)
                elif long == [path]:  # no short form, so that there is nothing to tell apart by stack
                    self._values[place] = None
                else:
                    self._values[place] = {
                        path_words(form)[0]: None if own is MISSING else self._shortened(setting, form, own)
                        for form in long
                        for own in [reader.at(form)]
                    }
            point[path] = self._values[place]
        return point if variant.times is None else {**point, TIMES: variant.times}

    def _shortened(self, setting: ResolvedSetting, path: str, value: Json) -> Json:
        """A choice in short, and anything else as it is."""
        if not isinstance(value, dict) or "kind" not in value:
            return value
        words = path_words(path)
        if words[0] in (*STACKS, "train"):
            setting, words = setting[words[0]], words[1:]
        elif key_of_stack(words[0]) is not None:
            stacks = (setting[stack] for stack in STACKS if stack in setting)
            setting = next(stack for stack in stacks if Reader(stack).at(".".join(words)) is not MISSING)
        # From the registry of the first word down to that of the choice itself.
        registry: Registry | None = self.registries.get(words[0])  # type: ignore[type-arg]
        outer = setting[words[0]]
        for word in words[1:]:
            registry = registry[outer["kind"]].nested.get(word) if registry else None
            outer = children(outer)[word]
        return shortest_form(registry, value) if registry else value
