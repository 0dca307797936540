"""Whether runs that exist were measured by the probes that a spec has today.

The rows of a report say of which quantity they are, and not with which parameters it was measured. The report's list of
probes does. A probe that the spec no longer has is no matter, and of one that it has got since there are no rows. But a
probe that has changed would pass the rows of the earlier one off as its own.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from lnlab.errors import ReportError
from lnlab.issues import Issue
from lnlab.keys import Json, canonical
from lnlab.registry import Flawed, Registry
from lnlab.report.words.wording import join_words
from lnlab.specfile.experiment import Experiment, kind_and_parameters

_Probe = Mapping[str, Json]
_COMMON_FIELDS = ("at", "grid")
_SHOWN = 3
"""At most so many parameters are named in a message."""


def resolved_probes(experiment: Experiment, known: Mapping[str, Registry[Any]]) -> tuple[_Probe, ...]:
    """The probes of a spec, every default explicit, with the moments ``at`` which and the grids that each measures."""
    return tuple(
        {
            **known["probe"].resolve(kind_and_parameters(probe)),
            "at": probe.at,
            **({} if probe.grid is None else {"grid": list(probe.grid)}),
        }
        for probe in experiment.probes
    )


def refuse_changed_probes(
    probes: Sequence[_Probe], folder: Path, measured: Sequence[_Probe], known: Mapping[str, Registry[Any]]
) -> None:
    """Refuse the runs of a report if one of its probes is another one in the spec.

    Args:
        probes: of the spec, resolved.
        folder: of the report.
        measured: the probes of the report, resolved by the lnlab that wrote it.
        known: the registries.

    Raises:
        ReportError: a probe has changed. Probes of one kind that have no equal on the other side are taken for one.
    """
    earlier = [_with_later_defaults(probe, known) for probe in measured]
    changed = [probe for probe in probes if not any(_measures(probe, other) for other in earlier)]
    replaced = [other for other in earlier if not any(_measures(probe, other) for probe in probes)]
    issues = []
    for probe in changed:
        of_kind = [other for other in replaced if other["kind"] == probe["kind"]]
        if not of_kind:
            continue
        nearest = min(of_kind, key=lambda other: len(_differences(probe, other)))
        names = _differences(probe, nearest)
        texts = [f"{name} = {_text(nearest, name)} (in the spec {_text(probe, name)})" for name in names[:_SHOWN]]
        what = f"its probe {probe['kind']} had {join_words(texts)}"
        remedy = "run the spec without this report, or give the probe these values"
        issues.append(Issue("differs", str(folder), what, remedy))
    if issues:
        raise ReportError(*issues)


def _with_later_defaults(probe: _Probe, known: Mapping[str, Registry[Any]]) -> _Probe:
    """The probe of a report with the parameters that its kind has got since. They mean what was done without them."""
    with suppress(Flawed):  # of a kind, or with a parameter, that there no longer is
        parameters = {name: value for name, value in probe.items() if name not in _COMMON_FIELDS}
        return {**known["probe"].resolve(parameters), **{name: probe[name] for name in _COMMON_FIELDS if name in probe}}
    return probe


def _measures(probe: _Probe, other: _Probe) -> bool:
    return not _differences(probe, other)


def _differences(probe: _Probe, other: _Probe) -> list[str]:
    """The fields in which a probe of the spec is not that of a report. A report may have it for further grids."""
    names = sorted({*probe, *other} - {"grid"})
    different = [name for name in names if canonical(probe.get(name)) != canonical(other.get(name))]
    everywhere = other.get("grid") is None
    if not everywhere and (probe.get("grid") is None or not set(probe["grid"]) <= set(other["grid"])):
        different.append("grid")
    return different


def _text(probe: _Probe, name: str) -> str:
    value = probe.get(name)
    return "none" if value is None else value if isinstance(value, str) else canonical(value)
