"""``log y = log(a + b g(x)) + error``: laws of two free parameters, and how well each predicts a level it has not seen.

    linear: g = x
    logarithmic: g = log x
    exponential: log y = log a + b x

Errors are of log y, since the noise is taken to be multiplicative. A law is written by its values A and B at the ends
of the levels, with s from 0 to 1 between them: y = A (1 - s) + B s, or log y = (1 - s) log A + s log B. So it is
positive at every level whatever log A and log B are. A Gauss-Newton iteration finds the log A and log B of least
squares.
"""

import math
from typing import Literal, cast

import numpy as np

LawName = Literal["linear", "logarithmic", "exponential"]

MAX_LOG_ERROR = math.log(1000)
"""A prediction that is not positive, or further off than this, is off by this."""
MAX_ITERATIONS, STEP_TOLERANCE = 200, 1e-11


def left_out_errors(law: LawName, x: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """``log ŷ - log y`` at each level, predicted by the law as fitted to the seed's other levels.

    Args:
        law: its parameters are fitted afresh for each seed and level.
        x: (levels,), positive and rising, at least 4 levels.
        matrix: (..., levels), positive.

    Returns:
        (..., levels), at most ``MAX_LOG_ERROR`` in size.
    """
    z = np.log(matrix)
    guesses = [predicted_log(law, np.delete(x, i), np.delete(z, i, -1), x[i : i + 1])[..., 0] for i in range(x.size)]
    return cast(np.ndarray, np.clip(np.stack(guesses, -1) - z, -MAX_LOG_ERROR, MAX_LOG_ERROR))


def predicted_log(law: LawName, x: np.ndarray, z: np.ndarray, new_x: np.ndarray) -> np.ndarray:
    """Log y of the law at ``new_x``, fitted to ``z`` at ``x``.

    Args:
        law: its parameters are fitted by least squares in log y.
        x: (levels,), positive and rising, at least 3 levels.
        z: (..., levels): log y.
        new_x: (places,), positive.

    Returns:
        (..., places). Where the law is not positive it is the log of the smallest normal float.
    """
    # In g the law is a straight line of y, or of log y.
    g, g_new = (np.log(x), np.log(new_x)) if law == "logarithmic" else (x, new_x)
    width = g[-1] - g[0]
    a, b = (end[..., None] for end in fit_endpoints(law, (g - g[0]) / width, z))
    s = (g_new - g[0]) / width
    if law == "exponential":
        return cast(np.ndarray, (1 - s) * a + s * b)
    top = np.maximum(a, b)  # taken out, as exp overflows where log y is beyond 709
    scaled = (1 - s) * np.exp(a - top) + s * np.exp(b - top)
    return cast(np.ndarray, top + np.log(np.maximum(scaled, np.finfo(float).tiny)))


def fit_endpoints(law: LawName, s: np.ndarray, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """``log A`` and ``log B`` by least squares in log y.

    Args:
        law: which curve joins the ends.
        s: (levels,), from 0 to 1.
        z: (..., levels): log y.
    """
    # The iteration begins at the numbers of the first and the last level.
    a, b = z[..., 0].copy(), z[..., -1].copy()
    for _ in range(MAX_ITERATIONS):
        # The curve, and w = d log ŷ / d log B: the share of ŷ that is B s. The rest is d log ŷ / d log A.
        if law == "exponential":
            curve, w = (1 - s) * a[..., None] + s * b[..., None], s
        else:
            with np.errstate(divide="ignore"):  # log 0 at either end
                curve = np.logaddexp(a[..., None] + np.log1p(-s), b[..., None] + np.log(s))
                w = np.exp(b[..., None] + np.log(s) - curve)
        da, db = _least_squares_step(w, z - curve)
        a, b = a + da, b + db
        if max(np.abs(da).max(initial=0), np.abs(db).max(initial=0)) < STEP_TOLERANCE:
            break
    return a, b


def _least_squares_step(w: np.ndarray, residuals: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Solve the normal equations of residuals (..., levels) with derivatives 1 - w and w, for log A and log B."""
    u = 1 - w
    aa, bb, ab = (u * u).sum(-1), (w * w).sum(-1), (u * w).sum(-1)
    ra, rb = (u * residuals).sum(-1), (w * residuals).sum(-1)
    size = aa * bb - ab**2
    return (bb * ra - ab * rb) / size, (aa * rb - ab * ra) / size
