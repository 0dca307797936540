"""How much of a Hessian's curvature is the GGN's: ``H = G + (H - G)`` (Schraudolph, 2002).

G is the curvature of the loss through the linearized model. H - G holds the model's own second derivatives, weighted by
the slope of the loss, and has eigenvalues of both signs. All spectra of a run have the same start vectors. Estimates of
their norms therefore err together, and quotients err less.

The share of the *extra* curvature is over the runs of a seed that differ in their placement alone: what Post-LN has
more than Pre-LN in G, over what it has more in H. Below 1/2 the extra is mostly not G's. It is undefined where Post-LN
has no more than Pre-LN.
"""

import math
from typing import Any

import polars as pl

from lnlab.analyse.quantities.curvature import SPECTRAL_FACTS, spectral_number
from lnlab.analyse.quantities.spectra import as_spectral_quantity, full_batch_spectra
from lnlab.facts import QuantityWords
from lnlab.select.quantity import STATE, register_alike
from lnlab.select.settings import settings_of
from lnlab.tables import Results

_SCOPE_KEYS = (*STATE, "scope")
_PLACEMENT: dict[str, Any] = {
    **SPECTRAL_FACTS,
    "across": True,
    "over": "placement",
    "needs": "the Hessian and the GGN of one scope in Post-LN and in Pre-LN, and more curvature in Post-LN",
}


_SHARES_OF_EXTRA = (
    (
        "ggn_share_of_extra_sharpness",
        ("largest_eigenvalue", 1),
        QuantityWords(
            "GGN's share of the extra sharpness",
            "ratio",
            "excess of Post-LN over Pre-LN in the GGN's largest eigenvalue, over that in the Hessian's",
        ),
        "``Δλ_max(G) / Δλ_max(H)``: from Pre-LN to Post-LN, the same otherwise (Schraudolph, 2002).",
    ),
    (
        "ggn_share_of_extra_frobenius",
        ("frobenius_norm", 2),
        QuantityWords(
            "GGN's share of the extra squared norm",
            "ratio",
            "excess of Post-LN over Pre-LN in the GGN's squared Frobenius norm, over that in the Hessian's",
        ),
        """``Δ‖G‖_F² / Δ‖H‖_F²``: from Pre-LN to Post-LN, the same otherwise (Schraudolph, 2002).

    The rest is of H - G and of its product with G.
    """,
    ),
)


def _operator_number(results: Results, operator: str, name: str) -> pl.DataFrame:
    """A number of one operator: ``run variant seed step scope value``."""
    rows = full_batch_spectra(results).filter(pl.col("operator") == operator)
    return spectral_number(rows, name).select(*_SCOPE_KEYS, "value")


def _with_hessian(results: Results, name: str) -> pl.DataFrame:
    """A number of the GGN as ``value``, and that of the Hessian as ``of_hessian``."""
    hessian = _operator_number(results, "hessian", name).rename({"value": "of_hessian"})
    return _operator_number(results, "ggn", name).join(hessian, on=_SCOPE_KEYS, how="inner", maintain_order="left")


def _share_of_extra(quantity: str, of: tuple[str, int], results: Results) -> pl.DataFrame:
    """The share of each pair of runs, in the row of the one that is first in the plan."""
    name, power = of
    settings = settings_of(results)
    order = {run: position for position, run in enumerate(results.runs["run"])}
    first = pl.col("run").replace_strict(order, return_dtype=pl.Int64)
    numbers = _with_hessian(results, name).with_columns(_first=first)
    pairs = numbers.join(settings.groups("placement"), on="variant", how="left", maintain_order="left")
    pairs = pairs.join(settings.labels("placement"), on="variant", how="left", maintain_order="left")
    rows = []
    for _, pair in pairs.sort("_first").group_by("group", "seed", "step", "scope", maintain_order=True):
        by_placement = {row["label"]: row for row in pair.iter_rows(named=True)}
        # With more runs than one a placement it would be open which two are meant.
        if pair.height == 2 and by_placement.keys() == {"post", "pre"}:
            post, pre = by_placement["post"], by_placement["pre"]
            extra = [post[column] ** power - pre[column] ** power for column in ("value", "of_hessian")]
            rows.append(pair.row(0, named=True) | {"value": extra[0] / extra[1] if extra[1] > 0 else math.nan})
    return as_spectral_quantity(
        pl.DataFrame(rows, schema=pairs.schema).with_columns(operator=pl.lit("hessian")), quantity
    )


register_alike(_share_of_extra, _SHARES_OF_EXTRA, **_PLACEMENT)
