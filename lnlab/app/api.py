"""The commands as functions: ``lnlab.check``, ``plan``, ``run``, ``judge``, ``report`` and ``results``.

Each takes a spec as a path or as a dict and does what the command of that name does, with the same keys and verdicts.
What a user can put right is raised as an error of ``lnlab.errors``, one line a problem.

    print(lnlab.run("first.yaml", overrides={"seeds": 5}).verdicts)
"""

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from lnlab.app.python_request import Folder, OverrideValues, SpecSource, request_of
from lnlab.app.request import open_store
from lnlab.app.stored_plans import stored_plan
from lnlab.committed.registries import load_registries
from lnlab.errors import SpecError
from lnlab.printable import printable

if TYPE_CHECKING:
    from lnlab.app.planning.checks import Checked
    from lnlab.app.planning.summary import PlanSummary
    from lnlab.app.spec_runs import Run
    from lnlab.claims.verdicts import Verdicts
    from lnlab.outside.own_model.measured import Measurements
    from lnlab.report.write import Report


def check(
    spec: SpecSource,
    *,
    profile: str | None = None,
    overrides: OverrideValues = (),
    plugins: Sequence[str | Path] = (),
) -> "Checked":
    """Check a spec and build its models without memory: a summary per profile, of all profiles if none is named.

    Example: ``lnlab.check("first.yaml")[0].runs``

    Args:
        spec: a path, a dict, or an ``lnlab.Spec``.
        profile: one of its profiles.
        overrides: what ``-s`` gives, as ``{"model.layers": 12}`` or ``["model.layers=12"]``.
        plugins: Python files that register pieces.

    Raises:
        SpecError: every problem at once.
    """
    from lnlab.app.planning.checks import Checked, check_profiles

    request = request_of(spec, profile, overrides, plugins)
    summaries, problems = check_profiles(request, load_registries(request.plugins))
    if problems:
        raise SpecError(*problems)
    return Checked(summaries)


def plan(
    spec: SpecSource,
    *,
    profile: str | None = None,
    overrides: OverrideValues = (),
    plugins: Sequence[str | Path] = (),
    store: Folder = None,
    workers: int | None = None,
) -> "PlanSummary":
    """What a run would compute, what the store has of it already, and what it costs.

    Example: ``lnlab.plan("first.yaml").measurements.missing``

    Args:
        spec: a path, a dict, or an ``lnlab.Spec``.
        profile: one of its profiles.
        overrides: as for ``check``.
        plugins: Python files that register pieces.
        store: a folder. The default is ``LNLAB_STORE``, else ``.lnlab`` in the working folder.
        workers: assumed for the time. None means as many as cores.

    Raises:
        LabError: every problem of the spec at once, or a corpus that is absent.
    """
    from lnlab.app.planning.summary import plan_request

    request = request_of(spec, profile, overrides, plugins)
    return plan_request(request, open_store(_path(store), request.spec), workers=workers)


def run(
    spec: SpecSource,
    *,
    profile: str | None = None,
    overrides: OverrideValues = (),
    plugins: Sequence[str | Path] = (),
    store: Folder = None,
    workers: int | None = None,
    retry_failed: bool = False,
    save_every: float = 60.0,
    progress: bool = True,
    executor: str = "local",
    address: str | None = None,
    decide: bool = False,
    minutes: float | None = None,
    max_memory: float | None = None,
    tasks: int | None = None,
    sbatch: Sequence[str] = (),
    wait: bool = True,
) -> "Run":
    """Compute what is missing and judge the claims. What is finished is never computed again.

    Example: ``lnlab.run("first.yaml", workers=2).verdicts[0].verdict``

    Args:
        spec: a path, a dict, or an ``lnlab.Spec``.
        profile: one of its profiles.
        overrides: as for ``check``.
        plugins: Python files that register pieces.
        store: a folder. The default is ``LNLAB_STORE``, else ``.lnlab`` in the working folder.
        workers: processes. None means as many as cores.
        retry_failed: try again what failed before.
        save_every: seconds of training between two checkpoints.
        progress: show it: bars on a terminal and in a notebook, else lines on standard error.
        executor: ``local``, ``slurm`` (tasks of an array that share the store) or ``ray`` (the nodes of a Ray cluster).
        address: of that cluster. None means ``RAY_ADDRESS``, or this process's connection, else one of this machine.
        decide: run further seeds as well, where they decide most claims a minute. Each is judged at the level of a
            further look.
        minutes: that all of it may take, with ``decide``. None means until all is decided that can be.
        max_memory: gigabytes that all workers together may have.
        tasks: of a SLURM array, each with ``workers`` processes (by default one).
        sbatch: its parameters, as ``["partition=short", "time=60"]``.
        wait: whether to wait for it. Otherwise nothing is judged yet.

    Returns:
        The measurements of all runs of the spec, new and old, as of ``lnlab.results``. ``computed`` and ``reused``
        count units, ``failures`` lists runs that did not finish.

    Raises:
        LabError: what is wrong with the spec, a corpus, the store or the cluster.
        KeyboardInterrupt: what has begun is kept, and the same call goes on from there.
    """
    from lnlab.app.run_options import RunOptions
    from lnlab.app.running import failed_runs, run_request
    from lnlab.app.spec_runs import run_of
    from lnlab.consoles import stderr_console

    request = request_of(spec, profile, overrides, plugins)
    opened = open_store(_path(store), request.spec)
    options = RunOptions(
        console=stderr_console(),
        quiet=not progress,
        workers=workers,
        retry_failed=retry_failed,
        save_every=save_every,
        executor=executor,
        address=address,
        decide=decide,
        minutes=minutes,
        max_memory=max_memory,
        tasks=tasks,
        sbatch=sbatch,
        wait=wait,
    )
    outcome = run_request(opened, request, options)
    if outcome.summary.interrupted:
        raise KeyboardInterrupt("what has begun is kept; the same call goes on from there")
    if failed := failed_runs(outcome.failures):
        told = f"{len(failed):,} of {outcome.results.runs.height:,} runs failed"
        warnings.warn(f"{told}; of the first: {printable(str(failed[0]['reason']))}; see .failures", stacklevel=2)
    return run_of(outcome, opened)


