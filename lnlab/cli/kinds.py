"""``lnlab list``: every registered piece with its formula and parameters, and what is made from the registries."""

from inspect import getdoc
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lnlab.cli.options import AsJsonOption, Plugins
from lnlab.cli.terminal import out, out_width, print_json, terminal_table
from lnlab.errors import LabError, nearest
from lnlab.issues import Issue
from lnlab.training_extra import leave_training_out

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from lnlab.registry import Entry, Registry

LIST_EXAMPLE = "Example: [bold]lnlab list placement[/bold], then [bold]lnlab list placement admin[/bold]"

_CORPUS = "corpus"
_SITE = "site"
_ATTRIBUTION_FIELDS = ("licence", "citation", "source")
"""Facts of a corpus that are shown after its docstring."""


def list_kinds(
    plugins: Plugins,
    kind: Annotated[
        str | None, typer.Argument(metavar="[KIND]", help="Only this kind: norm, probe, claim ...; or site.")
    ] = None,
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="Only this one, with its documentation. Of site: a spec.")
    ] = None,
    as_json: AsJsonOption = False,
    schema: Annotated[bool, typer.Option("--schema", help="Print the JSON Schema of a spec, for editors.")] = False,
    reference: Annotated[bool, typer.Option("--reference", help="Print the reference of the spec language.")] = False,
) -> None:
    """List the registered kinds and their parameters.

    Every piece with its parameters, their defaults, its formula and its source. A pipe gets one line a piece.
    """
    from lnlab.committed.registries import load_registries

    # A list needs names and signatures; a plugin may do more with torch than name it.
    if not plugins and kind != _SITE:
        leave_training_out()
    known = load_registries(plugins)
    if schema:
        from lnlab.compile.reference.schema import spec_schema as schema_of
        from lnlab.compile.reference.schema_parts import schema_text

        out().out(schema_text(schema_of(known)), end="")
    elif reference:
        from lnlab.compile.reference.reference import reference as reference_of

        out().out(reference_of(known), end="")
    elif kind == _SITE:
        _list_sites(name, plugins, known, as_json)
    elif name is not None and kind is not None:
        from lnlab.app.why.quantities import probe_of_quantity

        entries = _registry(known, kind).entries
        if name not in entries and kind == _CORPUS:
            entries = {**entries, **{n: e for other in _other_corpora(known) for n, e in known[other].entries.items()}}
        probe = probe_of_quantity(known, name) if name not in entries and kind == "quantity" else None
        entry = probe or entries.get(name)
        if entry is None:
            measured = [q for e in known["probe"].entries.values() for q in e.facts.quantities or ()]
            names = [*entries, *(measured if kind == "quantity" else ())]
            raise LabError(Issue("unknown-kind", "lnlab list", f"no {kind} is called '{name}'", nearest(name, names)))
        _show(entry, as_json, measured=name if kind == "quantity" and entry.kind == "probe" else None)
    else:
        kinds = [kind] if kind else known
        rows = [_entry_facts(entry) for selected_kind in kinds for entry in _registry(known, selected_kind)]
        if kind == _CORPUS:
            rows += [_entry_facts(entry) for other in _other_corpora(known) for entry in known[other]]
        if "quantity" in kinds:  # what probes measure, beside the quantities that are derived
            rows += [
                {
                    **_entry_facts(probe),
                    "kind": "quantity",
                    "name": quantity,
                    "parameters": [],
                    "measured_by": probe.name,
                }
                | {"summary": f"{_unit(probe, quantity)}measured by probe {probe.name}"}
                for probe in known["probe"]
                for quantity in sorted(probe.facts.quantities or ())
            ]
        if as_json:
            print_json(rows)
            return
        cells = [
            [row["kind"], row["name"], parameter_signature(row["parameters"]), row["summary"].replace("``", "`")]
            for row in rows
        ]
        if out_width() is None:
            for piece, called, parameters, summary in cells:
                out().out(f"{piece} {called}{f'({parameters})' if parameters else ''}: {summary}")
            return
        table = terminal_table(["kind", "name", "parameters", "summary"], cells)
        for column in table.columns[:2]:
            column.no_wrap = True  # these are copied, and must not be cut
        out().print(table)


