"""The commit that a folder is at, by git."""

import subprocess
from pathlib import Path


def head_commit(folder: Path) -> str:
    """The first twelve digits of the commit of the repository that holds a folder, or an empty text."""
    try:
        found = subprocess.run(  # noqa: S603 - our own arguments
            ["git", "-C", str(folder), "rev-parse", "--short=12", "HEAD"],  # noqa: S607 - git as the user has it
            capture_output=True,
            text=True,
            timeout=5,  # seconds: a report does not wait for its commit
            check=False,
        )
    except (OSError, subprocess.SubprocessError, ValueError):
        return ""
    return found.stdout.strip() if found.returncode == 0 else ""
