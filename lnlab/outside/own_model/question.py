"""Claims and sections in the grammar of specs: YAML text or plain data, checked and written out."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from lnlab.claims.claim import Claim
from lnlab.compile.selection.criteria import flaws_of_criterion
from lnlab.compile.selection.inheritance import with_claims_written_out
from lnlab.compile.sweep.overlay import MergedSpec
from lnlab.errors import LabError
from lnlab.issues import Issue
from lnlab.keys import Json
from lnlab.registry import Choice, Flawed, Registry
from lnlab.report.question import claims_with_choices, question_fields
from lnlab.specfile.document import read_data
from lnlab.specfile.dump import plain_spec, spec_yaml
from lnlab.specfile.experiment import ClaimText, kind_and_parameters
from lnlab.specfile.read import read_experiment

Entries = str | Mapping[str, Json] | Sequence[Mapping[str, Json]]
"""Claims or sections: as YAML text, as a list, or a single one as a dict."""
LANGUAGE = 2
"""The version of the language of specs that they are written in."""


@dataclass(frozen=True)
class Question:
    """What is asked of measurements.

    Attributes:
        claims: with their parameters resolved.
        fields: of ``ReportFacts``: title, question, sections, and what else it says of claims.
        text: the question as YAML.
    """

    claims: Sequence[Claim]
    fields: Mapping[str, Any]
    text: str


def read_question(
    claims: Entries,
    sections: Entries,
    axes: Mapping[str, Sequence[Json]],
    probes: Sequence[Choice],
    known: Mapping[str, Registry[Any]],
    stated: Mapping[str, Json],
    role: Callable[[str], tuple[str, str | None]],
) -> Question:
    """Claims and sections, checked as in a spec.

    Args:
        claims: those that stand in no section.
        sections: each may hold claims, which inherit its selection.
        axes: by dotted path the values of each setting in which runs differ.
        probes: what was measured.
        known: the registries of probes, claims, sections and quantities.
        stated: what a spec may say besides: title, question, source, answers.
        role: the quantity and the split of a column by its own name.

    Raises:
        LabError: everything that is wrong with them.
    """
    shown = {**stated, "probes": list(probes)}
    entries = {"report": _entries(sections, "report"), "claims": _entries(claims, "claims")}
    data = plain_spec({**shown, **{key: _with_roles(value, role) for key, value in entries.items()}})
    sweep = {"sweep": [{path: list(values) for path, values in axes.items()}]} if axes else {}
    merged = with_claims_written_out(MergedSpec({**data, **sweep}), known)
    # A claim without a sentence is called by its id.
    with_sentences = [
        {"says": str(claim.get("id", "a claim")), **claim} if isinstance(claim, dict) else claim
        for claim in merged.data["claims"]
    ]
    written = {**merged.data, "claims": with_sentences}
    reading = read_experiment({"lnlab": LANGUAGE, **written})
    issues = [replace(issue, place=merged.stated_path(issue.path)) for issue in (*merged.issues, *reading.issues)]
    choices: dict[str, list[Choice]] = {"claim": [], "section": []}
    experiment = reading.experiment
    for key, kind, texts in (
        ("claims", "claim", reading.experiment.claims),
        ("report", "section", reading.experiment.report),
    ):
        for number, text in enumerate(texts):
            try:
                choice = known[kind].resolve(kind_and_parameters(text))
                choices[kind].append(choice)
                if isinstance(text, ClaimText):
                    looks = text.looks or experiment.looks
                    place = reading.path((key, number))
                    for issue in flaws_of_criterion(text, choice, known, looks, 0, experiment.role_of(text)):
                        issues.append(replace(issue, place=merged.stated_path((*place, *issue.path))))
            except Flawed as error:
                place = reading.path((key, number))
                issues += [replace(i, place=merged.stated_path((*place, *i.path))) for i in error.issues]
    if issues:
        raise LabError(*(replace(issue, place=issue.where) for issue in issues))
    resolved = claims_with_choices(reading.experiment, zip(reading.experiment.claims, choices["claim"], strict=True))
    fields = question_fields(reading.experiment, choices["section"], known)
    return Question(resolved, fields, spec_yaml({key: value for key, value in data.items() if value}))


def _with_roles(value: Any, role: Callable[[str], tuple[str, str | None]]) -> Any:
    """Claims or sections, with quantity and split in place of a column's own name."""
    if isinstance(value, list):
        return [_with_roles(item, role) for item in value]
    if not isinstance(value, Mapping):
        return value
    data = {key: _with_roles(item, role) for key, item in value.items()}
    if isinstance(name := data.get("quantity"), str):
        data["quantity"], split = role(name)
        if split is not None and "kind" in data:  # a section selects apart from its quantity
            data["where"] = {"split": split, **(data.get("where") or {})}
        elif split is not None:
            data = {"split": split, **data}
    return data


def _entries(entries: Entries, key: str) -> list[Json]:
    """Claims or sections as a list."""
    data: Any = entries
    if isinstance(entries, str):
        data, _, issues = read_data(entries)
        if issues:
            raise LabError(*(replace(issue, place=f"{key}:{issue.place}") for issue in issues))
    if isinstance(data, Mapping):
        data = data[key] if set(data) == {key} else [data]
    if not isinstance(data, Sequence) or isinstance(data, str):
        raise LabError(
            Issue("wrong-type", key, f"expected a list, not {type(data).__name__}", "write - {id: ..., kind: ...}")
        )
    return list(data)
