"""What readers call the quantities of curvature and of the step ahead: name, unit and definition of each."""

from collections.abc import Mapping

from lnlab.facts import QuantityWords

SHARPNESS: Mapping[str, QuantityWords] = {
    "sharpness": QuantityWords(
        "sharpness", "{nats} per {item}", "largest eigenvalue of the Hessian of the loss", "λ_max"
    ),
    "sharpness_residual": QuantityWords(
        "residual of the sharpness", "{nats} per {item}", "an eigenvalue lies within it"
    ),
    "normalized_sharpness": QuantityWords(
        "normalized sharpness", "{nats} per {item}", "sharpness times the squared norm of the parameters"
    ),
    "adam_sharpness": QuantityWords(
        "sharpness in Adam's coordinates",
        "1 over the learning rate",
        "largest eigenvalue of P^-1/2 H P^-1/2 with v as the optimizer has it",
    ),
    "adam_sharpness_residual": QuantityWords(
        "residual of the sharpness in Adam's coordinates", "1 over the learning rate", "an eigenvalue lies within it"
    ),
    "adam_sharpness_excluded": QuantityWords(
        "coordinates without v", "parameters", "that Adam has seen no gradient of"
    ),
    "adam_sharpness_at_rest": QuantityWords(
        "sharpness in Adam's coordinates at rest",
        "1 over the learning rate",
        "largest eigenvalue of P^-1/2 H P^-1/2 with v as it would settle here",
    ),
    "adam_sharpness_at_rest_residual": QuantityWords(
        "residual of the sharpness in Adam's coordinates at rest",
        "1 over the learning rate",
        "an eigenvalue lies within it",
    ),
    "adam_sharpness_at_rest_excluded": QuantityWords(
        "coordinates without gradient", "parameters", "without a gradient in any batch"
    ),
}
ALONG_STEP: Mapping[str, QuantityWords] = {
    "loss_along_step": QuantityWords(
        "loss along the step", "{nats} per {item}", "of the next batch, at multiples of the rate"
    ),
    "gradient_change_along_step": QuantityWords(
        "change of the gradient along the step",
        "{nats} per {item}",
        "norm of the difference to the gradient before the step",
    ),
    "loss_deviation": QuantityWords(
        "loss deviation along the step",
        "{nats} per {item}",
        "largest change of the loss up to the rate; the study's Lipschitz",
    ),
    "gradient_deviation": QuantityWords(
        "gradient deviation along the step",
        "{nats} per {item}",
        "largest change of the gradient up to the rate; the study's smoothness",
    ),
    "loss_band_low": QuantityWords(
        "lowest loss around the step", "{nats} per {item}", "from half the rate to four times it"
    ),
    "loss_band_high": QuantityWords(
        "highest loss around the step", "{nats} per {item}", "from half the rate to four times it"
    ),
    "gradient_predictiveness_low": QuantityWords(
        "least change of the gradient around the step", "{nats} per {item}", "from half the rate to four times it"
    ),
    "gradient_predictiveness_high": QuantityWords(
        "largest change of the gradient around the step", "{nats} per {item}", "from half the rate to four times it"
    ),
    "effective_lipschitz": QuantityWords(
        "effective Lipschitz constant", "{nats} per {item} per distance", "largest change of the loss over the distance"
    ),
    "effective_smoothness": QuantityWords(
        "effective β-smoothness", "{nats} per {item} per distance²", "largest change of the gradient over the distance"
    ),
}
