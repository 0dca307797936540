"""The sections of a page that nobody has written: one for each probe and place."""

from collections.abc import Mapping

import polars as pl

from lnlab.keys import Json
from lnlab.tables import Results

_FEWEST_LAYERS = 2
"""The fewest layers of a profile along the layers."""
_OF_HOOKS = ("step_gradient_norm", "update_to_weight", "step_activation_rms")


def default_sections(
    results: Results, probes: Mapping[str, tuple[str, str | None]], *, over_steps: bool = False
) -> list[dict[str, Json]]:
    """Sections in the order of the probes. Losses of runs come first, and what the optimizer's hooks saw comes last.

    Args:
        results: of the probes.
        probes: by the kind of a probe its table and its first quantity.
        over_steps: whether there are several steps: profiles are then those of the last one.
    """
    sections: list[dict[str, Json]] = []
    curves, sites = results.tables["curves"], results.tables["sites"]
    if "loss" in curves["quantity"]:
        sections.append({"kind": "curves", "quantity": "loss"})
    shown = [(table, quantity) for table, quantity in probes.values()]
    shown += [("sites", quantity) for quantity in _OF_HOOKS if quantity in sites["quantity"]]
    step: dict[str, Json] = {"step": "last"} if over_steps else {}
    for table, quantity in dict.fromkeys(shown):
        rows = results.tables[table]
        if table == "spectra":
            for operator, scope in rows.select("operator", "scope").unique(maintain_order=True).rows():
                sections.append({"kind": "spectral_density", "operator": operator, "scope": scope})
        elif table == "histograms":
            sections.append({"kind": "histogram", "quantity": quantity})
        elif table == "sites":
            rows = rows.filter(pl.col("quantity") == quantity)
            scale = "log" if (rows["value"] > 0).all() else "linear"
            layered = pl.col("layer").is_not_null()
            places = rows.filter(layered).group_by("stack", "sublayer", maintain_order=True)
            for (stack, sublayer), place_rows in places:
                if place_rows["layer"].n_unique() >= _FEWEST_LAYERS:
                    where = {"stack": stack, "sublayer": sublayer, **step}
                    profile = {"kind": "depth_profile", "quantity": quantity, "where": where, "scale": scale}
                    sections.append(profile)
            if step:
                if rows["tensor"].null_count():  # the total of all parameters
                    where = {"tensor": None}
                    sections.append({"kind": "depth_profile", "quantity": quantity, "x": "step", "where": where})
                continue
            # Tables of what stands in no layer: of sublayers that share a tensor, or of tensors that share a sublayer.
            rows = rows.filter(~layered)
            shared, listed = "tensor", "sublayer"
            if rows["tensor"].n_unique() > rows["sublayer"].n_unique():
                shared, listed = listed, shared
            for stack, place in rows.select("stack", shared).unique(maintain_order=True).rows():
                where = {"layer": None, "stack": stack, shared: place}
                of_place = rows.filter(pl.col("stack").eq_missing(stack), pl.col(shared).eq_missing(place))
                # A number of the whole model stands in no place that a row could be named by.
                row = "quantity" if of_place[listed].null_count() == of_place.height else listed
                section = {"kind": "table", "quantity": quantity, "rows": row, "columns": "model", "where": where}
                sections.append(section)
    return sections
