"""MLflow: one experiment per spec and profile. The tag ``lnlab.rows`` is set last and marks a run as whole."""

import logging
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from mlflow import MlflowClient
from mlflow.entities import Metric, Param, Run

from lnlab.tables import ENDED_STATUSES
from lnlab.trackers.tracked_run import SettingValue, TrackedRun, TrackedVerdicts
from lnlab.trackers.tracker import LiveHead

_KEY, _ROWS, _STATUS = "lnlab.run", "lnlab.rows", "lnlab.status"
_METRICS_A_CALL, _PARAMS_A_CALL = 1000, 100
"""The most that MLflow takes in one call."""
_LONGEST_VALUE = 500


def open_mlflow(place: str, group: str) -> "MlflowRuns":
    """The experiment ``group`` at a tracking URI, or at MLflow's default if ``place`` is empty."""
    with _quiet():
        client = MlflowClient(place or None)
        experiment = client.get_experiment_by_name(group)
        return MlflowRuns(client, experiment.experiment_id if experiment else client.create_experiment(group))


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep MLflow from reporting how it makes its tables."""
    logger = logging.getLogger("mlflow")
    level = logger.level
    logger.setLevel(logging.WARNING)
    try:
        yield
    finally:
        logger.setLevel(level)


class LiveMlflowRun:
    """A run in progress, in the experiment of its group. After a resume it goes on in the same run."""

    def __init__(self, place: str, head: LiveHead) -> None:
        with _quiet():
            runs = open_mlflow(place, head.group)
            self._client = runs.client
            same = self._client.search_runs([runs.experiment], f"tags.`{_KEY}` = '{head.key}'")
            if same:
                self._run = same[0].info.run_id
                # Its settings are there, and MLflow refuses to change a parameter.
                self._client.update_run(self._run, "RUNNING")
                return
            self._run = self._client.create_run(runs.experiment, None, {_KEY: head.key}, head.name).info.run_id
            _log_settings(self._client, self._run, head.settings)

    def log(self, step: int, values: Mapping[str, float]) -> None:
        """Add the values of a step."""
        now = int(time.time() * 1000)
        metrics = [Metric(_metric_name(name), value, now, step) for name, value in values.items()]
        for begin in range(0, len(metrics), _METRICS_A_CALL):
            self._client.log_batch(self._run, metrics=metrics[begin : begin + _METRICS_A_CALL])

    def close(self, status: str) -> None:
        """End the run."""
        self._client.set_tag(self._run, _STATUS, status)
        self._client.set_terminated(self._run, "FINISHED" if status in ENDED_STATUSES else "FAILED")


def _metric_name(name: str) -> str:
    """A name that MLflow accepts. It refuses the brackets of fused parameters."""
    return re.sub(r"[^\w\-./ :]", "_", name)


def _log_settings(client: MlflowClient, run: str, settings: Mapping[str, SettingValue]) -> None:
    params = [Param(name, str(value)[:_LONGEST_VALUE]) for name, value in settings.items()]
    for begin in range(0, len(params), _PARAMS_A_CALL):
        client.log_batch(run, params=params[begin : begin + _PARAMS_A_CALL])


@dataclass(frozen=True)
class MlflowRuns:
    """The runs of one experiment."""

    client: MlflowClient
    experiment: str

    def show(self, run: TrackedRun) -> None:
        """Write a run. Older runs with its key are deleted once the new one is whole."""
        if any(other.data.tags.get(_ROWS) == run.digest for other in self._same(run)):
            return
        started = int((time.time() - run.seconds) * 1000)
        tags = {_KEY: run.key, _STATUS: run.status}
        new = self.client.create_run(self.experiment, started, tags, run.name).info.run_id
        metrics = [
            Metric(name, value, started + int(run.seconds_at(step) * 1000), step) for name, step, value in run.curves
        ]
        _log_settings(self.client, new, run.settings)
        for begin in range(0, len(metrics), _METRICS_A_CALL):
            self.client.log_batch(new, metrics=metrics[begin : begin + _METRICS_A_CALL])
        self.client.set_terminated(new, "FINISHED" if run.status in ENDED_STATUSES else "FAILED")
        self.client.set_tag(new, _ROWS, run.digest)
        # If two processes wrote a run at once, both keep the same one. Older ones go.
        same = self._same(run)
        whole = min(other.info.run_id for other in same if other.data.tags.get(_ROWS) == run.digest)
        for other in same:
            at_work = other.info.status == "RUNNING" and _ROWS not in other.data.tags
            if other.info.run_id != whole and not at_work:
                self.client.delete_run(other.info.run_id)

    def show_verdicts(self, verdicts: TrackedVerdicts) -> None:
        """Write the verdicts as tags of the experiment, and their sentences as its note, above its runs."""
        note = "\n".join(f"- {claim}: {sentence}" for claim, sentence in verdicts.sentences.items())
        wanted = {f"verdict.{claim}": verdict for claim, verdict in verdicts.by_claim.items()}
        wanted |= {"mlflow.note.content": note} if note else {}
        present = self.client.get_experiment(self.experiment).tags
        for name, value in wanted.items():
            if present.get(name) != value:
                self.client.set_experiment_tag(self.experiment, name, value)

    def _same(self, run: TrackedRun) -> list[Run]:
        return list(self.client.search_runs([self.experiment], f"tags.`{_KEY}` = '{run.key}'"))
