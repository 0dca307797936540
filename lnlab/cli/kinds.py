"""``lnlab list``: every registered kind with its parameters, and what is made from the registries."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from lnlab.cli.options import AsJson, Plugins
from lnlab.cli.terminal import out, print_json, table
from lnlab.errors import LabError, Problem, nearest

if TYPE_CHECKING:
    from lnlab.registry import Entry

EXAMPLE = "Example: [bold]lnlab list placement[/bold]"


def list_kinds(
    plugins: Plugins,
    kind: Annotated[str | None, typer.Argument(metavar="[KIND]", help="Only this kind: norm, probe, claim ...")] = None,
    as_json: AsJson = False,
    schema: Annotated[bool, typer.Option("--schema", help="Print the JSON Schema of a spec, for editors.")] = False,
    reference: Annotated[bool, typer.Option("--reference", help="Print the reference of the spec language.")] = False,
) -> None:
    """List what a spec may name.

    Every kind with its parameters, their defaults, and its formula.
    """
    from lnlab.cli.request import registries

    known = registries(plugins)
    if schema:
        from lnlab.compile.schema import schema as schema_of

        print_json(schema_of(known))
    elif reference:
        from lnlab.compile.reference import reference as reference_of

        out().out(reference_of(known), end="")
    elif kind is not None and kind not in known:
        raise LabError(Problem("lnlab list", f"there is no kind '{kind}'", nearest(kind, known)))
    else:
        _print([entry for name in ([kind] if kind else known) for entry in known[name]], as_json)


def _print(entries: "list[Entry[Any]]", as_json: bool) -> None:
    """The entries as a table or as JSON."""
    rows = [described(entry) for entry in entries]
    if as_json:
        print_json(rows)
    else:
        cells = [
            [row["kind"], row["name"], signature(row["parameters"]), row["summary"].replace("``", "`")] for row in rows
        ]
        out().print(table(["kind", "name", "parameters", "summary"], cells))


def described(entry: "Entry[Any]") -> dict[str, Any]:
    """One entry as plain values; a parameter without a default is ``required``."""
    parameters = [
        {"name": name, "required": p.default is p.empty} | ({} if p.default is p.empty else {"default": p.default})
        for name, p in entry.keywords.items()
    ]
    return {
        "kind": entry.kind,
        "name": entry.name,
        "summary": entry.summary,
        "version": entry.version,
        "origin": entry.origin.name,
        "parameters": parameters,
    }


def signature(parameters: list[dict[str, Any]]) -> str:
    """``eps=1e-05, heads``: what a spec may set, with the defaults."""
    return ", ".join(
        p["name"]
        if p["required"]
        else f"{p['name']}={p['default']['kind'] if isinstance(p['default'], dict) else p['default']}"
        for p in parameters
    )
