"""How numbers, lists, variants and quantities are put into words."""

import math
import re
from collections.abc import Iterable, Mapping
from fractions import Fraction

from lnlab.keys import Json
from lnlab.spec.values import NONE, place

MINUS = "−"
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufffe\uffff]+")
_RAISED = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")

QUANTITIES: Mapping[str, tuple[str, str, str]] = {
    "gradient_norm": ("gradient norm", "nats per token", "Frobenius norm of the mean gradient"),
    "gradient_norm_mean": ("mean gradient norm", "nats per token", "mean Frobenius norm of the gradient of a batch"),
    "gradient_norm_unbiased_sq": (
        "squared gradient norm",
        "nats² per token²",
        "squared norm of the gradient, unbiased",
    ),
    "gradient_rms": ("gradient r.m.s.", "nats per token", "gradient norm over the square root of its elements"),
    "gradient_noise_share": ("noise share", "of the squared norm", "share of the squared gradient norm that is noise"),
    "gradient_growth": ("gradient growth", "ratio", "gradient norm over that of the layer before"),
    "stream_gradient": ("gradient of the stream", "nats per token", "norm of the loss's gradient by the hidden states"),
    "q_to_v_gradient": (
        "gradient of q over that of v",
        "ratio",
        "norm of the expected gradient, unbiased, of q over v",
    ),
    "qk_to_v_gradient": ("gradient of q and k over v's", "ratio", "median over layers, of q and k over v"),
    "qk_collapse_exponent": ("exponent of the collapse", "slope", "of log(gradient of q over v) on log(1 − cosine)"),
    "token_difference": ("difference of tokens", "1 − cosine", "one minus the mean cosine of two tokens of a sentence"),
    "variance_over_input": ("variance over the input's", "ratio", "variance in a layer over that of the embedding"),
    "growth_over_prediction": (
        "growth over prediction",
        "of logarithms",
        "log of a layer's growth of variance over the log of the growth that its tokens' likeness predicts",
    ),
    "hidden_norm": ("hidden norm", "Euclidean", "mean norm of the hidden state of a token"),
    "hidden_norm_sq": ("squared hidden norm", "per dimension", "mean squared norm of a hidden state over its width"),
    "hidden_gain": ("hidden gain", "ratio", "norm of a hidden state over that of the embedding"),
    "token_cosine": ("token cosine", "cosine", "mean cosine of two tokens of a sentence"),
    "rank_one_residual": (
        "rank-one residual",
        "relative",
        "distance from all tokens alike, over the norm",
    ),
    "activation_mean": ("mean activation", "per coordinate", "mean over the coordinates of all tokens"),
    "activation_variance": ("activation variance", "per coordinate", "variance over the coordinates of all tokens"),
    "token_sigma": ("token sigma", "per coordinate", "mean standard deviation of the coordinates of a token"),
    "branch_variance_share": ("branch share", "of the variance", "variance of a branch over that of the sum"),
    "norm_gradient_ratio": ("gradient ratio of a norm", "ratio", "gradient norm below a norm over that above it"),
    "norm_inverse_rms": ("inverse r.m.s.", "per coordinate", "mean of one over the root mean square of a token"),
    "norm_ratio_over_bound": ("ratio over bound", "ratio", "gradient ratio of a norm times the token's sigma"),
    "norm_ratio_over_bound_max": ("largest ratio over bound", "ratio", "largest gradient ratio times sigma of a token"),
    "norm_growth_share": ("growth share", "of the long tokens", "share of tokens above √d whose gradient grows"),
    "layer_gradient_ratio": (
        "gradient ratio of a layer",
        "ratio",
        "stream's gradient below a layer over that above it",
    ),
    "layer_gradient_over_prediction": (
        "measured over predicted",
        "ratio",
        "gradient ratio of a layer over the product of its norms' inverse sigmas and its branches' gains",
    ),
    "norm_inverse_sigma": ("inverse sigma", "per coordinate", "mean of one over the standard deviation of a token"),
    "own_dependency": ("own dependency", "share", "share of a sublayer in the stream that leaves it"),
    "own_dependency_inverse_sq": ("inverse squared dependency", "share", "one over the squared own dependency"),
    "jacobian_mean_square": ("mean squared singular value", "ratio", "of the Jacobian from input to output"),
    "isometry_gap": (
        "distance from isometry",
        "nats",
        "logarithm of the mean squared singular value, without its sign",
    ),
    "jacobian_singular_value": ("singular value", "ratio", "of the Jacobian from input to output"),
    "output_change_random": ("output change", "squared norm", "by a random step of all weights, per token"),
    "output_change_gradient": ("output change", "squared norm", "by a step against the gradient, per token"),
    "recursion_error": ("error of the recursion", "relative", "distance from the gradient of a backward pass"),
    "recursion_error_without_attention": (
        "error without attention",
        "relative",
        "distance of the recursion from the gradient, with attention left out of F",
    ),
    "recursion_error_separated": (
        "error of separate products",
        "relative",
        "distance from the gradient, with the norms and the blocks multiplied apart",
    ),
    "norm_excess_share": ("excess share", "of tokens", "share of tokens whose squared norm is far above the mean"),
    "branch_gain": ("branch gain", "ratio", "mean squared norm that a sublayer gives back over that it is given"),
    "attention_gain_times_length": (
        "attention gain times tokens",
        "ratio",
        "branch gain of self-attention times the tokens of a sentence",
    ),
    "gradient_over_theorem": (
        "gradient over the theorem",
        "nats per token",
        "gradient norm over d √ln d, in Pre-LN over d √(ln d / L)",
    ),
    "gradient_over_sharp_law": (
        "gradient over the sharper law",
        "nats per token",
        "gradient norm over √d, in Pre-LN over √(d/L)",
    ),
    "stream_over_lower_bound": ("stream over its lower bound", "ratio", "squared hidden norm over 1 + l/2"),
    "stream_over_upper_bound": ("stream over its upper bound", "ratio", "squared hidden norm over 1 + 3l/2"),
    "scaled_gradient_norm": ("scaled gradient norm", "nats per token", "gradient norm times the norm of its stream"),
}
_WORDS: Mapping[tuple[str, str], str] = {
    ("placement", "post"): "Post-LN",
    ("placement", "pre"): "Pre-LN",
    ("tied", "none"): "untied",
    ("tied", "target"): "tied output",
    ("tied", "all"): "all embeddings tied",
}


