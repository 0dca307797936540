"""Where a run came from: the command, the commit with what was changed since, the packages, and the files it read.

A repository may be anybody's. Git reads no configuration of it here: the patch is made in an empty repository that has
its commit, its index and its objects, so that no filter, hook, monitor or converter that it names can run.
"""

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Timer

from lnlab.compile.digests import Input
from lnlab.keys import Json
from lnlab.printable import printable

LARGEST_PATCH = 64 * 1024
"""Characters of a patch that are kept."""
_SECONDS = 20
"""That git may take: a run does not wait for the state of its repository."""
_DIFF = ("-c", "core.fsmonitor=false", "diff", "--no-ext-diff", "--no-textconv", "--ignore-submodules=all", "HEAD")


def provenance_of_run(inputs: Iterable[Input]) -> dict[str, Json]:
    """What a page states of the start of its runs, as plain values: ``command``, ``commit``, ``patch``, ``note`` ...

    Args:
        inputs: the files that the runs read.
    """
    program = Path(sys.argv[0]).name
    words = ["lnlab" if program == "__main__.py" else program, *sys.argv[1:]]
    packages = packages_distributions()
    names = {name for module in {each.partition(".")[0] for each in sys.modules} for name in packages.get(module, ())}
    return {
        "command": printable(shlex.join(words)),
        **_repository(Path()),
        "packages": {name: known for name in sorted(names, key=str.lower) if (known := _version(name))},
        "files": [[Path(file.path).name, file.size, file.sha256] for file in inputs if file.sha256],
    }


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def _repository(folder: Path) -> dict[str, str]:
    """The commit of the repository that holds a folder, and the patch of what was changed since."""
    try:
        asked = ("--show-toplevel", "--git-path", "objects", "--git-path", "index", "HEAD")
        top, objects, index, commit = _git(folder, "rev-parse", *asked).splitlines()
        if Path(top) not in (here := folder.resolve(), *here.parents) or not (Path(top) / ".git").exists():
            raise ValueError("its files lie elsewhere")
    except (OSError, ValueError):
        return {"note": "no commit of a repository"}
    try:
        with TemporaryDirectory(prefix="lnlab-git-") as name:
            empty = Path(name)
            for place in ("refs", "objects/info"):
                (empty / place).mkdir(parents=True)
            (empty / "HEAD").write_text(f"{commit}\n")
            (empty / "objects/info/alternates").write_text(f"{(folder / objects).resolve()}\n")
            shutil.copyfile(folder / index, empty / "index")
            patch = _git(folder, f"--git-dir={empty}", f"--work-tree={top}", *_DIFF)
    except (OSError, ValueError):
        return {"commit": commit, "note": "git could not say what was changed since"}
    if len(patch) <= LARGEST_PATCH:
        return {"commit": commit, **({"patch": printable(patch)} if patch else {})}
    cut = printable(patch[:LARGEST_PATCH])
    return {"commit": commit, "patch": cut, "note": f"the patch is cut after {LARGEST_PATCH:,} characters"}


def _git(folder: Path, *arguments: str) -> str:
    """The first characters of what git prints, one more than a patch may have.

    Raises:
        OSError: there is no git.
        ValueError: it fails, or takes too long.
    """
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    # Nothing is written, and nothing is fetched for a repository that lacks objects.
    environment |= {"GIT_OPTIONAL_LOCKS": "0", "GIT_ALLOW_PROTOCOL": "none"}
    with subprocess.Popen(  # noqa: S603 - our own arguments
        ["git", "-C", str(folder), *arguments],  # noqa: S607 - git as the user has it
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        stdin=subprocess.DEVNULL,
        env=environment,
    ) as git:
        timer = Timer(_SECONDS, git.kill)
        timer.start()
        printed = git.stdout.read(4 * LARGEST_PATCH + 1) if git.stdout is not None else b""
        git.kill() if len(printed) > 4 * LARGEST_PATCH else git.wait()
        timer.cancel()
    text = printed.decode(errors="replace")
    if git.returncode and len(text) <= LARGEST_PATCH:
        raise ValueError("git refused")
    return text[: LARGEST_PATCH + 1]
