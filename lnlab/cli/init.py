"""``lnlab init``: a shipped spec, a repository around it, or a model of one's own, as a starting point."""

from pathlib import Path
from typing import Annotated

import typer

from lnlab.cli.terminal import err, out
from lnlab.errors import LabError, nearest
from lnlab.issues import Issue
from lnlab.specfile.citations import shipped_specs

INIT_EXAMPLE = (
    "Example: [bold]lnlab init xiong_fig3[/bold], then [bold]lnlab run xiong_fig3.yaml[/bold]; "
    "[bold]lnlab init --repository figures[/bold], then [bold]make figure[/bold] in it."
)
_FIRST_SPEC = "xiong_fig3"
"""The spec of a repository for which none is named."""
_SCHEMA = "experiment.schema.json"


def init(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="A shipped spec; without it, they are listed.")
    ] = None,
    repository: Annotated[
        Path | None,
        typer.Option("--repository", metavar="FOLDER", help="Make a repository of figures around the spec instead."),
    ] = None,
    torch_index: Annotated[
        str | None,
        typer.Option("--torch-index", metavar="URL", help="Of torch's wheels, with --repository; default: CPU only."),
    ] = None,
    lnlab_from: Annotated[
        str | None,
        typer.Option("--lnlab-from", metavar="URL", help="Of lnlab, with --repository; default: whence it is here."),
    ] = None,
    plugin: Annotated[
        bool, typer.Option("--plugin", help="A model, a norm and a probe of one's own, and a spec that measures them.")
    ] = False,
) -> None:
    """Copy a shipped spec and its JSON Schema (for completion in editors) into this folder.

    Without a name, list the shipped specs. With --plugin write mine.py and mine.yaml, to begin a model of one's own.

    With --repository, make a new folder with the spec (xiong_fig3 if none is named), a Makefile with which committing a
    figure is two commands, a README, and a workflow for GitHub Actions that verifies every report on every push and
    publishes the index. Its requirements name the versions of this environment, a CPU index for torch, and lnlab from
    where this one was installed.
    """
    shipped = shipped_specs()
    if plugin:
        if name is not None or repository is not None:
            raise LabError(
                Issue("no-effect", "lnlab init", "--plugin stands beside a spec or a repository", "leave it out")
            )
        from lnlab.report.page.html import template_folders

        for file in ("mine.py", "mine.yaml"):
            out().print(_copy_new(template_folders()[-1] / "plugin" / file, Path.cwd()).name)
        _copy_schema(next(iter(shipped.values())).parent, Path.cwd())
        err().print("next: lnlab --with mine.py run mine.yaml")
        return
    if repository is not None:
        name = name or _FIRST_SPEC
    if name is None:
        for spec in shipped.values():
            out().print(spec.stem)
    elif name not in shipped:
        raise LabError(
            Issue("unknown-name", "lnlab init", f"no shipped spec is called '{name}'", nearest(name, shipped))
        )
    elif repository is not None:
        from lnlab.app.repository import write_repository

        for path in write_repository(repository, shipped[name], torch_index=torch_index, lnlab_from=lnlab_from):
            out().print(path.as_posix())
        err().print(f"next: cd {repository} && git init && make figure")
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
