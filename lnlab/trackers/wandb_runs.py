"""Weights & Biases: runs in progress. A run's id is its key, so a resumed run goes on in the same one.

``WANDB_MODE=offline`` keeps runs below ``WANDB_DIR`` (``.``) until ``wandb sync``.
"""

import os
from collections.abc import Mapping
from typing import Any

import wandb

from lnlab.errors import LabError
from lnlab.issues import Issue
from lnlab.tables import ENDED_STATUSES
from lnlab.trackers.tracker import LiveHead

_ID_LENGTH = 32


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
        raise LabError(Issue("unreachable", "export wandb", "not logged in", remedy))
