"""The commands as functions: ``lnlab.check``, ``plan``, ``judge``, ``report`` and ``results``. ``running`` has ``run``.

Each takes a spec as a path or as a dict and does what the command of that name does, with the same keys and verdicts.
What a user can put right is raised as an error of ``lnlab.errors``, one line a problem.

    print(lnlab.run("first.yaml", overrides={"seeds": 5}).verdicts)
"""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from lnlab.app.python_request import Folder, OverrideValues, SpecSource, request_of
from lnlab.app.request import open_store
from lnlab.app.stored_plans import stored_plan
from lnlab.errors import SpecError, StoreError
from lnlab.record.registries import load_registries

if TYPE_CHECKING:
    from lnlab.app.planning.checks import SpecSummary
    from lnlab.app.planning.summary import PlanSummary
    from lnlab.claims.verdicts import Verdicts
    from lnlab.report.tidy_results import TidyResults
    from lnlab.report.write import Report


def check(
    spec: SpecSource,
    *,
    profile: str | None = None,
    overrides: OverrideValues = (),
    plugins: Sequence[str | Path] = (),
) -> "tuple[SpecSummary, ...]":
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
    from lnlab.app.planning.checks import check_profiles

    request = request_of(spec, profile, overrides, plugins)
    summaries, problems = check_profiles(request, load_registries(request.plugins))
    if problems:
        raise SpecError(*problems)
    return tuple(summaries)


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
    from lnlab.claims.verdicts import Verdicts
    from lnlab.record.evidence import plan_results
    from lnlab.record.judging import plan_verdicts

    request = request_of(spec, profile, overrides, plugins)
    opened = open_store(_path(store), request.spec)
    stored = stored_plan(opened, request)
    return Verdicts(plan_verdicts(opened, stored, plan_results(opened, stored), request.plugins))


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
    templates: Folder = None,
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
        templates: a folder whose templates come before those of lnlab.
        replace: write over the report of another question as well.

    Returns:
        The files, the page first, and the sections that could not be made.

    Raises:
        LabError: the spec was never run in this store, or the folder cannot be written.
    """
    from lnlab.app.reporting import plan_report_folder, write_plan_report
    from lnlab.report.drawing import Drawing

    request = request_of(spec, profile, overrides, plugins)
    opened = open_store(_path(store), request.spec)
    stored = stored_plan(opened, request)
    return write_plan_report(
        opened,
        stored,
        _path(out) or plan_report_folder(stored),
        request.plugins,
        request.spec if request.text is None else None,
        drawing=Drawing(single_file=single_file, lean=lean, png=png, templates=_path(templates)),
        replace=replace,
    )


def results(
    spec: SpecSource,
    *,
    profile: str | None = None,
    overrides: OverrideValues = (),
    plugins: Sequence[str | Path] = (),
    store: Folder = None,
) -> "TidyResults":
    """The joined results of the runs that the store has of a spec as it is now.

    Example: ``lnlab.results("first.yaml").frame("gradient_norm")``

    Args:
        spec: a path, a dict, an ``lnlab.Spec``, the folder of a report, whose page uses these rows, or the folder of
            recorded runs.
        profile: one of its profiles.
        overrides: as for ``check``.
        plugins: Python files that register pieces.
        store: a folder. The default is ``LNLAB_STORE``, else ``.lnlab`` in the working folder.

    Raises:
        LabError: the spec cannot be read, or was never run in this store.
    """
    from lnlab.report.tidy_results import TidyResults
    from lnlab.store.plans import find_plan

    if isinstance(spec, str | Path):
        from lnlab.app.results_file import recorded_results

        if (found := recorded_results(Path(spec))) is not None:
            return TidyResults.of(found[0])
    request = request_of(spec, profile, overrides, plugins)
    opened = open_store(_path(store), request.spec)
    if not request.overrides:  # the same text is found without the compiler, and so without pydantic
        with suppress(StoreError):
            stored = find_plan(opened.root, request.spec, profile, content=request.content)
            return TidyResults.of(opened.results(stored.digest))
    return TidyResults.of(opened.results(stored_plan(opened, request).digest))


def _path(folder: Folder) -> Path | None:
    return None if folder is None else Path(folder)