def number(value: float | None, low: float | None = None, high: float | None = None) -> str:
    """A number with as many digits as its interval leaves meaningful; three significant ones without an interval."""
    if value is None:
        return "–"
    if not math.isfinite(value):
        return "not a number" if math.isnan(value) else ("∞" if value > 0 else f"{MINUS}∞")
    places = _places(value, low, high)
    if value and not -4 <= math.floor(math.log10(abs(value))) < 6:
        return _scientific(value, 2)
    text = f"{value:.{max(places, 0)}f}"
    return text.replace("-", MINUS) if float(text) else text.lstrip("-")


def _scientific(value: float, places: int) -> str:
    mantissa, _, power = f"{value:.{places}e}".partition("e")
    return f"{mantissa} × 10{str(int(power)).translate(_RAISED)}".replace("-", MINUS)


def _places(value: float, low: float | None, high: float | None) -> int:
    """Decimal places: two digits of a half width that begins with 1 or 2, else one; at most four digits in all."""
    half = (high - low) / 2 if low is not None and high is not None else math.nan
    if not (math.isfinite(half) and half > 0):
        return 2 - math.floor(math.log10(abs(value))) if value else 0
    power = math.floor(math.log10(half))
    most = 3 - math.floor(math.log10(abs(value))) if value else 6
    return min(-power + (1 if half / 10.0**power < 3 else 0), most)


def interval(value: float | None, low: float | None, high: float | None) -> str:
    """``6.8 [6.1, 7.5]``, or the number alone where there is no interval."""
    if low is None or high is None or value is None:
        return number(value)
    return f"{number(value, low, high)} [{number(low, low, high)}, {number(high, low, high)}]"


def region(low: float | None, high: float | None) -> str:
    """The declared region in words."""
    if low is None and high is None:
        return "no region"
    if high is None:
        return f"at least {plain(low)}"
    return f"at most {plain(high)}" if low is None else f"between {plain(low)} and {plain(high)}"


