"""``lnlab init --repository``: a folder from which figures can be committed, verified on every push, and published."""

import json
import platform
import re
from collections.abc import Iterable
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from urllib.parse import unquote, urlsplit

from lnlab import __version__
from lnlab.errors import LabError
from lnlab.issues import Issue
from lnlab.report.page.html import template_folders

_TARGETS = {
    "Makefile": "Makefile",
    "README.md": "README.md",
    "requirements.txt": "requirements.txt",
    "constraints.txt": "constraints.txt",
    "gitignore": ".gitignore",
    "figures.yml": ".github/workflows/figures.yml",
}
"""Template -> where it stands in the repository."""


TORCH_INDEX = "https://download.pytorch.org/whl/cpu"
"""PyTorch's wheels without CUDA: a runner of the workflow has no GPU, and they are a twentieth of the size."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_UNKNOWN_SOURCE = (
    "lnlab[train]=={version}  # or where it is to be had: lnlab[train] @ git+https://HOST/OWNER/lnlab@COMMIT"
)


def write_repository(
    folder: Path, spec: Path, *, torch_index: str | None = None, lnlab_from: str | None = None
) -> list[Path]:
    """Write a repository around a spec into a folder that is new or empty, and return the written files.

    Args:
        folder: new, or empty.
        spec: a shipped spec.
        torch_index: the package index of torch's wheels. None means PyTorch's own for the CPU.
        lnlab_from: the URL that lnlab is installed from. None means the source of this installation.

    Raises:
        LabError: the folder is not empty, or something else stands there.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise LabError(
            Issue(
                "exists",
                str(folder),
                "is there already, and not empty",
                "name a new folder; nothing is overwritten",
            )
        )
    torch_index = torch_index or TORCH_INDEX
    for option, url in (("--torch-index", torch_index), ("--lnlab-from", lnlab_from or "-")):
        if re.fullmatch(r"[^\s#]+", url) is None:
            raise LabError(Issue("wrong-value", f"{option} {url}", "is no URL", "write it without spaces"))
    wheel, requirement = (None, f"lnlab[train] @ {lnlab_from}") if lnlab_from else installed_from(direct_url())
    values = {
        "@SPEC@": spec.stem,
        "@TORCH_INDEX@": torch_index,
        "@LNLAB@": requirement,
        "@PYTHON@": ".".join(platform.python_version_tuple()[:2]),
        "@CONSTRAINTS@": "\n".join(f"{name}=={version}" for name, version in installed_versions()),
    }
    templates = template_folders()[0] / "repository"
    files: dict[Path, bytes] = {}
    for name, target in _TARGETS.items():
        text = (templates / name).read_text(encoding="utf-8")
        for mark, value in values.items():
            text = text.replace(mark, value)
        files[folder / target] = text.encode()
    files[folder / "specs" / spec.name] = spec.read_bytes()
    schema = spec.with_name("experiment.schema.json")
    files[folder / "specs" / schema.name] = schema.read_bytes()
    if wheel is not None:
        files[folder / "wheels" / wheel.name] = wheel.read_bytes()
    for path, content in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return list(files)


def direct_url() -> str | None:
    """Return the record of the installer on the source of lnlab (PEP 610), or None if it came from an index."""
    try:
        return distribution("lnlab").read_text("direct_url.json")
    except PackageNotFoundError:
        return None


def installed_from(direct_url: str | None) -> tuple[Path | None, str]:
    """The wheel that the repository takes along, if any, and the requirement by which lnlab is installed again.

    A commit of a repository and an archive on the web are named by their URL. A wheel of this machine is taken along,
    as another machine has no such file. A folder of this machine stands there until a URL takes its place.
    """
    source = json.loads(direct_url) if direct_url else {}
    url = str(source.get("url", ""))
    if commit := source.get("vcs_info", {}).get("commit_id"):
        return None, f"lnlab[train] @ {source['vcs_info']['vcs']}+{url}@{commit}"
    if not url:
        return None, _UNKNOWN_SOURCE.format(version=__version__)
    if urlsplit(url).scheme != "file":
        return None, f"lnlab[train] @ {url}"
    path = Path(unquote(urlsplit(url).path))
    if path.suffix == ".whl" and path.is_file():
        return path, f"./wheels/{path.name}[train]"
    note = "# a folder of this machine: for others name a URL, as in lnlab[train] @ git+https://HOST/OWNER/lnlab@COMMIT"
    return None, f"{note}\nlnlab[train] @ {url}"


def installed_versions() -> list[tuple[str, str]]:
    """Name and version of all that lnlab needs in this environment, sorted by name, without torch's build suffix."""
    found: dict[str, str] = {}
    names = list(_needed_by("lnlab"))
    while names:
        name = names.pop()
        package = _distribution(name)
        if package is not None and name not in found:
            found[name] = package.version.partition("+")[0]
            names += _needed_by(name)
    return sorted(found.items())


def _needed_by(name: str) -> Iterable[str]:
    """The packages that one requires, for lnlab with its extra ``train``, and without any other extra."""
    package = _distribution(name)
    for requirement in (package.requires or ()) if package is not None else ():
        match = _NAME.match(requirement)
        extra = re.search(r"extra\s*==\s*['\"]([^'\"]+)", requirement)
        if match is not None and (extra is None or (name, extra[1]) == ("lnlab", "train")):
            yield re.sub(r"[-_.]+", "-", match[0]).lower()


def _distribution(name: str) -> Distribution | None:
    try:
        return distribution(name)
    except PackageNotFoundError:
        return None
