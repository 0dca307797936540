"""Put numbers, lists and variants into words."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from textwrap import wrap

from lnlab.claims.verdict_text import MINUS
from lnlab.keys import Json
from lnlab.report.words.path_names import norm_with_parameters
from lnlab.report.words.spectral_words import SCOPE_NAMES
from lnlab.seed_words import seeds_word
from lnlab.setting import STACKS
from lnlab.specfile.columns import TIMES
from lnlab.specfile.values import NONE, site_label

MAX_NAMED = 2
"""The most series that a generated heading names, as a longer list says nothing at a glance."""
LEVEL = 1.25
"""A course is level where the whole interval of its factor lies between 1/1.25 and 1.25 (as averages that are called
equivalent, Schuirmann, 1987)."""
WIDE_INTERVAL = 100
"""With a wider interval the units digit of a number in the thousands has no meaning."""
_NUMBER = re.compile(r"(?<= )-?\d+\.\d+(?=[,)])")
"""A parameter's number in the label of a choice: ``uniform (a -100.0, b 100.0)``."""
_AGREEMENT = 1e-4  # relative to the estimate: the digits that are printed show no narrower interval
_EXACT_LENGTH = 8
_EDGE_ERROR = 0.02
"""How far a printed edge may lie from the one that judges, as a share of the distance of that one from 1."""
_RAISED = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")

_WORDS: Mapping[tuple[str, str], str] = {
    ("placement", "post"): "Post-LN",
    ("placement", "pre"): "Pre-LN",
    ("placement", "sandwich"): "Peri-LN",
    ("placement", "mix"): "Mix-LN",
    ("placement", "b2t"): "B2T",
    ("placement", "deepnorm"): "DeepNorm",
    ("placement", "admin"): "Admin",
    ("placement", "rezero"): "ReZero",
    ("placement", "fixup"): "Fixup",
    ("placement", "layerscale"): "LayerScale",
    ("placement", "hybrid"): "HybridNorm",
    ("placement", "ngpt"): "nGPT",
    ("norm", "layer"): "LayerNorm",
    ("norm", "batch"): "BatchNorm",
    ("norm", "frozen_batch"): "frozen BatchNorm",
    ("norm", "rms"): "RMSNorm",
    ("norm", "group"): "GroupNorm",
    ("norm", "instance"): "InstanceNorm",
    ("norm", "scale"): "ScaleNorm",
    ("norm", "dyt"): "DyT",
    ("norm", "none"): "no norm",
    ("tied", "none"): "untied",
    ("tied", "target"): "tied output",
    ("tied", "all"): "all embeddings tied",
    ("warmup_steps", "0"): "no warm-up",
    ("anchor", "null"): "literal decay",
    **{("scope", scope): words for scope, words in SCOPE_NAMES.items()},
}
_PREFIXES = {
    "lr": "learning rate",
    "warmup_steps": "warm-up",
    "anchor": "decay from",
    "batch_sentences": "batch size",
    "d_model": "width",
    "d_ff": "feed-forward width",
    "step": "step",
    "index": "index",
    "x": "x =",
}
"""What stands before a number on paths whose number is not a count."""


def format_number(value: float | None, low: float | None = None, high: float | None = None) -> str:
    """A number with as many digits as its interval leaves meaningful, or three significant ones without an interval."""
    if value is None:
        return "–"
    if not math.isfinite(value):
        return "not a number" if math.isnan(value) else ("∞" if value > 0 else f"{MINUS}∞")
    bounds = (value, low, high) if low is not None and high is not None and math.isfinite(high - low) else (value,)
    places = min(_decimal_places(bound, low, high) for bound in bounds)
    if value and not -4 <= math.floor(math.log10(abs(value))) < 6:
        return format_scientific(value, 2)
    text = f"{value:.{max(places, 0)}f}"
    return text.replace("-", MINUS) if float(text) else text.lstrip("-")