def printable(value: Json) -> Json:
    """A text on one line without control characters; a list or a mapping with all its texts made so."""
    if isinstance(value, str):
        return _UNPRINTABLE.sub(" ", value)
    if isinstance(value, Mapping):
        return {printable(key): printable(inner) for key, inner in value.items()}
    return [printable(inner) for inner in value] if isinstance(value, list | tuple) else value


def plain(value: Json) -> str:
    """A value as its author would write it: no trailing zeros, a true minus sign, words for true, false and null."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return f"{value:.12g}".replace("-", MINUS) if math.isfinite(value) else number(value)
    if isinstance(value, list) and not value:
        return NONE
    if isinstance(value, Mapping):
        given = ", ".join(_param(k, v) for k, v in value.items() if k != "kind")
        kind = str(value.get("kind", ""))
        return f"{kind} ({given})" if kind and given else kind or given
    return "none" if value is None else listing(map(plain, value), "and") if isinstance(value, list) else str(value)


def _param(name: str, value: Json) -> str:
    return place(value) if isinstance(value, Mapping) and "kind" not in value else f"{name} {plain(value)}"


def short(value: float) -> str:
    """A number for a heading: two significant digits, and no fewer than stand before the point."""
    if not math.isfinite(value) or abs(value) >= 100:
        return number(value)
    return _scientific(value, 1) if 0 < abs(value) < 1e-3 else plain(float(f"{value:.2g}"))


def power(letter: str, exponent: float) -> str:
    """A power law as a reader knows it: ``constant``, ``1/√L``, ``1/L``, ``L^0.25``."""
    known = {0.0: "constant", 0.5: f"√{letter}", -0.5: f"1/√{letter}", 1.0: letter, -1.0: f"1/{letter}"}
    return known.get(exponent, f"{letter}^{plain(exponent)}")


def straight(a: float, b: float, letter: str) -> str:
    """A straight line as a reader knows it: ``1 + 3l/2``, ``2 − l``, ``1.5``."""
    if b == 0:
        return plain(a)
    top, bottom = Fraction(abs(b)).limit_denominator(12).as_integer_ratio()
    slope = f"{'' if top == 1 else top}{letter}{'' if bottom == 1 else f'/{bottom}'}"
    return f"{plain(a)} {MINUS if b < 0 else '+'} {slope}"


def listing(words: Iterable[str], last: str = "and") -> str:
    """``a, b and c``."""
    found = list(words)
    return found[0] if len(found) == 1 else f"{', '.join(found[:-1])} {last} {found[-1]}" if found else ""


def count(n: int, word: str) -> str:
    """``1 seed``, ``3 seeds``."""
    return f"{n} {word}" if n == 1 else f"{n} {word}s"


def value_of_axis(axis: str, value: Json, label: str) -> str:
    """A value of an axis as a reader says it: ``Post-LN``, ``without cross attention``, ``6 layers``, ``factor 2``."""
    short = axis.rpartition(".")[2]
    words = short.replace("_", " ")
    if axis.startswith("interventions") and isinstance(value, int | float | None | list):
        return f"{words} {plain(value)}" if isinstance(value, int | float) else label if value else "no intervention"
    if isinstance(value, bool):
        return f"{'with' if value else 'without'} {words.replace('cross attention', 'cross-attention')}"
    if known := _WORDS.get((short, label)):
        return known
    return f"{plain(value)} {words}" if isinstance(value, int | float) else label


def together(words: Iterable[str]) -> str:
    """The values of several axes as one name: ``Post-LN without cross-attention``, ``Post-LN, untied``."""
    name = ""
    for word in words:
        name += word if not name else f" {word}" if word.startswith(("with ", "without ")) else f", {word}"
    return name


def quantity(name: str) -> str:
    """What a quantity is called in a sentence; an unknown one is called by its words."""
    return QUANTITIES[name][0] if name in QUANTITIES else name.replace("_", " ")


def unit(name: str) -> str:
    """A quantity with its unit, for an axis."""
    return f"{quantity(name)}, {QUANTITIES[name][1]}" if name in QUANTITIES else quantity(name)


def definition(name: str) -> str:
    """A quantity with what it is, to begin a caption."""
    words = quantity(name)
    known = f" ({QUANTITIES[name][2]}, {QUANTITIES[name][1]})" if name in QUANTITIES else ""
    return f"{words[:1].upper()}{words[1:]}{known}"