def _list_sites(
    spec: str | None, plugins: "Sequence[Path]", known: "Mapping[str, Registry[Any]]", as_json: bool
) -> None:
    """Print where the probes of a spec have numbers in its models."""
    from lnlab.app.planning.site_list import sites_of_spec
    from lnlab.app.request import request_for
    from lnlab.select.quantity import SITE
    from lnlab.userfiles import user_path

    if spec is None:
        raise LabError(Issue("missing", "lnlab list site", "sites are those of a model", "name a spec: list site SPEC"))
    rows = sites_of_spec(request_for(user_path(spec), None, (), plugins), known)
    if as_json:
        print_json(rows)
    else:
        cells = [[*(row[column] for column in SITE), ", ".join(row["quantities"])] for row in rows]
        out().print(terminal_table([*SITE, "quantities"], cells))


def _other_corpora(known: "Mapping[str, Registry[Any]]") -> list[str]:
    """The kinds of corpora beside pairs of sentences: all stand at ``task.corpus``, and a reader asks for any."""
    return [kind for kind in known if kind.endswith(f"_{_CORPUS}")]


def _registry(known: "Mapping[str, Registry[Any]]", kind: str) -> "Registry[Any]":
    if kind not in known:
        raise LabError(Issue("unknown-kind", "lnlab list", f"there is no kind '{kind}'", nearest(kind, known)))
    return known[kind]


def _show(entry: "Entry[Any]", as_json: bool, measured: str | None) -> None:
    """Print one entry: its docstring, and a table of its parameters with their types.

    Args:
        entry: a piece. It is the probe where a measured quantity was asked for.
        as_json: whether to print JSON.
        measured: that quantity.
    """
    from lnlab.compile.reference.reference import parameter_rows

    # Each paragraph on one line, which the terminal breaks where it is full; what is indented stays as it is.
    parts = (getdoc(entry.build) or "").replace("``", "`").split("\n\n")
    text = "\n\n".join(part if "\n    " in part else part.replace("\n", " ") for part in parts)
    if as_json:
        print_json(_entry_facts(entry) | {"description": text} | ({"measures": measured} if measured else {}))
        return
    if entry.kind == "quantity" and (definition := _unit(entry, entry.name)):
        out().print(f"quantity {entry.name}: {definition.removesuffix('; ')}", "")
    if measured:
        where = f"measured by probe {entry.name}, in the table {entry.facts.table}"
        out().print(f"quantity {measured}: {_unit(entry, measured)}{where}", "")
    by = f"by {entry.origin.name}{_for_its_page(entry)}"
    out().print(f"{entry.kind} {entry.name}, version {entry.version}, {by}", text, sep="\n\n")
    if attribution := [f"{word}: {value}" for word, value in _attribution(entry).items()]:
        out().print("", *attribution, sep="\n")
    if rows := [(name, kind, default.strip("`")) for name, kind, default in parameter_rows(entry)]:
        out().print("", terminal_table(["parameter", "type", "default"], rows))


def _unit(entry: "Entry[Any]", quantity: str) -> str:
    """Return the words and the unit of a quantity as the beginning of a sentence, or ""."""
    from lnlab.app.why.quantities import words_of_quantity

    words = words_of_quantity(entry, quantity)
    return f"{words}; " if words else ""


def _entry_facts(entry: "Entry[Any]") -> dict[str, Any]:
    """One entry as plain values. A parameter without a default is ``required``."""
    parameters = [
        {"name": name, "required": p.default is p.empty} | ({} if p.default is p.empty else {"default": p.default})
        for name, p in entry.keywords.items()
    ]
    return {
        "kind": entry.kind,
        "name": entry.name,
        "summary": f"{entry.summary.removesuffix('.')}{_for_its_page(entry)}.",
        "version": entry.version,
        "origin": entry.origin.name,
        "parameters": parameters,
    } | _attribution(entry)


def _for_its_page(entry: "Entry[Any]") -> str:
    """``, for the page NAME`` of a piece that no other page needs."""
    from lnlab.report.gallery import page_of_builder

    page = page_of_builder(entry.build)
    return f", for the page {page}" if page else ""


def _attribution(entry: "Entry[Any]") -> dict[str, str]:
    return {word: value for word in _ATTRIBUTION_FIELDS if (value := getattr(entry.facts, word, None))}


def parameter_signature(parameters: list[dict[str, Any]]) -> str:
    """``eps=1e-05, heads``: what a spec may set, with the defaults."""
    words = []
    for parameter in parameters:
        if parameter["required"]:
            words.append(parameter["name"])
            continue
        default = parameter["default"]
        if isinstance(default, dict):  # a registered piece, shown by its kind alone
            default = default.get("kind", default)
        words.append(f"{parameter['name']}={default}")
    return ", ".join(words)
