"""Where the residual stream of any module passes, from a table of patterns: the user's, or those of known families.

    {"blocks.{layer}": "decoder.feed_forward.out", "blocks.{layer}.norm2:input": "decoder.self_attention.sum/out"}

A pattern names the output of a module, or with ``:input`` its input. Of several tensors it means the first. An address
is ``[stack.]sublayer.tensor``. As in lnlab's own models, a tensor is ``in`` (the input of a sublayer's function),
``branch`` (its output), ``sum`` (the stream after the addition) or ``out`` (the stream as it goes on). ``sum/out`` is
both, for a stream without a norm after the addition.
"""

from collections import Counter
from collections.abc import Iterator, Mapping

from torch import nn

from lnlab.nn.site import Site, StreamPoint
from lnlab.outside.own_model.patterns import (
    PatternRule,
    base_of,
    known_families,
    layer_of,
    read_rule,
    refuse,
    refuse_unmatched,
)

_TENSORS = ("in", "branch", "sum", "out")
_INPUT = ":input"


def stream_points(model: nn.Module, patterns: Mapping[str, str]) -> dict[Site, StreamPoint]:
    """The points of the stream by their sites. Without patterns of the user, those of known families.

    Raises:
        LabError: a pattern cannot be read or matches no module, or two points would have one site.
    """
    rules = [_stream_rule(pattern, address) for pattern, address in patterns.items()]
    paths = [path for path, _ in model.named_modules() if path]
    matched: set[str] = set()
    points: dict[Site, StreamPoint] = {}
    for pattern, rule in zip(patterns, rules, strict=True):
        for site, point in _points(rule, paths, ""):
            matched.add(pattern)
            if site in points:
                what = f"'{points[site]}' and '{point}' are one point of the stream, {site.sublayer}.{site.tensor}"
                refuse(what, "give them different addresses in stream=, or {layer} a place in the pattern")
            points[site] = point
    refuse_unmatched(patterns, matched, "stream", "module", next(iter(paths), "layers.0"))
    if patterns:
        return points
    recognised: list[tuple[Site, StreamPoint]] = []
    for path, family in known_families(model):
        inside = [other for other in paths if not path or other == path or other.startswith(f"{path}.")]
        for pattern, address in family.stream.items():
            recognised += _points(_stream_rule(pattern, address), inside, base_of(path, pattern))
    # Where two points have one site, as in two models inside one, neither is taken for the stream.
    count = Counter(site for site, _ in recognised)
    return {site: point for site, point in recognised if count[site] == 1}


def _stream_rule(pattern: str, address: str) -> PatternRule:
    rule = read_rule(pattern, address, "stream")
    if not rule.tensors or not set(rule.tensors) <= set(_TENSORS) or rule.sideways:
        what = f"the address '{address}' in stream= names no point of the stream"
        refuse(what, "let it end with .in, .branch, .sum, .out or .sum/out")
    return rule


def _points(rule: PatternRule, paths: list[str], base: str) -> Iterator[tuple[Site, StreamPoint]]:
    """The points that a rule names among modules, each with its site."""
    at_input = rule.pattern.endswith(_INPUT)
    for path in paths:
        match = rule.regex.fullmatch(f"{path}{_INPUT}" if at_input else path, len(base))
        if match is not None and path.startswith(base):
            for tensor in rule.tensors:
                yield Site(rule.stack, layer_of(match), rule.sublayer, tensor), StreamPoint(path, at_input)
