"""``lnlab init``: a shipped spec, or a model of one's own, as a starting point."""

from pathlib import Path
from typing import Annotated

import typer

from lnlab.cli.terminal import err, out
from lnlab.errors import LabError, nearest
from lnlab.issues import Issue
from lnlab.specfile.citations import shipped_specs

INIT_EXAMPLE = "Example: [bold]lnlab init xiong_fig3[/bold], then [bold]lnlab run xiong_fig3.yaml[/bold]"
_SCHEMA = "experiment.schema.json"


def init(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="A shipped spec; without it, they are listed.")
    ] = None,
    plugin: Annotated[
        bool, typer.Option("--plugin", help="A model, a norm and a probe of one's own, and a spec that measures them.")
    ] = False,
) -> None:
    """Copy a shipped spec and its JSON Schema (for completion in editors) into this folder.

    Without a name, list the shipped specs. With --plugin write mine.py and mine.yaml, to begin a model of one's own.
    """
    shipped = shipped_specs()
    if plugin:
        if name is not None:
            raise LabError(
                Issue("no-effect", "lnlab init", "--plugin stands beside the name of a spec", "leave it out")
            )
        from lnlab.report.page.html import template_folders

        for file in ("mine.py", "mine.yaml"):
            out().print(_copy_new(template_folders()[-1] / "plugin" / file, Path.cwd()).name)
        _copy_schema(next(iter(shipped.values())).parent, Path.cwd())
        err().print("next: lnlab --with mine.py run mine.yaml")
        return
    if name is None:
        for spec in shipped.values():
            out().print(spec.stem)
    elif name not in shipped:
        raise LabError(
            Issue("unknown-name", "lnlab init", f"no shipped spec is called '{name}'", nearest(name, shipped))
        )
    else:
        out().print(copy_spec(shipped[name], Path.cwd()).name)
        err().print(f"next: lnlab run {name}.yaml")


def copy_spec(spec: Path, folder: Path) -> Path:
    """A copy of the spec in ``folder``, and of its schema where there is none.

    Raises:
        LabError: a file of that name exists. Nothing is ever overwritten.
    """
    target = _copy_new(spec, folder)
    _copy_schema(spec.parent, folder)
    return target


def _copy_new(file: Path, folder: Path) -> Path:
    """A copy of a file in ``folder``, where none of that name may be."""
    target = folder / file.name
    try:
        with target.open("xb") as copy:  # x: not over a file that somebody made since a look, either
            copy.write(file.read_bytes())
    except FileExistsError as error:
        raise LabError(Issue("exists", target.name, "is there already", "move it away, or run it as it is")) from error
    return target


def _copy_schema(source: Path, folder: Path) -> None:
    schema = folder / _SCHEMA
    if not schema.exists():
        schema.write_bytes((source / _SCHEMA).read_bytes())
