"""``lnlab init``: a shipped spec as a starting point, in the current folder."""

from pathlib import Path
from typing import Annotated

import typer

from lnlab.cli.terminal import err, out
from lnlab.errors import LabError, Problem, nearest
from lnlab.specfile.citations import shipped_specs

INIT_EXAMPLE = "Example: [bold]lnlab init xiong_fig3[/bold], then [bold]lnlab run xiong_fig3.yaml[/bold]."
_SCHEMA = "experiment.schema.json"


def init(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="A shipped spec; without it, they are listed.")
    ] = None,
) -> None:
    """Copy a shipped spec and its JSON Schema (for completion in editors) into this folder.

    Without a name, list the shipped specs.
    """
    shipped = shipped_specs()
    if name is None:
        for spec in shipped.values():
            out().print(spec.stem)
    elif name not in shipped:
        raise LabError(Problem("lnlab init", f"no shipped spec is called '{name}'", nearest(name, shipped)))
    else:
        out().print(copy_spec(shipped[name], Path.cwd()).name)
        err().print(f"next: lnlab run {name}.yaml")


def copy_spec(spec: Path, folder: Path) -> Path:
    """A copy of the spec in ``folder``, and of its schema where there is none.

    Raises:
        LabError: a file of that name is there; nothing is ever overwritten.
    """
    target = folder / spec.name
    try:
        with target.open("xb") as file:
            file.write(spec.read_bytes())
    except FileExistsError as error:
        raise LabError(Problem(target.name, "is there already", "move it away, or run it as it is")) from error
    schema = folder / _SCHEMA
    if not schema.exists():
        schema.write_bytes((spec.parent / _SCHEMA).read_bytes())
    return target
