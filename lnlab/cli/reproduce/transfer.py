"""``lnlab export`` and ``lnlab import``: finished units handed on as one archive."""

from pathlib import Path
from typing import Annotated

import typer

from lnlab.app.formats import format_count, format_quantity
from lnlab.app.request import Request, load_registries, open_store, stored_plan
from lnlab.cli.options import Overrides, Plugins, Profile, Quiet, Spec, StoreFolder
from lnlab.cli.terminal import err, out
from lnlab.errors import LabError, Problem

EXPORT_EXAMPLE = "Example: [bold]lnlab export specs/xiong_fig3.yaml -o units.tar[/bold]"
IMPORT_EXAMPLE = "Example: [bold]lnlab import units.tar[/bold], then [bold]lnlab run specs/xiong_fig3.yaml[/bold]"
_ENDINGS = (".tar", ".tar.gz")
_GIB = 2**30


def export(
    spec: Spec,
    overrides: Overrides,
    folder: StoreFolder,
    plugins: Plugins,
    target: Annotated[Path, typer.Option("--out", "-o", metavar="ARCHIVE", help="The archive: .tar or .tar.gz.")],
    profile: Profile = None,
    quiet: Quiet = False,
) -> None:
    """Write the finished runs of a spec into one archive, so that nobody has to compute them again.

    It holds the rows of every finished unit (a run that diverged is finished), tuning runs included, and the settings
    from which their keys can be recomputed; no logs, no checkpoints and no paths of this machine. Rows are compressed
    already; .tar.gz saves what is around them.
    """
    from lnlab.app.stores.exporting import export_units

    if not target.name.endswith(_ENDINGS):
        what = f"an archive ends in {' or '.join(_ENDINGS)}"
        raise LabError(Problem(str(target), what, f"name it {target.name.partition('.')[0]}.tar"))
    store = open_store(folder)
    stored = stored_plan(store, Request(spec, profile, tuple(overrides), tuple(plugins)))
    written = export_units(store, stored, target)
    out().print(target.as_posix())
    for reason, number in written.left_out.items():
        err().print(f"{format_count(number, 'unit')} left out: {reason}")
    if not quiet:
        err().print(f"{format_count(written.units, 'unit')}, {format_quantity(written.size, 'B')} of rows")


def import_archive(
    archive: Annotated[Path, typer.Argument(metavar="ARCHIVE", help="What lnlab export wrote.")],
    folder: StoreFolder,
    plugins: Plugins,
    limit: Annotated[
        float, typer.Option("--limit", min=0.001, metavar="GIB", help="Refuse an archive that unfolds to more.")
    ] = 2.0,
) -> None:
    """Put the runs of an archive into the store.

    The archive is not trusted: it may hold plain files with known names only and unfold to no more than --limit, every
    row must be the one whose digest its record has, and every key is computed again from its setting, with the pieces
    and corpora of this machine. So an archive of another version of a piece, or of another corpus, is refused as well.
    What the store has already stays as it is. All units become visible at once; interrupted at any instant, or refused,
    it leaves the store as it was.
    """
    from lnlab.app.stores import importing

    store = open_store(folder)
    imported = importing.import_units(store, archive, load_registries(plugins), int(limit * _GIB))
    out().print(f"{format_count(imported.new, 'unit')} imported, {imported.present:,} in the store already")
