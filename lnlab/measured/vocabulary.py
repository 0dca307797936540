"""The words of every quantity that lnlab's own probes measure and that training records."""

from collections.abc import Mapping

from lnlab.facts import QuantityWords
from lnlab.measured import (
    adam_moments,
    attention,
    curvature,
    gradients,
    hidden_states,
    norms,
    outputs,
    parameters,
    training,
    updates,
)

MEASURED: Mapping[str, QuantityWords] = {
    **gradients.GRADIENT_NORM,
    **gradients.STREAM_GRADIENT,
    **gradients.GRADIENT_HISTOGRAM,
    **gradients.GRADIENT_RECURSION,
    **adam_moments.ADAPTIVE_RATE,
    **adam_moments.PSI_VARIANCE,
    **parameters.PARAMETER_SIZE,
    **parameters.DISPLACEMENT,
    **parameters.UPDATE_SIZE,
    **parameters.UPDATE_HISTOGRAM,
    **outputs.OUTPUT_PERTURBATION,
    **outputs.UPDATE_EFFECT,
    **outputs.IO_JACOBIAN,
    **outputs.OUTPUT_LOGITS,
    **outputs.FUTURE_DEPENDENCE,
    **hidden_states.ACTIVATION_MOMENTS,
    **hidden_states.HIDDEN_NORM,
    **hidden_states.COORDINATE_SIZE,
    **hidden_states.TOKEN_COSINE,
    **hidden_states.INPUT_NORM,
    **hidden_states.RESIDUAL_DEPENDENCY,
    **hidden_states.NORM_CONCENTRATION,
    **norms.NORM_JACOBIAN,
    **norms.ROOT_SUM_NORM,
    **norms.BATCH_DEPENDENCE,
    **norms.STATISTICS_DISCREPANCY,
    **attention.ATTENTION_LOGITS,
    **curvature.SHARPNESS,
    **curvature.ALONG_STEP,
    **training.RECORDED_CURVES,
    **training.EVALUATION_CURVES,
    **training.BATCH_EVALUATION_CURVES,
    **training.BLEU,
    **updates.RECORDED_UPDATES,
}
