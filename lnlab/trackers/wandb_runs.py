"""Weights & Biases: runs grouped by spec and profile. A run's id is its key, so a new version replaces the old.

``WANDB_MODE=offline`` keeps runs below ``WANDB_DIR`` (``.``) until ``wandb sync``. What was shown is noted in a file
beside them.
"""

import glob
import os
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import wandb

from lnlab.errors import LabError
from lnlab.files import replacing
from lnlab.issues import Issue
from lnlab.keys import digest
from lnlab.tables import ENDED_STATUSES
from lnlab.trackers.tracked_run import SettingValue, TrackedRun, TrackedVerdicts
from lnlab.trackers.tracker import LiveHead, Tracker

_ID_LENGTH = 32


def open_wandb(place: str, group: str) -> Tracker:
    """The runs of an experiment in the project ``place``.

    Raises:
        LabError: not logged in, and runs are not kept offline.
    """
    _require_login()
    return WandbRuns(place, group, Path(os.environ.get("WANDB_DIR") or "."))


class LiveWandbRun:
    """A run in progress, in its group. After a resume it goes on in the same run."""

    def __init__(self, place: str, head: LiveHead) -> None:
        _require_login()
        self._run = wandb.init(
            project=place,
            group=head.group,
            name=head.name,
            id=head.key[:_ID_LENGTH],
            dir=os.environ.get("WANDB_DIR") or ".",
            config=dict(head.settings),
            reinit="create_new",
            resume="allow",
            settings=_settings(),
        )

    def log(self, step: int, values: Mapping[str, float]) -> None:
        """Add the values of a step."""
        self._run.log(dict(values), step=step)

    def close(self, status: str) -> None:
        """End the run."""
        self._run.summary.update({"status": status})
        self._run.finish(0 if status in ENDED_STATUSES else 1)


def _settings() -> Any:
    # Nothing of this machine, its repository or what is printed is sent.
    return wandb.Settings(
        silent=True, console="off", disable_git=True, disable_code=True, x_disable_stats=True, x_disable_meta=True
    )


def _require_login() -> None:
    online = os.environ.get("WANDB_MODE", "online") == "online"
    if online and not wandb.login(prompt=False, verify=False):  # a prompt would stop the run
        remedy = "wandb login first, or set WANDB_MODE=offline and wandb sync later"
        raise LabError(Issue("unreachable", "--export wandb", "not logged in", remedy))


@dataclass(frozen=True)
class WandbRuns:
    """The runs of one group in a project. Local files lie below ``folder``."""

    project: str
    group: str
    folder: Path

    def show(self, run: TrackedRun) -> None:
        """Write a run: settings as its config, a row of history a step, and how it ended in its summary."""
        steps: dict[int, dict[str, float]] = {}
        for name, step, value in run.curves:
            steps.setdefault(step, {})[name] = value
        self._write(
            run.key[:_ID_LENGTH],
            run.name,
            run.digest,
            config=run.settings,
            history=sorted(steps.items()),
            summary={"status": run.status},
            exit_code=0 if run.status in ENDED_STATUSES else 1,
        )

    def show_verdicts(self, verdicts: TrackedVerdicts) -> None:
        """Write the verdicts as the summary of one run of the group, ``verdicts``."""
        name = digest(["verdicts", self.group])[:_ID_LENGTH]
        self._write(name, "verdicts", verdicts.digest, summary=verdicts.by_claim, config=verdicts.sentences)

    def _write(
        self,
        name: str,
        title: str,
        content: str,
        *,
        config: Mapping[str, SettingValue],
        summary: Mapping[str, str],
        history: Iterable[tuple[int, Mapping[str, float]]] = (),
        exit_code: int = 0,
    ) -> None:
        shown = self.folder / "wandb" / "lnlab" / self.project / name
        if shown.is_file() and shown.read_text() == content:
            return
        # A former version that was not synced yet would be shown beside this one.
        for former in (self.folder / "wandb").glob(f"offline-run-*-{glob.escape(name)}"):
            shutil.rmtree(former)
        run = wandb.init(
            project=self.project,
            group=self.group,
            name=title,
            id=name,
            dir=self.folder,
            config=dict(config),
            reinit="create_new",
            settings=_settings(),
        )
        for step, values in history:
            run.log(dict(values), step=step)
        run.summary.update(dict(summary))
        run.finish(exit_code)
        # Noted last: a run that was cut off is shown again.
        shown.parent.mkdir(parents=True, exist_ok=True)
        with replacing(shown) as file:
            file.write(content.encode())
