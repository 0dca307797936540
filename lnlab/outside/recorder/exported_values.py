"""The numbers of a record by the names that trackers show."""

import re
from collections.abc import Mapping, Sequence
from math import fsum, sqrt

from lnlab.outside.foreign_runs.folder import Block

_REFUSED = re.compile(r"[^\w\-./ :]")
"""Characters that MLflow takes in no name."""


def exported_values(
    blocks: Sequence[Block], parameters: Sequence[str], names: Mapping[tuple[object, ...], str]
) -> dict[str, float]:
    """The numbers of a record by the names that trackers show.

    Curves are ``split/quantity``, numbers by site ``quantity/site``, and the norm of the whole gradient of an update is
    ``train/step_gradient_norm``. Spectra, histograms and texts have none.

    Args:
        blocks: of the record.
        parameters: the names of the sites of blocks with ``addresses``, in their order.
        names: by coordinates of a site the name of its parameter or module.
    """
    values: dict[str, float] = {}
    for block in blocks:
        columns = block["columns"]
        length = max((len(column) for column in columns.values() if isinstance(column, list)), default=1)
        rows = [{name: c[i] if isinstance(c, list) else c for name, c in columns.items()} for i in range(length)]
        if block["table"] == "curves":
            values |= {f"{row['split']}/{row['quantity']}": row["value"] for row in rows}
        elif block["table"] == "sites":
            for i, row in enumerate(rows):
                site = tuple(row.get(name) for name in ("stack", "layer", "sublayer", "tensor"))
                written = ".".join(str(part) for part in site if part is not None) or "all"
                place = parameters[i] if "addresses" in block else names.get(site) or written
                index = "" if row.get("index") is None else f"[{row['index']}]"
                values[f"{row['quantity']}/{place}{index}"] = row["value"]
            norms = [row["value"] for row in rows if row["quantity"] == "step_gradient_norm"]
            if norms:  # of the whole gradient: squares of norms add up over parameters
                values["train/step_gradient_norm"] = sqrt(fsum(norm * norm for norm in norms if norm is not None))
    return {_REFUSED.sub("_", name): value for name, value in values.items() if value is not None}