def format_scientific(value: float, places: int) -> str:
    """A number as ``2.25 × 10⁷``, with so many decimal places."""
    mantissa, _, power = f"{value:.{places}e}".partition("e")
    return f"{mantissa} × 10{str(int(power)).translate(_RAISED)}".replace("-", MINUS)


def _decimal_places(value: float, low: float | None, high: float | None) -> int:
    """Decimal places that show one digit of the half width, or two if it begins with 1 or 2.

    A number has at most four significant digits.
    """
    half = (high - low) / 2 if low is not None and high is not None else math.nan
    if not (math.isfinite(half) and half > 0):
        return 2 - math.floor(math.log10(abs(value))) if value else 0
    power = math.floor(math.log10(half))
    most = 3 - math.floor(math.log10(abs(value))) if value else 6
    return min(-power + (1 if half / 10.0**power < 3 else 0), most)


def format_interval(value: float | None, low: float | None, high: float | None, *, agree: bool = True) -> str:
    """``6.8 [6.1, 7.5]``, or the number alone without an interval. Far from 1, all three share a power of ten.

    ``agree`` says whether seeds agree where the interval has no width. Those of a median need not.
    """
    if low is None or high is None or value is None:
        return format_number(value)
    if high - low <= _AGREEMENT * abs(value):
        exact = format_value(value) if low == high else ""
        text = exact if 0 < len(exact) <= _EXACT_LENGTH else format_number(value, low, high)
        return f"{text}, all {seeds_word()} agree" if agree else f"{text} [{text}, {text}]"
    scale = 10.0 ** math.floor(math.log10(abs(value))) if value and math.isfinite(value) else 1.0
    use_power = not 1e-4 <= scale < 1e6 or (scale >= 1e3 and high - low > WIDE_INTERVAL)
    if use_power and scale > 1e-300 and all(abs(bound) < 1e6 * scale for bound in (low, high)):
        power = format_scientific(scale, 0).partition("× ")[2]
        return f"{format_interval(value / scale, low / scale, high / scale)} × {power}"
    texts = []
    for bound in (value, low, high):
        text = format_number(bound, low, high)
        texts.append(format_short(bound) if bound and text == "0" else text)  # only zero itself is written as 0
    return f"{texts[0]} [{texts[1]}, {texts[2]}]"


def even_lines(text: str, most: int) -> list[str]:
    """The text in as few lines of at most ``most`` letters as it needs, which are about equally long."""
    needed = len(wrap(text, most))
    return next((lines for width in range(1, most) if len(lines := wrap(text, width)) == needed), wrap(text, most))


def without_interval(text: str) -> str:
    """The number of ``format_interval`` alone, with its power of ten: ``3.6 × 10⁻⁶`` of ``3.6 [2.2, 5.8] × 10⁻⁶``."""
    return re.sub(r" \[[^]]*]", "", text).partition(",")[0]


def number_on_mark(
    estimate: float, low: float | None, high: float | None, *, times: bool = False, signed: bool = False
) -> str:
    """A number beside its mark, as an answer quotes it: ``×0.40``, ``+0.068``, ``3.6 × 10⁻⁶``, ``34.7``.

    Args:
        estimate: the number.
        low: lower end of its interval.
        high: upper end of its interval.
        times: whether it is a ratio.
        signed: whether it is a difference.
    """
    text = without_interval(format_interval(estimate, low, high))
    if times:
        return text if "×" in text else f"×{text}"
    return f"+{text}" if signed and estimate > 0 else text


def nonbreaking(text: str) -> str:
    """A number or an interval that no line break may split, but before its bracket."""
    return text.replace(", ", ",\u00a0").replace(" × ", "\u00a0×\u00a0")


def region_in_words(low: float | None, high: float | None) -> str:
    """The accepted range in words."""
    if low is None and high is None:
        return "nothing"
    if low == high:
        return f"equal to {_region_bound(low)}"
    if high is None:
        return f"at least {_region_bound(low)}"
    return (
        f"at most {_region_bound(high)}" if low is None else f"between {_region_bound(low)} and {_region_bound(high)}"
    )


