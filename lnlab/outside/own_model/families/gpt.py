"""GPT-2 of ``transformers``, nanoGPT, and models written like it."""

from collections.abc import Mapping

from lnlab.outside.own_model.families.family import Family, block, pre_norm_stream

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
_GPT_STREAM = {"drop": "decoder.embedding.out", "ln_f": "decoder.final_norm.out"}
GPT: Mapping[str, tuple[Family, ...]] = {
    "GPT2Block": (
        Family(
            "transformers",
            block(
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
            block("decoder", pre_norm_stream("ln_1", "attn", "ln_2", "mlp")),
        ),
    ),
    "GPT2Model": (Family("transformers", _GPT_MODEL, _GPT_STREAM),),
    "GPT2LMHeadModel": (Family("transformers", {"lm_head": "output.table"}),),
    # nanoGPT, and what is written like it.
    "GPT": (
        Family(
            "",
            {**{f"transformer.{path}": address for path, address in _GPT_MODEL.items()}, "lm_head": "output.table"},
            {f"transformer.{path}": address for path, address in _GPT_STREAM.items()},
        ),
    ),
    "Block": (
        Family(
            "",
            block("decoder", {"attn.c_attn": "self_attention.q/k/v", **_GPT_BLOCK}),
            block("decoder", pre_norm_stream("ln_1", "attn", "ln_2", "mlp")),
        ),
    ),
}
