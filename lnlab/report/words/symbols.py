"""Titles of axes: a quantity in words, its symbol as the papers write it, and its unit."""

from collections.abc import Mapping

from lnlab.keys import Json
from lnlab.report.words.wording import quantity_name, quantity_with_unit

_SYMBOLS: Mapping[str, str] = {
    "gradient_norm": "||E ∂L/∂{W}||_F",
    "gradient_norm_mean": "E ||∂L/∂{W}||_F",
    "gradient_norm_unbiased_sq": "||E ∂L/∂{W}||_F²",
    "total_gradient_norm": "||E ∂L/∂θ||",
    "global_gradient_norm": "||∂L/∂θ||",
    "stream_gradient": "||∂L/∂x||",
    "hidden_norm": "||x||",
    "hidden_norm_sq": "||x||²/d",
    "activation_variance": "Var x",
    "output_change_random": "||F(x; W) − F(x; W*)||²",
    "output_change_gradient": "||F(x; W) − F(x; W*)||²",
    "sharpness": "λ_max",
    "loss": "L",
    "nll": "L",
}
"""Xiong et al. (2020) for gradients, Liu et al. (2020) for changes of the output; in letters that every font has, as a
converter sets a whole title in another font for one that is missing."""
_WEIGHTS = {"w1": "W1", "w2": "W2", "q": "W^Q", "k": "W^K", "v": "W^V", "o": "W^O"}


def axis_title(quantity: str, where: Mapping[str, Json] | None = None, nats: str = "nats") -> str:
    """``gradient norm ||E ∂L/∂W2||_F, nats per token`` where one tensor is selected, ``W`` where several are."""
    title = quantity_with_unit(quantity, nats)
    if quantity not in _SYMBOLS:
        return title
    tensor = (where or {}).get("tensor")
    symbol = _SYMBOLS[quantity].replace("{W}", _WEIGHTS.get(tensor, "W") if isinstance(tensor, str) else "W")
    name = quantity_name(quantity)
    return f"{name} {symbol}{title.removeprefix(name)}"
