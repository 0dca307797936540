"""Llama of ``transformers``."""

from collections.abc import Mapping

from lnlab.outside.own_model.families.family import Family, block, pre_norm_stream

LLAMA: Mapping[str, tuple[Family, ...]] = {
    "LlamaDecoderLayer": (
        Family(
            "transformers",
            block(
                "decoder",
                {
                    "input_layernorm": "self_attention",
                    **{f"self_attn.{tensor}_proj": f"self_attention.{tensor}" for tensor in ("q", "k", "v", "o")},
                    "post_attention_layernorm": "feed_forward",
                    "mlp.gate_proj": "feed_forward.w3",
                    "mlp.up_proj": "feed_forward.w1",
                    "mlp.down_proj": "feed_forward.w2",
                },
            ),
            block("decoder", pre_norm_stream("input_layernorm", "self_attn", "post_attention_layernorm", "mlp")),
        ),
    ),
    "LlamaModel": (
        Family(
            "transformers",
            {"embed_tokens": "decoder.embedding.table", "norm": "decoder.final_norm"},
            {"embed_tokens": "decoder.embedding.out", "norm": "decoder.final_norm.out"},
        ),
    ),
    "LlamaForCausalLM": (Family("transformers", {"lm_head": "output.table"}),),
}
