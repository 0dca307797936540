"""The facts of a report beside its numbers: the question, the source, the spec, and how to make it again."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields

from pydantic import TypeAdapter, ValidationError

from lnlab.compile.digests import SpecIdentity
from lnlab.errors import ReportError
from lnlab.issues import Issue
from lnlab.keys import Json
from lnlab.portable_names import why_unportable
from lnlab.report import fact_entries

FACTS_FORMAT = 7
COMMON_FIELDS = ("title", "heading", "while", "claims")
"""Fields of every section: its title, the author's heading and its verdicts, and its claims."""

_OPTIONAL: Mapping[str, Json] = {
    "dropped": [],
    "transfers": [],
    "left_out": [],
    "seeds": [],
    "grid_seeds": [],
    "looks": {},
    "frozen": {},
    "origin": "",
    "theme": "",
    "models": {},
    "source_setting": {},
    "review": [],
    "files_read": [],
    "provenance": {},
}
"""Fields that are written only if they are not empty, and what they are if absent."""


@dataclass(frozen=True, kw_only=True)
class ReportFacts(SpecIdentity):
    """What a page says beside its rows, as ``data/experiment.json`` keeps it.

    It is a value of its own, as no ``Plan`` can be made of a report's folder: that needs the code of its day. A report
    on an own model or an own table never had a plan. ``app.plan_facts`` makes the facts of a plan. The values are
    plain, so that they survive a JSON file unchanged. The folder of the report has the name of the spec.

    Attributes:
        title: of the experiment.
        question: what it asks, or nothing.
        source: ``cite`` and ``figure`` of the paper, or nothing.
        source_setting: what the paper trained, as far as the spec says: ``parameters``, ``tokens_per_parameter`` ...
        differs: differences from the paper: each a sentence, or ``what`` and ``ours`` with ``source`` and ``matters``
            where they are stated.
        dropped: claims that the page no longer makes, in groups with ``why`` and ``claims``
        related: experiments to read next, by the name of their spec: what each adds.
        spec: the text of the spec.
        path: the spec as the command line names it, with forward slashes. Empty if measured from Python.
        plugins: file names that ``--with`` gave.
        version: of the lnlab that wrote the page.
        probes: the resolved probes with their ``at``.
        sections: the resolved sections with their common fields, see ``COMMON_FIELDS``.
        answers: what the author answers, each with ``says``, ``while`` and ``profile``.
        sources: where each claim comes from, by id.
        because: the author's explanation of a verdict, by id and verdict.
        decisions: what was chosen on tuning seeds, with its evidence.
        files_read: what the keys of its runs hold of files, see ``compile.files_read``.
        words: by quantity, the words with which it was registered: name, unit, definition, symbol.
        models: by the selection of a section that draws whole models, each of these by name, with its panels of boxes
            (``nn.module_graph``).
        transfers: what its runs take over from runs of other specs, in sentences.
        left_out: how many rows of a table of the author's are used, and why the others are not, in sentences.
        seeds: of the experiment. Empty unless single claims are judged on other seeds.
        grid_seeds: the grids whose runs are drawn on other seeds: ``grid`` (its name), ``where`` (the conditions that
            its runs meet), ``seeds``.
        looks: by claim, the sets of seeds on which its criterion has been judged, see ``claims.look_book``.
        frozen: by claim, its criterion as it was frozen before a run (``committed.frozen``), with ``state``: kept or
            changed.
        origin: path from the folder of the report to the spec. Empty if ``path`` leads there from a folder above.
        review: what a referee would ask, the most important first, see ``review.rule.ReviewLine``.
        provenance: where its runs were started: ``command``, ``commit``, ``patch``, ``note``, ``packages``, ``files``.
        theme: heading under which an index lists the question. Empty: that of its source.
    """

    title: str
    spec: str
    path: str
    version: str
    question: str = ""
    source: Mapping[str, str] = field(default_factory=dict)
    source_setting: Mapping[str, Json] = field(default_factory=dict)
    differs: tuple[str | Mapping[str, str], ...] = ()
    dropped: tuple[fact_entries.DroppedClaims, ...] = ()
    related: Mapping[str, str] = field(default_factory=dict)
    plugins: tuple[str, ...] = ()
    probes: tuple[fact_entries.Probe, ...] = ()
    sections: tuple[fact_entries.Section, ...] = ()
    answers: tuple[fact_entries.Answer, ...] = ()
    sources: Mapping[str, str] = field(default_factory=dict)
    because: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    decisions: tuple[fact_entries.Decision, ...] = ()
    files_read: tuple[fact_entries.FileRead, ...] = ()
    words: Mapping[str, fact_entries.Words] = field(default_factory=dict)
    models: Mapping[str, Json] = field(default_factory=dict)
    transfers: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    seeds: tuple[int, ...] = ()
    grid_seeds: tuple[fact_entries.GridSeeds, ...] = ()
    looks: Mapping[str, Sequence[fact_entries.Look]] = field(default_factory=dict)
    frozen: Mapping[str, fact_entries.Frozen] = field(default_factory=dict)
    review: tuple[fact_entries.ReviewRecord, ...] = ()
    provenance: fact_entries.Provenance = field(default_factory=dict)
    origin: str = ""
    theme: str = ""

    @property
    def has_source(self) -> bool:
        """Whether the page or one of its claims names a source. If not, every sentence on it is its author's."""
        return bool(self.source or self.sources)

    @property
    def command(self) -> tuple[str, ...]:
        """The arguments that make this report again, after ``lnlab run`` or ``lnlab report``."""
        profile = ("--profile", self.profile) if self.profile else ()
        overrides = tuple(word for override in self.overrides for word in ("-s", override))
        plugins = tuple(word for plugin in self.plugins for word in ("--with", plugin))
        return (*plugins, self.path, *profile, *overrides)


