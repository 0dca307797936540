"""Names and paths of runs as other tools keep them, ``pre-seed1``, read by a pattern, ``{placement}-seed{seed}``."""

import re
from dataclasses import dataclass

from lnlab.errors import LabError
from lnlab.issues import Issue
from lnlab.keys import Json

_FIELD = re.compile(r"\{([^{}]*)\}")


def number_or_word(text: str) -> Json:
    """``3`` as a whole number, ``1e-3`` as a number, and anything else, ``nan`` and ``inf`` too, as it stands."""
    if re.fullmatch(r"[+-]?\d{1,18}", text):
        return int(text)
    if re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", text):
        return float(text)
    return text


@dataclass(frozen=True)
class RunNames:
    """A pattern of names of runs. Its fields become columns, and ``*`` stands for anything.

    A pattern with slashes is compared with as many parts at the end of a path: ``{lr}-{seed}/version_*/metrics``.

    Attributes:
        pattern: as the user wrote it, ``{placement}-{seed}``.
    """

    pattern: str

    def __post_init__(self) -> None:
        fields = _FIELD.findall(self.pattern)
        unnamed = not fields or any(not name.strip() for name in fields)
        unpaired = re.search(r"[{}]", _FIELD.sub("", self.pattern))
        flaws = (
            (unnamed, "has no named field", "write {name} where the names of runs differ: {placement}-{seed}"),
            (unpaired, "has a brace without its partner", "write each field as {name}"),
            (len(set(fields)) < len(fields), "has a field twice", "give each field a name of its own"),
            (
                "}{" in self.pattern,
                "has two fields with nothing between them",
                "runs are told apart by what stands between",
            ),
        )
        for found, what, remedy in flaws:
            if found:
                raise LabError(Issue("unreadable", "runs", f"the pattern '{self.pattern}' {what}", remedy))

    def read(self, name: str) -> dict[str, Json]:
        """The values of the fields in the name of a run.

        Raises:
            LabError: it does not fit, or in more than one way, as ``pre-ln-1`` does ``{placement}-{variant}``.
        """
        fields = _FIELD.findall(self.pattern)
        # The first and the last way to divide the name. If they agree there is no other.
        ways: list[tuple[str, ...]] = []
        end = "/".join(name.split("/")[-1 - self.pattern.count("/") :])
        for any_of in ("+?", "+"):
            texts = (re.escape(text).replace(r"\*", "[^/]*") for text in _FIELD.split(self.pattern)[::2])
            match = re.fullmatch(f"([^/]{any_of})".join(texts), end)
            if match is None:
                remedy = (
                    "write what the ends of all fit: '{placement}-seed{seed}', '{run}/version_*', or '{run}' for any"
                )
                raise LabError(Issue("unreadable", "runs", f"the name '{name}' does not fit '{self.pattern}'", remedy))
            ways.append(match.groups())
        if ways[0] != ways[1]:
            shown = (" and ".join(f"{f} '{text}'" for f, text in zip(fields, way, strict=True)) for way in ways)
            what = f"the name '{name}' fits '{self.pattern}' in two ways: {', or '.join(shown)}"
            remedy = "rename the runs, or write out in the pattern what they share"
            raise LabError(Issue("unreadable", "runs", what, remedy))
        return {field: number_or_word(text) for field, text in zip(fields, ways[0], strict=True)}
