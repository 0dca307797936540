"""Whether runs that exist were measured by the probes that a spec has today.

The rows of a report say of which quantity they are, and not with which parameters, nor at which moments it was
measured. The report's list of probes does. A kind of probe in one of the two lists alone does no harm: no row is there,
or none is asked for. A kind in both has to have the same probes in both. Otherwise rows of another measurement would
pass as those that the spec asks for, or surplus rows would be read with them. Runs that train are evaluated on the
validation split without a probe, so that such an evaluation is in both lists.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import product
from pathlib import Path
from typing import Any

from lnlab.errors import ReportError
from lnlab.issues import Issue
from lnlab.keys import Json, canonical
from lnlab.registry import Flawed, Registry
from lnlab.report.words.wording import join_words
from lnlab.specfile.columns import EVALUATION
from lnlab.specfile.experiment import Experiment, kind_and_parameters

_Probe = Mapping[str, Json]
_COMMON_FIELDS = ("at", "grid")
_TRAINING = f"{EVALUATION} on validation"
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
    """Refuse the runs of a report whose probes of some kind are not those of the spec.

    Args:
        probes: of the spec, resolved.
        folder: of the report.
        measured: the probes of the report, resolved by the lnlab that wrote it.
        known: the registries.

    Raises:
        ReportError: they differ.
    """
    earlier = [_with_later_defaults(probe, known) for probe in measured]
    in_spec, in_report = ({_kind(probe) for probe in side} for side in (probes, earlier))
    issues = []
    for kind in sorted((in_spec & in_report) | ({_TRAINING} & (in_spec | in_report))):
        of_spec, of_report = ([probe for probe in side if _kind(probe) == kind] for side in (probes, earlier))
        lacking = [probe for probe in of_spec if not any(_measures(probe, other) for other in of_report)]
        surplus = [other for other in of_report if not any(_measures(probe, other) for probe in of_spec)]
        remedy = "run the spec without this report, or measure as it did"
        if lacking and surplus:
            probe, other = min(product(lacking, surplus), key=lambda pair: len(_differences(*pair)))
            names = _differences(probe, other)
            texts = [f"{name} = {_text(other, name)} (in the spec {_text(probe, name)})" for name in names[:_SHOWN]]
            issues.append(Issue("differs", str(folder), f"its probe {kind} had {join_words(texts)}", remedy))
        elif lacking or surplus:
            what = "lacks a probe of the spec" if lacking else "has a probe that the spec lacks"
            (probe, *_), others = (lacking, of_spec) if lacking else (surplus, of_report)
            names = [name for name in sorted(probe) if any(_text(probe, name) != _text(o, name) for o in others)]
            texts = [f"{name} = {_text(probe, name)}" for name in names[:_SHOWN]]
            detail = f" with {join_words(texts)}" if texts else ""
            issues.append(Issue("differs", str(folder), f"{what}: {kind}{detail}", remedy))
    if issues:
        raise ReportError(*issues)


def _with_later_defaults(probe: _Probe, known: Mapping[str, Registry[Any]]) -> _Probe:
    """The probe of a report with the parameters that its kind has got since. They mean what was done without them."""
    with suppress(Flawed):  # of a kind, or with a parameter, that there no longer is
        parameters = {name: value for name, value in probe.items() if name not in _COMMON_FIELDS}
        return {**known["probe"].resolve(parameters), **{name: probe[name] for name in _COMMON_FIELDS if name in probe}}
    return probe


def _kind(probe: _Probe) -> str:
    """The kind of a probe. Each split of evaluations is a kind of its own."""
    return f"{EVALUATION} on {probe['split']}" if probe["kind"] == EVALUATION else str(probe["kind"])


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
