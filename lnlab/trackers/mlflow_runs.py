"""MLflow: one experiment per group of runs in progress."""

import logging
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from mlflow import MlflowClient
from mlflow.entities import Metric, Param

from lnlab.tables import ENDED_STATUSES
from lnlab.trackers.tracker import LiveHead, SettingValue

_KEY, _STATUS = "lnlab.run", "lnlab.status"
_METRICS_A_CALL, _PARAMS_A_CALL = 1000, 100
"""The most that MLflow takes in one call."""
_LONGEST_VALUE = 500


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
            self._client = MlflowClient(place or None)  # without a place MLflow's own default
            experiment = self._client.get_experiment_by_name(head.group)
            group = experiment.experiment_id if experiment else self._client.create_experiment(head.group)
            same = self._client.search_runs([group], f"tags.`{_KEY}` = '{head.key}'")
            if same:
                self._run = same[0].info.run_id
                # Its settings are there, and MLflow refuses to change a parameter.
                self._client.update_run(self._run, "RUNNING")
                return
            self._run = self._client.create_run(group, None, {_KEY: head.key}, head.name).info.run_id
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
