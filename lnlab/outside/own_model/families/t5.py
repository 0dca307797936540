"""T5 of ``transformers``, whose block is a list of sublayers."""

from collections.abc import Mapping

from lnlab.outside.own_model.families.family import Family

_T5_ATTENTION = {
    **{name: name for name in ("q", "k", "v", "o")},
    "relative_attention_bias": "relative_positions",
}
_T5_FEED_FORWARD = {"wi": "w1", "wi_0": "w3", "wi_1": "w1", "wo": "w2"}


def _t5_sites(stack: str, sublayers: tuple[str, ...]) -> dict[str, str]:
    """The addresses in one stack of T5, whose block is a list of these sublayers."""
    patterns = {f"{stack}.final_layer_norm": f"{stack}.final_norm"}
    for path, module, sublayer in _t5_modules(stack, sublayers):
        tensors = _T5_FEED_FORWARD if sublayer == "feed_forward" else _T5_ATTENTION
        patterns[f"{path}.layer_norm"] = f"{stack}.{sublayer}"
        patterns |= {f"{path}.{module}.{name}": f"{stack}.{sublayer}.{tensor}" for name, tensor in tensors.items()}
    return patterns


def _t5_stream(stack: str, sublayers: tuple[str, ...]) -> dict[str, str]:
    """The points of the stream in one stack of T5."""
    patterns = {f"{stack}.final_layer_norm": f"{stack}.final_norm.out"}
    for path, module, sublayer in _t5_modules(stack, sublayers):
        points = {f"{path}.layer_norm": "in", f"{path}.{module}": "branch", path: "sum/out"}
        patterns |= {path: f"{stack}.{sublayer}.{tensor}" for path, tensor in points.items()}
    return patterns


def _t5_modules(stack: str, sublayers: tuple[str, ...]) -> list[tuple[str, str, str]]:
    """The path of each sublayer in a block, the module of its function, and its name here."""
    paths = [f"{stack}.block.{{layer}}.layer.{number}" for number in range(len(sublayers))]
    return [(path, _T5_MODULES[sublayer], sublayer) for path, sublayer in zip(paths, sublayers, strict=True)]


_T5_MODULES = {
    "self_attention": "SelfAttention",
    "cross_attention": "EncDecAttention",
    "feed_forward": "DenseReluDense",
}
_T5_STACKS = {"encoder": ("self_attention", "feed_forward"), "decoder": tuple(_T5_MODULES)}
_T5_ENCODER = {"shared": "embedding.table", **_t5_sites("encoder", _T5_STACKS["encoder"])}
_T5 = _T5_ENCODER | _t5_sites("decoder", _T5_STACKS["decoder"])
_T5_ENCODER_STREAM = _t5_stream("encoder", _T5_STACKS["encoder"])
_T5_STREAM = _T5_ENCODER_STREAM | _t5_stream("decoder", _T5_STACKS["decoder"])

T5: Mapping[str, tuple[Family, ...]] = {
    "T5Model": (Family("transformers", _T5, _T5_STREAM),),
    "T5EncoderModel": (Family("transformers", _T5_ENCODER, _T5_ENCODER_STREAM),),
    "T5ForConditionalGeneration": (Family("transformers", {**_T5, "lm_head": "output.table"}, _T5_STREAM),),
}
