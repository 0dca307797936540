"""What a section selects, in words: a sentence of its captions."""

from collections.abc import Collection, Iterator, Mapping, Sequence

from lnlab.keys import Json
from lnlab.report.words.path_names import number_ranges, path_name, site_name
from lnlab.report.words.wording import axis_value_name, format_value, join_words, moment_in_words
from lnlab.seed_words import seed_word
from lnlab.specfile.values import value_label

_ENDS = {"last": "the last step of each run", "first": "before training"}
_SILENT = ("quantity", "rule", "reference", "draw", "train.evaluate")
"""Keys of a selection that say how something is computed or how often, and are told elsewhere."""


def selection_sentence(where: Mapping[str, Json], told: str, names: Collection[str] = ()) -> str:
    """``Shown: decoder, w2, 6 layers, at the end of training.``, or nothing.

    Args:
        where: the selection of a section.
        told: what its caption says anyway, which is not said again.
        names: of the series. Where they tell when each was measured, the sentence does not.
    """
    moments_named = any(name.endswith("at initialization") for name in names)
    asked = {path: value for path, value in where.items() if path != "step" or not moments_named}
    texts = [text for path, value in asked.items() for text in _condition(path, value)]
    new = [text for text in texts if text.lower() not in told.lower()]
    return f"Shown: {', '.join(new)}." if new else ""


def _condition(path: str, value: Json) -> Iterator[str]:
    """One condition in words. Values of an axis that are a list have their names in the drawing."""
    several = value if isinstance(value, list | tuple) else [value]
    if len(several) == 1:
        several = [_alone(several[0])]
    if path in _SILENT or value is None:
        return
    if isinstance(value, Mapping) and "kind" not in value:
        edges = (f"{key.replace('_', ' ')} {value_label(edge)}" for key, edge in value.items())
        yield f"{path_name(path)} {join_words(edges)}"
    elif path in ("stack", "sublayer", "tensor"):
        yield join_words(site_name(str(one)) for one in several)
    elif path == "split":
        yield f"{join_words(map(str, several))} split"
    elif path == "grid":
        yield f"grid {join_words(str(one).replace('_', ' ') for one in several)}"
    elif path == "seed":
        yield f"{seed_word(len(several))} {number_ranges([int(str(one)) for one in several])}"
    elif path in ("step", "layer", "index"):
        yield _place(path, several)
    elif len(several) == 1:
        yield axis_value_name(path, several[0], value_label(several[0]))


def _alone(value: Json) -> Json:
    """A piece with lists or pieces in it, as a corpus with its files, by its kind alone."""
    nested = isinstance(value, Mapping) and any(isinstance(one, list | Mapping) for one in value.values())
    return value["kind"] if nested and "kind" in value else value


def _place(path: str, several: Sequence[Json]) -> str:
    if path == "step" and len(several) == 1:
        step = several[0]
        return moment_in_words(step) if isinstance(step, int) else _ENDS.get(str(step), f"{step} step")
    words = [one for one in several if isinstance(one, str)]
    if words:
        return f"{join_words(map(str, several))} {path}"
    return f"{path}{'' if len(several) == 1 else 's'} {join_words(map(format_value, several))}"
