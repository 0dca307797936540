"""The arguments and options that commands share, spelt once."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from lnlab.userfiles import user_path


def all_plugins(context: typer.Context, plugins: Sequence[Path]) -> list[Path]:
    """``--with`` may stand before the command as well as behind it: both lists together, in order."""
    return [*(context.find_root().params.get("_plugins") or ()), *plugins]


Spec = Annotated[Path, typer.Argument(metavar="SPEC", parser=user_path, help="The experiment spec.")]
Specs = Annotated[list[Path], typer.Argument(metavar="SPEC...", parser=user_path, help="The experiment specs.")]
OptionalSpec = Annotated[
    Path | None,
    typer.Argument(metavar="[SPEC]", parser=user_path, help="The spec; without it, the last run of this store."),
]
Profile = Annotated[
    str | None,
    typer.Option("--profile", "-p", metavar="NAME", help="One of the spec's profiles: smoke, real, paper ..."),
]
Overrides = Annotated[
    list[str],
    typer.Option(
        "--set",
        "-s",
        metavar="PATH=VALUE",
        help="Override one value of the spec: -s seeds=3.",
        default_factory=list,
        show_default=False,
    ),
]
StoreFolder = Annotated[
    Path | None,
    typer.Option(
        "--store",
        envvar="LNLAB_STORE",
        metavar="FOLDER",
        help="Where results are kept; as lnlab.toml says if not given, else .lnlab.",
        default_factory=lambda: None,
        show_default=False,
    ),
]
Plugins = Annotated[
    list[Path],
    typer.Option(
        "--with",
        metavar="FILE.py",
        parser=user_path,
        callback=all_plugins,
        help="A Python file that registers norms, probes ... of your own.",
        default_factory=list,
        show_default=False,
    ),
]
AsJsonOption = Annotated[bool, typer.Option("--json", help="Print JSON, for other programs.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print results only: no progress, no hints.")]
