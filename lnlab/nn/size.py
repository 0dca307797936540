"""Parameters and FLOPs of a resolved setting, without its corpus and without building all of it.

One layer of each stack is built on the meta device, so that every registered part counts itself. The totals are
products. A matrix costs two FLOPs per element and token, attention 4 length width more. Sentences are assumed to be
``LENGTH`` tokens long on both sides.
"""

from collections.abc import Callable
from functools import lru_cache
from json import loads

import torch
from torch import nn

from lnlab.compile.cost.cost import LENGTH
from lnlab.keys import Json, canonical
from lnlab.nn.feedforward import feed_forwards
from lnlab.nn.linear import linears
from lnlab.nn.parts import parts_of
from lnlab.nn.transformer import ModelShape, Stack

_Size = Callable[[dict[str, Json]], tuple[int, int]]


def encoder_decoder_size(setting: dict[str, Json]) -> tuple[int, int]:
    """Trainable elements, and forward FLOPs per target token, of a model of kind ``encoder_decoder``."""
    rows = setting["task"]["vocabulary"]
    width = setting["model"]["d_model"]
    tables = {"none": 3, "target": 2, "all": 1}[setting["model"]["tied"]]
    elements, flops = _stacks(setting, ("encoder", "decoder"))
    # The output alone multiplies by its table; an embedding looks a row up.
    return elements + tables * rows * width, flops + 2 * rows * width


def one_stack_size(name: str) -> _Size:
    """The same for a model of one stack of that name, with a logit for each row of its table."""

    def size(setting: dict[str, Json]) -> tuple[int, int]:
        rows = setting["task"]["vocabulary"]
        width = setting["model"]["d_model"]
        tables = {"none": 2, "input": 1}[setting["model"]["tied"]]
        elements, flops = _stacks(setting, (name,))
        elements += rows * bool(setting["model"].get("output_scale"))
        elements += setting["model"].get("embedding_scale") == "learned"
        return elements + tables * rows * width, flops + 2 * rows * width

    return size


def classifier_size(setting: dict[str, Json]) -> tuple[int, int]:
    """The same for a model of kind ``classifier``. The FLOPs of its output are left out as negligible."""
    rows = setting["task"]["vocabulary"]
    width = setting["model"]["d_model"]
    labels = setting["task"]["classes"]
    elements, flops = _stacks(setting, ("encoder",))
    return elements + rows * width + labels * (width + 1), flops


def feature_classifier_size(setting: dict[str, Json]) -> tuple[int, int]:
    """The same for a model of kind ``feature_classifier``. Frozen weights are not trained, but cost a forward pass."""
    rows = setting["task"]["vocabulary"]
    width = setting["model"]["d_model"]
    model = setting["model"]
    elements, flops = classifier_size(setting)
    words = ("norm", "placement", "attention")
    frozen = {"layers": model["feature_layers"], **{word: model[f"feature_{word}"] for word in words}}
    _, below = _stacks(setting | {"encoder": frozen}, ("encoder",))
    return elements - rows * width, flops + below


def _stacks(setting: dict[str, Json], names: tuple[str, ...]) -> tuple[int, int]:
    """Elements and FLOPs per token of stacks, without their tables."""
    model = setting["model"]
    width = model["d_model"]
    elements = 0
    flops = 0
    for name in names:
        stack = setting[name]
        layers = stack["layers"]
        # As text, by which the cache finds them; one layer stands for all.
        parts = canonical(stack | {"layers": 1})
        made_of = canonical({word: model.get(word, "relu") for word in ("linear", "feed_forward")})
        layer, matrices, after = _stack(parts, made_of, width, model["heads"], model["d_ff"])
        attentions = 2 if stack.get("cross_attention", False) else 1
        elements += layers * layer + after
        flops += layers * (2 * matrices + attentions * 4 * LENGTH * width)
    return elements, flops


@lru_cache(maxsize=1024)
def _stack(choice: str, made_of: str, width: int, heads: int, d_ff: int) -> tuple[int, int, int]:
    """Elements of one layer, elements of its matrices, and elements after the last layer."""
    chosen = loads(made_of)
    shape = ModelShape(
        size=1,
        width=width,
        heads=heads,
        d_ff=d_ff,
        linear=linears.builder(chosen["linear"]),
        feed_forward=feed_forwards.builder(feed_forwards.resolve(chosen["feed_forward"])),
    )
    with torch.device("meta"):
        stack = Stack("stack", parts_of(loads(choice)), None, shape)
    layer = list(stack.layers.parameters())
    after = list(stack.final_norm.parameters()) if stack.final_norm is not None else []
    return _elements(layer), _elements([p for p in layer if p.dim() > 1]), _elements(after)


def _elements(parameters: list[nn.Parameter]) -> int:
    return sum(p.numel() for p in parameters)
