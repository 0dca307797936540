"""``lnlab init --repository``: a folder from which figures can be committed, verified on every push, and published."""

from pathlib import Path

from lnlab import __version__
from lnlab.errors import LabError, Problem
from lnlab.report.page.html import template_folders

_TARGETS = {
    "Makefile": "Makefile",
    "README.md": "README.md",
    "requirements.txt": "requirements.txt",
    "gitignore": ".gitignore",
    "figures.yml": ".github/workflows/figures.yml",
}
"""Template -> where it stands in the repository."""


def write_repository(folder: Path, spec: Path) -> list[Path]:
    """Write a repository around a spec into a folder that is new or empty; the files that were written.

    Raises:
        LabError: the folder is not empty, or something else stands there.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise LabError(
            Problem(str(folder), "is there already, and not empty", "name a new folder; nothing is overwritten")
        )
    templates = template_folders()[0] / "repository"
    contents = {target: (templates / name).read_text(encoding="utf-8") for name, target in _TARGETS.items()}
    files = {
        folder / target: text.replace("@SPEC@", spec.stem).replace("@VERSION@", __version__).encode()
        for target, text in contents.items()
    }
    files[folder / "specs" / spec.name] = spec.read_bytes()
    schema = spec.with_name("experiment.schema.json")
    files[folder / "specs" / schema.name] = schema.read_bytes()
    for path, content in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return list(files)
