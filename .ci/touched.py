"""What a change has to prove: the specs whose smoke profile runs, and the committed reports that are drawn again.

python .ci/touched.py specs|reports [BASE]

Specs and reports whose files differ from those of BASE. Where the package differs, or no BASE is known, also those of
SAMPLE, which stand for all: `make everything` goes through every one.
"""

import subprocess
import sys
from pathlib import Path

SAMPLE = ("layernorm_equation", "liu_dependency", "schedules", "xiong_bleu_curves", "yu_loss", "zhang_mackey_hessian")
"""Six that take seconds and have different tasks, probes, sections and kinds of claims."""
MOST = 10
"""More smoke runs than these take longer than a change may."""


def changed(base: str) -> list[Path]:
    """The files that differ; none where there is no such commit here, as in a shallow clone."""
    command = ["git", "diff", "--name-only", base, "HEAD"]
    listed = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    return [Path(line) for line in listed.stdout.splitlines()]


def named(files: list[Path], folder: str) -> set[str]:
    """The specs to which files of a folder belong."""
    return {Path(file.parts[1]).stem for file in files if file.parts[0] == folder and len(file.parts) > 1}


def chosen(what: str, base: str) -> list[str]:
    """What to run or to draw, by path."""
    files = changed(base) if base else []
    sample = SAMPLE if not files or any(file.parts[0] in ("lnlab", "templates") for file in files) else ()
    if what == "specs":
        touched = [Path("specs", f"{name}.yaml") for name in sorted(named(files, "specs"))]
        wanted = [*map(str, filter(Path.is_file, touched))]
        return [*dict.fromkeys([*wanted[:MOST], *(f"specs/{name}.yaml" for name in sample)])]
    names = named(files, "specs") | named(files, "reports") | set(sample)
    return [f"specs/{name}.lock" for name in sorted(names) if Path("specs", f"{name}.lock").is_file()]


if __name__ == "__main__":
    print(*chosen(*(*sys.argv[1:], "")[:2]), sep="\n")
