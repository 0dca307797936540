"""What a folder holds, to be compared."""

from pathlib import Path


def contents(folder: Path | str) -> dict[str, bytes]:
    """The content of every file, by its path in the folder."""
    paths = (path for path in sorted(Path(folder).rglob("*")) if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}
