"""Models that are recognised by the names of their classes and modules: patterns as data, a table a class.

A pattern is relative to the module of that class, also in a subclass and inside any other model; one that begins with
``{layer}`` is of a block that stands in a list, and the number is the block's own. Addresses are written as in
``lnlab.own_model.addresses``. Of the feed-forward, ``w1`` leads in, ``w2`` out, and ``gate`` is what ``w1`` is
multiplied by.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from torch import nn


@dataclass(frozen=True)
class Family:
    """A class of modules, by name.

    Attributes:
        origin: the module that defines the class, or a package above it; empty: any.
        sites: addresses of parameters by pattern.
    """

    origin: str
    sites: Mapping[str, str]

    def describes(self, owner: type[nn.Module]) -> bool:
        """Whether a class of the right name has the right origin."""
        return not self.origin or f"{owner.__module__}.".startswith(f"{self.origin}.")


def _block(stack: str, modules: Mapping[str, str]) -> dict[str, str]:
    """The patterns of a block in a list."""
    return {f"{{layer}}.{path}": f"{stack}.{address}" for path, address in modules.items()}


_TORCH_LAYER = {
    "self_attn.in_proj_weight": "self_attention.q/k/v",
    "self_attn.in_proj_bias": "self_attention.bq/bk/bv",
    "self_attn.out_proj": "self_attention.o",
    "linear1": "feed_forward.w1",
    "linear2": "feed_forward.w2",
    "norm1": "self_attention",
}
_TORCH_DECODER_LAYER = _TORCH_LAYER | {
    "multihead_attn.in_proj_weight": "cross_attention.q/k/v",
    "multihead_attn.in_proj_bias": "cross_attention.bq/bk/bv",
    "multihead_attn.out_proj": "cross_attention.o",
    "norm2": "cross_attention",
    "norm3": "feed_forward",
}
_GPT_BLOCK = {
    "ln_1": "self_attention",
    "attn.c_proj": "self_attention.o",
    "ln_2": "feed_forward",
    "mlp.c_fc": "feed_forward.w1",
    "mlp.c_proj": "feed_forward.w2",
}
_GPT_MODEL = {
    "wte": "decoder.embedding.table",
    "wpe": "decoder.embedding.positions",
    "ln_f": "decoder.final_norm",
}
_T5_ATTENTION = {
    **{name: name for name in ("q", "k", "v", "o")},
    "relative_attention_bias": "relative_positions",
}
_T5_FEED_FORWARD = {"wi": "w1", "wi_0": "gate", "wi_1": "w1", "wo": "w2"}
_BERT_ATTENTION = {"self.query": "q", "self.key": "k", "self.value": "v", "output.dense": "o"}


def _t5(stack: str, blocks: tuple[str, ...]) -> dict[str, str]:
    """The patterns of one stack of T5, whose block is a list of these sublayers."""
    patterns = {f"{stack}.final_layer_norm": f"{stack}.final_norm"}
    for number, module in enumerate(blocks):
        sublayer, tensors = {
            "SelfAttention": ("self_attention", _T5_ATTENTION),
            "EncDecAttention": ("cross_attention", _T5_ATTENTION),
            "DenseReluDense": ("feed_forward", _T5_FEED_FORWARD),
        }[module]
        path = f"{stack}.block.{{layer}}.layer.{number}"
        patterns[f"{path}.layer_norm"] = f"{stack}.{sublayer}"
        patterns |= {f"{path}.{module}.{name}": f"{stack}.{sublayer}.{tensor}" for name, tensor in tensors.items()}
    return patterns


_T5_ENCODER = {"shared": "embedding.table", **_t5("encoder", ("SelfAttention", "DenseReluDense"))}
_T5 = _T5_ENCODER | _t5("decoder", ("SelfAttention", "EncDecAttention", "DenseReluDense"))

FAMILIES: Mapping[str, tuple[Family, ...]] = {
    "TransformerEncoderLayer": (Family("torch.nn", _block("encoder", _TORCH_LAYER | {"norm2": "feed_forward"})),),
    "TransformerDecoderLayer": (Family("torch.nn", _block("decoder", _TORCH_DECODER_LAYER)),),
    "TransformerEncoder": (Family("torch.nn", {"norm": "encoder.final_norm"}),),
    "TransformerDecoder": (Family("torch.nn", {"norm": "decoder.final_norm"}),),
    "GPT2Block": (
        Family(
            "transformers",
            _block(
                "decoder",
                {
                    "attn.c_attn": "self_attention.q|k|v",
                    **_GPT_BLOCK,
                    "ln_cross_attn": "cross_attention",
                    "crossattention.q_attn": "cross_attention.q",
                    "crossattention.c_attn": "cross_attention.k|v",
                    "crossattention.c_proj": "cross_attention.o",
                },
            ),
        ),
    ),
    "GPT2Model": (Family("transformers", _GPT_MODEL),),
    "GPT2LMHeadModel": (Family("transformers", {"lm_head": "output.table"}),),
    # nanoGPT, and what is written like it.
    "GPT": (Family("", {**{f"transformer.{k}": v for k, v in _GPT_MODEL.items()}, "lm_head": "output.table"}),),
    "Block": (
        Family("", _block("decoder", {"attn.c_attn": "self_attention.q/k/v", **_GPT_BLOCK})),
        Family(
            "timm.models.vision_transformer",
            _block(
                "encoder",
                {
                    "norm1": "self_attention",
                    "attn.qkv": "self_attention.q/k/v",
                    "attn.proj": "self_attention.o",
                    "norm2": "feed_forward",
                    "mlp.fc1": "feed_forward.w1",
                    "mlp.fc2": "feed_forward.w2",
                },
            ),
        ),
    ),
    "VisionTransformer": (
        Family(
            "timm.models.vision_transformer",
            {
                "cls_token": "encoder.embedding.class_token",
                "pos_embed": "encoder.embedding.positions",
                "patch_embed.proj": "encoder.embedding.patches",
                "norm": "encoder.final_norm",
            },
        ),
    ),
    "LlamaDecoderLayer": (
        Family(
            "transformers",
            _block(
                "decoder",
                {
                    "input_layernorm": "self_attention",
                    **{f"self_attn.{tensor}_proj": f"self_attention.{tensor}" for tensor in ("q", "k", "v", "o")},
                    "post_attention_layernorm": "feed_forward",
                    "mlp.gate_proj": "feed_forward.gate",
                    "mlp.up_proj": "feed_forward.w1",
                    "mlp.down_proj": "feed_forward.w2",
                },
            ),
        ),
    ),
    "LlamaModel": (Family("transformers", {"embed_tokens": "decoder.embedding.table", "norm": "decoder.final_norm"}),),
    "LlamaForCausalLM": (Family("transformers", {"lm_head": "output.table"}),),
    "BertLayer": (
        Family(
            "transformers",
            _block(
                "encoder",
                {
                    **{f"attention.{path}": f"self_attention.{t}" for path, t in _BERT_ATTENTION.items()},
                    "attention.output.LayerNorm": "self_attention",
                    **{f"crossattention.{path}": f"cross_attention.{t}" for path, t in _BERT_ATTENTION.items()},
                    "crossattention.output.LayerNorm": "cross_attention",
                    "intermediate.dense": "feed_forward.w1",
                    "output.dense": "feed_forward.w2",
                    "output.LayerNorm": "feed_forward",
                },
            ),
        ),
    ),
    "BertEmbeddings": (
        Family(
            "transformers",
            {
                "word_embeddings": "encoder.embedding.table",
                "position_embeddings": "encoder.embedding.positions",
                "token_type_embeddings": "encoder.embedding.segments",
                "LayerNorm": "encoder.embedding",
            },
        ),
    ),
    "BertLMPredictionHead": (Family("transformers", {"decoder.weight": "output.table"}),),
    "T5Model": (Family("transformers", _T5),),
    "T5EncoderModel": (Family("transformers", _T5_ENCODER),),
    "T5ForConditionalGeneration": (Family("transformers", {**_T5, "lm_head": "output.table"}),),
    "ViTLayer": (
        Family(
            "transformers",
            _block(
                "encoder",
                {
                    "layernorm_before": "self_attention",
                    **{f"attention.{tensor}_proj": f"self_attention.{tensor}" for tensor in ("q", "k", "v", "o")},
                    "layernorm_after": "feed_forward",
                    "mlp.fc1": "feed_forward.w1",
                    "mlp.fc2": "feed_forward.w2",
                },
            ),
        ),
    ),
    "ViTEmbeddings": (
        Family(
            "transformers",
            {
                "cls_token": "encoder.embedding.class_token",
                "position_embeddings": "encoder.embedding.positions",
                "patch_embeddings.projection": "encoder.embedding.patches",
            },
        ),
    ),
    "ViTModel": (Family("transformers", {"layernorm": "encoder.final_norm"}),),
}
"""By the name of a class what is known of it."""
