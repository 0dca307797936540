"""An array of SLURM tasks, each of which is ``lnlab run`` on one shared store, by submitit (no other file imports it).

The tasks do not communicate: a unit's lease in the store names its worker, so that each unit is computed once. SLURM
may end a task before its work is done, at its time limit or because another job needs the node. The task then saves its
training runs and is queued again. It continues with the units that nobody has done by then.
"""

import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import redirect_stderr, suppress
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any, Literal

from lnlab.errors import LabError
from lnlab.execute.cluster.command import Command, last_line
from lnlab.issues import Issue

GRACE = 120
"""Seconds between SLURM's signal and the end of a task: training runs are saved in that time."""
REQUEUES = 1000
"""How often a task may run into its time limit. Each time it is queued again."""
ASK_EVERY = 30
"""Most seconds between two questions to SLURM. submitit waits ten minutes, which is long for a failed task."""
_INSTALL = "pip install 'lnlab[slurm]'"


@dataclass
class ArrayTask:
    """One task: the command in a process of its own, which is asked to save and end when the task has to."""

    command: Command
    _process: "subprocess.Popen[bytes] | None" = None

    def __call__(self) -> int:
        """Run the command and return its exit status."""
        # SLURM signals every process of a task. The command would die of the one that is for submitit alone.
        # submitit has one thread here, so that code between fork and exec is safe.
        self._process = self.command.start(preexec_fn=lambda: signal.signal(signal.SIGUSR2, signal.SIG_IGN))
        status = self._process.wait()
        if status in (128 + signal.SIGTERM, -signal.SIGTERM):
            # SLURM's SIGTERM reaches every process of a task. Where it announces preemption, the signal to queue the
            # task again follows. In a cancellation SIGKILL follows.
            time.sleep(GRACE)
        return status

    def checkpoint(self) -> Any:
        """Save, and be queued again: submitit calls it before the task's time is over."""
        from submitit.helpers import DelayedSubmission  # late: an extra

        if self._process is not None:
            # This runs in a signal handler, above a `wait` that may hold the lock of the process object.
            with suppress(ProcessLookupError, ChildProcessError):
                os.kill(self._process.pid, signal.SIGTERM)
                os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOWAIT)
        return DelayedSubmission(ArrayTask(self.command))


@dataclass(frozen=True)
class SubmittedTasks:
    """Tasks that were handed to SLURM.

    Attributes:
        jobs: submitit's jobs.
        logs: the folder of what they print.
    """

    jobs: Sequence[Any]
    logs: Path

    @property
    def name(self) -> str:
        """The number of the array, as ``squeue`` and ``scancel`` know it."""
        return str(self.jobs[0].job_id).partition("_")[0]

    def done(self) -> bool:
        """Whether every task has ended and is not queued again."""
        return all(job.paths.result_pickle.is_file() or job.done() for job in self.jobs)

    def cancel(self) -> None:
        """Cancel every task that has not ended. Each saves its training runs first."""
        for job in self.jobs:
            if not job.done():
                job.cancel(check=False)

    def failures(self) -> list[tuple[str, Path]]:
        """The last line of each task whose command failed, and the file with all that it printed."""
        failures = []
        for job in self.jobs:
            with suppress(Exception):  # submitit's own errors, or whatever the task raised
                if job.result() in (0, 1):  # 1: a run failed, which the store says better
                    continue
            line = last_line(job.paths.stderr) or last_line(job.paths.stdout) or job.state
            failures.append((line, job.paths.stderr))
        return failures


def submit_tasks(
    command: Command, number: int, logs: Path, parameters: Mapping[str, str | int], cluster: Literal["slurm", "local"]
) -> SubmittedTasks:
    """Hand ``number`` tasks to SLURM as one array.

    Args:
        command: what each of them does.
        number: how many.
        logs: a folder that all nodes see.
        parameters: of ``sbatch``: ``time`` in minutes, ``cpus_per_task``, ``mem_gb``, and others as sbatch names them.
        cluster: ``local`` has processes of this machine in SLURM's place.

    Raises:
        LabError: submitit or SLURM is absent, or it refuses the parameters.
    """
    try:
        from submitit import AutoExecutor  # late: an extra
        from submitit.core.utils import FailedJobError, FailedSubmissionError  # late: an extra
        from submitit.slurm.slurm import SlurmInfoWatcher, SlurmJob, _get_default_parameters  # late: an extra
    except ImportError as error:
        raise LabError(Issue("not-installed", "--executor slurm", "submitit is not installed", _INSTALL)) from error
    SlurmJob.watcher = SlurmInfoWatcher(delay_s=ASK_EVERY)
    try:
        # A node need not have the variables of this process (sbatch --export), and no module is taken from the folder.
        python = f"{shlex.quote(sys.executable)} -P"
        executor = AutoExecutor(
            logs, cluster=cluster, slurm_max_num_timeout=REQUEUES, slurm_python=python, local_python=python
        )
        own: dict[str, Any] = {"timeout_min": parameters["time"], "mem_gb": parameters["mem_gb"], "name": "lnlab"}
        own |= {"cpus_per_task": parameters["cpus_per_task"]}
        if cluster == "slurm":
            # Options that submitit knows have a prefix. Others go to sbatch as they are.
            rest = {k: v for k, v in parameters.items() if k not in ("time", "mem_gb", "cpus_per_task")}
            known = set(_get_default_parameters()) | {"signal_delay_s"}
            others = {key.replace("_", "-"): value for key, value in rest.items() if key not in known}
            own |= {"slurm_signal_delay_s": GRACE, "slurm_additional_parameters": {"requeue": True, **others}}
            own |= {f"slurm_{key}": value for key, value in rest.items() if key in known}
        executor.update_parameters(**own)
        with redirect_stderr(StringIO()), executor.batch():  # what sbatch says is in the error as well
            jobs = [executor.submit(ArrayTask(command)) for _ in range(number)]
    except (FailedSubmissionError, FailedJobError, OSError, subprocess.CalledProcessError) as error:
        messages = [line for line in str(error).splitlines() if "rror" in line] or [str(error)]
        remedy = "give the options of your cluster, as --sbatch partition=short"
        raise LabError(
            Issue("unreachable", "--sbatch", f"sbatch refused the tasks: {messages[-1].strip()}", remedy)
        ) from error
    except RuntimeError as error:  # submitit finds no srun
        remedy = "call it on a node from which sbatch works"
        raise LabError(
            Issue("unreachable", "--executor slurm", "SLURM's commands are not on this machine", remedy)
        ) from error
    return SubmittedTasks(jobs, logs)