def _region_bound(value: float | None) -> str:
    """An edge as the spec has it. A computed edge, such as 1/1.1, is rounded so that its distance from 1 shows."""
    text = format_value(value)
    if value is None or len(text) <= _EXACT_LENGTH:
        return text
    of_a_factor = value > 0 and len(format_value(1 / value)) <= _EXACT_LENGTH
    rounded = [float(f"{value:.{digits}g}") for digits in ((2, 3, 4, 5, 6) if of_a_factor else (6,))]
    near = (number for number in rounded if abs(number - value) <= _EDGE_ERROR * abs(value - 1))
    return format_value(next(near, rounded[-1]))


def format_value(value: Json) -> str:
    """A value as its author would write it: no trailing zeros, a true minus sign, words for true, false and null."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return f"{value:.12g}".replace("-", MINUS) if math.isfinite(value) else format_number(value)
    if isinstance(value, list) and not value:
        return NONE
    if isinstance(value, Mapping):
        parameters = ", ".join(
            (site_label(v) if isinstance(v, Mapping) and "kind" not in v else f"{k} {format_value(v)}")
            for k, v in value.items()
            if k != "kind"
        )
        kind = str(value.get("kind", ""))
        return f"{kind} ({parameters})" if kind and parameters else kind or parameters
    return (
        "none"
        if value is None
        else join_words(map(format_value, value), "and")
        if isinstance(value, list)
        else str(value)
    )


def format_short(value: float) -> str:
    """A number for a heading: two significant digits, or all before the point where these are three or four."""
    if not math.isfinite(value) or 100 <= abs(value) < 1e4:
        return format_number(value)
    in_range = value == 0 or 1e-4 <= abs(value) < 1e4
    return format_value(float(f"{value:.2g}")) if in_range else format_scientific(value, 1)


def format_apart(values: Sequence[float]) -> list[str]:
    """Numbers for a heading that compares them, as ``format_short`` or with up to four digits to differ."""
    short = [format_short(value) for value in values]
    if len(set(short)) == len(short):
        return short
    for digits in (3, 4):
        rounded = [float(f"{value:.{digits}g}") for value in values]
        if len(set(rounded)) == len(rounded):
            return [
                format_scientific(value, digits - 1) if 0 < abs(value) < 1e-4 else format_value(value)
                for value in rounded
            ]
    return short


def is_level(low: float, high: float, *, log: bool, scale: float = 1.0) -> bool:
    """Whether a whole interval of a change lies so near to none that the course is called level.

    Args:
        low: its lower end.
        high: its upper end.
        log: whether the change is a factor. If not, it is a difference.
        scale: of a difference: the larger of the two numbers that it lies between.
    """
    ends = (1 / LEVEL, LEVEL) if log else ((1 / LEVEL - 1) * scale, (1 - 1 / LEVEL) * scale)
    return ends[0] <= low and high <= ends[1]


def growth_in_words(ratio: float) -> str:
    """``grows 7.6×``, ``falls to 0.22×``, or ``grows by a factor of 2.00 × 10⁷`` where it needs a power of ten."""
    factor = format_short(ratio)
    # what is 1 in print does not grow
    if factor == "1":
        return "stays level (1×)"
    if 1e-4 <= ratio < 1e6:
        return f"{'grows' if ratio > 1 else 'falls to'} {factor}×"
    return f"{'grows' if ratio > 1 else 'falls'} by a factor of {format_short(max(ratio, 1 / ratio))}"


def join_words(words: Iterable[str], last: str = "and") -> str:
    """``a, b and c``."""
    parts = list(words)
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} {last} {parts[-1]}" if parts else ""


def two_at_most(clauses: Iterable[str], *, sentences: bool = True) -> str:
    """Join the clauses of a heading, one for each series. Of more than two, the first two and a count stay.

    Args:
        clauses: in the order of the series.
        sentences: whether each could stand alone. If not, they are joined as a list.
    """
    texts = list(clauses)
    if (more := len(texts) - MAX_NAMED) > 0:
        texts = [*texts[:MAX_NAMED], f"{more} more in the figure"]
    return "; ".join(texts) if sentences else join_words(texts)


def numbers_first(values: Iterable[Json]) -> list[Json]:
    """Numbers first, in ascending order, then all else in its order."""
    all_values = list(values)
    numbers = [v for v in all_values if isinstance(v, int | float) and not isinstance(v, bool)]
    return [*sorted(numbers), *(v for v in all_values if isinstance(v, bool) or not isinstance(v, int | float))]


_PREPOSITIONS = ("with", "without", "at", "in", "on", "after", "before", "by", "from", "under", "as")


def in_variant(name: str) -> str:
    """A variant behind its number: ``in Post-LN``, ``with LayerNorm``, ``with warm-up``, ``at learning rate 0.1``."""
    first = name.split(" ", 1)[0]
    if first.lower() in _PREPOSITIONS:
        return name
    if name.startswith(("learning rate ", "step ")) or " × chosen" in name:
        return f"at {name}"
    return f"in {name}" if first.rstrip(",").endswith("-LN") else f"with {name}"


def indefinite_article(word: str) -> str:
    """``a classifier``, ``an encoder``."""
    return "an" if word[:1].lower() in {"a", "e", "i", "o"} else "a"


def count_noun(n: int, word: str) -> str:
    """``1 seed``, ``3 seeds``."""
    return f"{n} {word}" if n == 1 else f"{n} {word}s"


def moment_in_words(step: int) -> str:
    """``before training``, ``after 1,000 training steps``."""
    return f"after {step:,} training step{'' if step == 1 else 's'}" if step else "before training"


def axis_value_name(axis: str, value: Json, label: str) -> str:
    """A value of an axis as a reader says it: ``Post-LN``, ``6 layers``, ``3 decoder layers``, ``factor 2``."""
    if axis == TIMES and isinstance(value, int | float):
        return "as chosen" if value == 1 else f"{format_value(value)} × chosen"
    owner, _, name = axis.rpartition(".")
    words = name.replace("_", " ")
    if axis.startswith("interventions") and isinstance(value, int | float | None | list):
        number = isinstance(value, int | float)
        return f"{words} {format_value(value)}" if number else label if value else "no intervention"
    if name == "evaluate":
        return _evaluation_words(value, label)
    if isinstance(value, bool):
        return f"{'with' if value else 'without'} {words.replace('cross attention', 'cross-attention')}"
    kind, bracket, parameters = label.partition(" (")
    if known := _WORDS.get((name, kind)):
        return known + bracket + parameters if name != "norm" else norm_with_parameters(known, parameters)
    label = kind + bracket + _NUMBER.sub(lambda match: format_value(float(match[0])), parameters)
    if name in _PREFIXES and isinstance(value, int | float):
        return f"{_PREFIXES[name]} {format_value(value)}"
    if isinstance(value, int | float):
        if not owner and not words.endswith("s"):  # of a table of one's own: warmup 100, and still 6 layers
            return f"{words} {format_value(value)}"
        noun = f"{owner} {words}" if owner in STACKS else words
        return f"{format_value(value)} {noun.removesuffix('s') if value == 1 else noun}"
    return label


def _evaluation_words(value: Json, label: str) -> str:
    """When the validation loss is measured: ``evaluated every 57 steps``, ``evaluated at the end``."""
    for key, unit in (("every", "step"), ("epochs", "epoch")):
        if isinstance(value, Mapping) and set(value) == {key}:
            return f"evaluated every {value[key]} {unit}{'' if value[key] == 1 else 's'}"
    return "evaluated at the end" if value == "end" else f"evaluated at {label}"