def judge(
    spec: SpecSource,
    *,
    profile: str | None = None,
    overrides: OverrideValues = (),
    plugins: Sequence[str | Path] = (),
    store: Folder = None,
) -> "Verdicts":
    """The verdicts of the claims of a spec that was run, in its order. Nothing is computed.

    Example: ``[verdict.verdict for verdict in lnlab.judge("first.yaml")]``

    Args:
        spec: a path, a dict, or an ``lnlab.Spec``.
        profile: one of its profiles.
        overrides: as for ``check``.
        plugins: Python files that register pieces.
        store: a folder. The default is ``LNLAB_STORE``, else ``.lnlab`` in the working folder.

    Raises:
        LabError: the spec was never run in this store, or a claim is wrong.
    """
    from lnlab.app.spec_runs import SpecRuns
    from lnlab.claims.verdicts import Verdicts

    request = request_of(spec, profile, overrides, plugins)
    opened = open_store(_path(store), request.spec)
    return Verdicts(SpecRuns(opened, stored_plan(opened, request), request).verdicts())


def report(
    spec: SpecSource,
    *,
    profile: str | None = None,
    overrides: OverrideValues = (),
    plugins: Sequence[str | Path] = (),
    store: Folder = None,
    out: Folder = None,
    single_file: bool = False,
    lean: bool = False,
    png: bool = False,
    replace: bool = False,
) -> "Report":
    """Write page, notebook, figures and tables of a spec that was run. Nothing is computed.

    Example: ``lnlab.report("first.yaml", out="pages/first").files[0]``

    Args:
        spec: a path, a dict, or an ``lnlab.Spec``.
        profile: one of its profiles.
        overrides: as for ``check``.
        plugins: Python files that register pieces.
        store: a folder. The default is ``LNLAB_STORE``, else ``.lnlab`` in the working folder.
        out: the folder. The default is ``reports/<spec>/<profile>``.
        single_file: write the page as one file.
        lean: write the page and its data alone, as a repository keeps them.
        png: write every figure as PNG as well.
        replace: write over the report of another question as well.

    Returns:
        The files, the page first, and the sections that could not be made.

    Raises:
        LabError: the spec was never run in this store, or the folder cannot be written.
    """
    from lnlab.app.spec_runs import SpecRuns
    from lnlab.report.drawing import Drawing

    request = request_of(spec, profile, overrides, plugins)
    opened = open_store(_path(store), request.spec)
    drawing = Drawing(single_file=single_file, lean=lean, png=png)
    return SpecRuns(opened, stored_plan(opened, request), request).write(_path(out), drawing=drawing, replace=replace)


def results(
    spec: SpecSource,
    *,
    profile: str | None = None,
    overrides: OverrideValues = (),
    plugins: Sequence[str | Path] = (),
    store: Folder = None,
) -> "Measurements":
    """The measurements that the store has of a spec as it is now. Nothing is computed.

    Example: ``lnlab.results("first.yaml").frame("gradient_norm")``

    Args:
        spec: a path, a dict, an ``lnlab.Spec``, the folder of a report, whose page uses these rows, or the folder of
            recorded runs. A table that a spec names is read, and of a report or of recorded runs all other arguments
            mean nothing.
        profile: one of its profiles.
        overrides: as for ``check``.
        plugins: Python files that register pieces.
        store: a folder. The default is ``LNLAB_STORE``, else ``.lnlab`` in the working folder.

    Raises:
        LabError: the spec cannot be read, or was never run in this store.
    """
    from lnlab.app.spec_runs import runs_of_request

    if isinstance(spec, str | Path):
        from lnlab.app.results_file import recorded_measurements

        if (found := recorded_measurements(Path(spec))) is not None:
            return found
    return runs_of_request(request_of(spec, profile, overrides, plugins), _path(store)).measurements()


def _path(folder: Folder) -> Path | None:
    return None if folder is None else Path(folder)
