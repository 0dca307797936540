"""The sites of the models of a spec, with what its probes measure there."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from lnlab.app.rehearsal.models import BuiltModels
from lnlab.app.request import Request, compile_request

if TYPE_CHECKING:
    from lnlab.compile.resolve.choices import Registries


def sites_of_spec(request: Request, known: "Registries") -> list[dict[str, Any]]:
    """Where the probes of a spec will have numbers in any of its models, as probes state it, with these ``quantities``.

    Sites that differ in layer and index alone are one entry: ``1-6`` are all from 1 to 6, "" is outside layers.

    Raises:
        LabError: the spec has a mistake, or a model cannot be built.
    """
    plan, document = compile_request(request, known, assume_data=True)
    places = BuiltModels(known).build(document, plan)
    distinct = {id(of_model): of_model for of_model in places.values()}
    sites: dict[tuple[Any, ...], dict[str, set[Any]]] = {}
    for of_model in distinct.values():
        for of_probe in of_model.values():
            for quantity, rows in of_probe.items():
                for row in rows:
                    at = sites.setdefault(tuple(row.get(column) for column in ("stack", "sublayer", "tensor")), {})
                    at.setdefault("layer", set()).add(row.get("layer"))
                    at.setdefault("index", set()).add(row.get("index"))
                    at.setdefault("quantities", set()).add(quantity)
    return [
        {
            "stack": stack or "",
            "layer": _ranges(at["layer"]),
            "sublayer": sublayer or "",
            "tensor": tensor or "",
            "index": _ranges(at["index"]),
            "quantities": sorted(at["quantities"]),
        }
        for (stack, sublayer, tensor), at in sites.items()
    ]


def _ranges(values: Iterable[int | None]) -> str:
    """``1-6, 8``: whole numbers in order."""
    parts: list[list[int]] = []
    for value in sorted(value for value in values if value is not None):
        if parts and value == parts[-1][1] + 1:
            parts[-1][1] = value
        else:
            parts.append([value, value])
    return ", ".join(str(low) if low == high else f"{low}-{high}" for low, high in parts)
