"""The versions of lnlab's code between two commits, and the verdict of a claim as the code of one of them judges it.

Each version is taken out of git into a folder and run from there in a process and a store of its own: neither this code
nor rows that another version wrote can reach its numbers.
"""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from lnlab.app.comparison.revisions import Commit, commits_between, extracted
from lnlab.errors import LabError, Problem, SpecError
from lnlab.keys import Json, canonical

_PACKAGE = "lnlab"
_NEEDED = (_PACKAGE, "templates", "specs")
"""What a version of lnlab is run from; of these what the commit has."""


@dataclass(frozen=True)
class CodeHistory:
    """Commits that changed lnlab's code, the oldest first.

    Attributes:
        commits: after that of the good side, up to that of the bad one.
        spec: what every version judges.
        name: the stem of the spec's file.
        profile: of the spec, or None for the default.
        claim: its id.
        workers: processes; None: as many as that version takes.
    """

    commits: Sequence[Commit]
    spec: Mapping[str, Json]
    name: str
    profile: str | None
    claim: str
    workers: int | None = None

    def verdict(self, commit: Commit) -> str:
        """The verdict of the claim as the code of a commit judges it; its corpora are those of this machine.

        Raises:
            SpecError: that version cannot run the spec, or does not judge the claim.
        """
        with TemporaryDirectory(prefix="lnlab-code-") as scratch, extracted(commit.digest, _NEEDED) as code:
            spec = Path(scratch) / f"{self.name}.yaml"
            spec.write_text(canonical(dict(self.spec)), encoding="utf-8")  # JSON is YAML
            command = [sys.executable, "-m", _PACKAGE, "run", str(spec), "--store", str(Path(scratch, "store"))]
            command += ["--profile", self.profile] if self.profile else []
            command += ["--workers", str(self.workers)] if self.workers else []
            environment = os.environ | {"PYTHONPATH": str(code)}
            done = subprocess.run(  # noqa: S603 - the user's own code, and no shell
                [*command, "--json"], cwd=scratch, env=environment, capture_output=True, check=False
            )
        try:
            verdicts = json.loads(done.stdout)["verdicts"]
            return next(str(entry["verdict"]) for entry in verdicts if entry["claim"] == self.claim)
        except (ValueError, KeyError, TypeError, StopIteration) as error:
            lines = done.stderr.decode(errors="replace").strip().splitlines()
            raise SpecError(Problem(commit.label, lines[-1] if lines else "does not judge the claim")) from error


def code_commits(good: str, bad: str) -> tuple[Commit, ...]:
    """The commits that changed lnlab's code between two sides, the oldest first.

    A side ``REV:path`` is of that commit; a file is of the last commit that changed it.

    Raises:
        LabError: no git history of lnlab's code is at hand.
    """
    try:
        commits = commits_between(good, bad, _PACKAGE)
    except LabError as error:
        what = f"no history of lnlab's code is at hand: {error.problems[0].what}"
        remedy = "name both sides as REV:path in a clone of lnlab's repository"
        raise LabError(Problem(bad, what, remedy)) from error
    return tuple(commits)
