"""``torch.nn.Transformer``, its stacks and its layers."""

from collections.abc import Mapping

from lnlab.outside.own_model.families.family import Family, block

_TORCH_LAYER = {
    "self_attn.in_proj_weight": "self_attention.q/k/v",
    "self_attn.in_proj_bias": "self_attention.bq/bk/bv",
    "self_attn.out_proj": "self_attention.o",
    "linear1": "feed_forward.w1",
    "linear2": "feed_forward.w2",
    "norm1": "self_attention",
}
_TORCH_STREAM = {  # whether a norm stands before or behind a branch depends on an argument
    "self_attn:input": "self_attention.in",
    "self_attn": "self_attention.branch",
    "linear1:input": "feed_forward.in",
    "linear2": "feed_forward.branch",
    "": "feed_forward.out",
}
_TORCH_DECODER_STREAM = _TORCH_STREAM | {
    "multihead_attn:input": "cross_attention.in",
    "multihead_attn": "cross_attention.branch",
}
_TORCH_DECODER_LAYER = _TORCH_LAYER | {
    "multihead_attn.in_proj_weight": "cross_attention.q/k/v",
    "multihead_attn.in_proj_bias": "cross_attention.bq/bk/bv",
    "multihead_attn.out_proj": "cross_attention.o",
    "norm2": "cross_attention",
    "norm3": "feed_forward",
}
TORCH: Mapping[str, tuple[Family, ...]] = {
    "TransformerEncoderLayer": (
        Family(
            "torch.nn",
            block("encoder", _TORCH_LAYER | {"norm2": "feed_forward"}),
            block("encoder", _TORCH_STREAM),
        ),
    ),
    "TransformerDecoderLayer": (
        Family("torch.nn", block("decoder", _TORCH_DECODER_LAYER), block("decoder", _TORCH_DECODER_STREAM)),
    ),
    "TransformerEncoder": (Family("torch.nn", {"norm": "encoder.final_norm"}, {"norm": "encoder.final_norm.out"}),),
    "TransformerDecoder": (Family("torch.nn", {"norm": "decoder.final_norm"}, {"norm": "decoder.final_norm.out"}),),
}