def facts_to_json(facts: ReportFacts) -> dict[str, Json]:
    """The facts as a JSON object, with the number of its format, without the optional ones that say nothing."""
    values = {"format": FACTS_FORMAT, **asdict(facts)}
    return {name: value for name, value in values.items() if value or name not in _OPTIONAL}


def facts_text(facts: ReportFacts) -> str:
    """The text of ``data/experiment.json``: a line for each entry of a field, so that a change shows as one."""

    def line(value: Json) -> str:
        return json.dumps(value, sort_keys=True, ensure_ascii=False, allow_nan=False, separators=(",", ":"))

    def lines(value: Json) -> str:
        if isinstance(value, Mapping) and value:
            return "{\n" + ",\n".join(f"{line(key)}: {line(value[key])}" for key in sorted(value)) + "\n}"
        if isinstance(value, list | tuple) and value:
            return "[\n" + ",\n".join(map(line, value)) + "\n]"
        return line(value)

    return "{\n" + ",\n".join(f"{line(k)}: {lines(v)}" for k, v in sorted(facts_to_json(facts).items())) + "\n}\n"


def facts_from_json(data: Mapping[str, Json], where: str) -> ReportFacts:
    """The facts again.

    Raises:
        ReportError: ``data`` are of another format, lack a field, have one too many, or one is not what it should be.
            ``where`` names the file in the message.
    """
    values = {**_OPTIONAL, **data}
    if (number := values.pop("format", None)) != FACTS_FORMAT:
        remedy = "update lnlab" if isinstance(number, int) and number > FACTS_FORMAT else _WRITE_AGAIN
        what = f"is of format {number}, and this lnlab reads {FACTS_FORMAT}"
        raise ReportError(Issue("damaged", where, what, remedy))
    if unexpected := ", ".join(sorted(values.keys() ^ {f.name for f in fields(ReportFacts)})):
        what = f"unknown or missing fields: {unexpected}"
        raise ReportError(Issue("damaged", where, what, _WRITE_AGAIN))
    values = {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}
    try:
        _TYPES.validate_json(json.dumps(values), strict=True)
    except ValidationError as error:
        path = ".".join(str(part) for part in error.errors()[0]["loc"] if not str(part).startswith("_"))
        raise ReportError(Issue("damaged", where, f"{path} is not what a report has there", _WRITE_AGAIN)) from error
    for key, name in (("name", values["name"]), ("profile", values["profile"])):  # names of files are made of both
        if name is not None and (why := why_unportable(name)):
            raise ReportError(Issue("damaged", where, f"its {key} {why}", _WRITE_AGAIN))
    return ReportFacts(**values)


_TYPES = TypeAdapter(ReportFacts)
_WRITE_AGAIN = "write the report again from the store"
