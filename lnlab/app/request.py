"""The request of a command, and its plan: compiled anew, or remembered by the store."""

import os
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from lnlab.errors import LabError, SpecError
from lnlab.issues import Issue
from lnlab.keys import digest_bytes
from lnlab.project import read_project
from lnlab.userfiles import read_user_file

if TYPE_CHECKING:
    from lnlab.compile.decisions import Decision
    from lnlab.compile.plan import Plan
    from lnlab.compile.resolve.choices import Registries
    from lnlab.registry import Roots
    from lnlab.specfile.load import SpecDocument
    from lnlab.store.plans import StoredPlan
    from lnlab.store.store import Store


STANDARD_INPUT = Path("<standard input>")
"""The name of a spec that was read there. Its data are looked for in the working folder."""


@dataclass(frozen=True)
class Request:
    """One question, from the command line or from Python.

    Attributes:
        spec: the file, as the user named it. A spec written in Python has its name with ``.yaml``.
        profile: one of its profiles.
        overrides: what ``-s`` gave, left to right.
        plugins: files that register pieces.
        text: a spec written in Python or read from standard input, as YAML. None where the spec is a file.
    """

    spec: Path
    profile: str | None = None
    overrides: tuple[str, ...] = ()
    plugins: tuple[Path, ...] = ()
    text: str | None = None

    @property
    def content(self) -> bytes | None:
        """The bytes of a spec that is no file."""
        return None if self.text is None else self.text.encode()

    def command(self, verb: str) -> str:
        """The command line of another command for the same request, or its call in Python."""
        if self.text is not None:
            return f"lnlab.{verb}(spec)"
        profile = ["--profile", self.profile] if self.profile else []
        overrides = [word for override in self.overrides for word in ("-s", override)]
        plugins = [word for plugin in self.plugins for word in ("--with", str(plugin))]
        return shlex.join(["lnlab", verb, str(self.spec), *profile, *overrides, *plugins])

    @property
    def roots(self) -> "Roots":
        """Where data are looked for: beside the spec first."""
        from lnlab.corpora.files.fetch import data_roots

        return data_roots(self.spec.parent)


def request_for(
    spec: Path, profile: str | None, overrides: Sequence[str], plugins: Sequence[Path], text: str | None = None
) -> Request:
    """The request for a spec, with the profile of its project where none is named and the spec has it.

    An empty profile asks for the spec as it stands.

    Raises:
        LabError: the project file is wrong.
    """
    request = Request(spec=spec, profile=profile or None, overrides=tuple(overrides), plugins=tuple(plugins), text=text)
    if profile is None and (usual := read_project(spec.parent).profile):
        try:
            document, _ = read_document(request)
        except SpecError:  # whoever reads it next says so
            return request
        profiles = document.data.get("profiles") if isinstance(document.data, dict) else None
        if isinstance(profiles, dict) and usual in profiles:
            return replace(request, profile=usual)
    return request


def open_store(folder: Path | None, spec: Path | None = None) -> "Store":
    """Open the store in ``folder``, ``LNLAB_STORE``, the folder that the project of the spec names, or ``.lnlab``.

    The first of these that is given counts. The folder of a report is the store that it holds, to be read alone.

    Raises:
        LabError: the project file is wrong, or a report cannot be read.
        StoreError: a file stands there.
    """
    if folder is None and not os.environ.get("LNLAB_STORE"):
        folder = read_project(Path() if spec is None else spec.parent).store
    from lnlab.store.records.layout import is_report, store_root
    from lnlab.store.store import Store

    root = store_root(folder)
    if is_report(root / "data"):
        from lnlab.report.folder import read_folder

        read_folder(root)  # it may come from anybody: this refuses links and whatever is larger than a report
        root = root / "data"
    return Store(root)


def compile_request(
    request: Request,
    known: "Registries",
    decisions: "Sequence[Decision]" = (),
    *,
    assume_data: bool = False,
    other_profiles: bool = True,
) -> "tuple[Plan, SpecDocument]":
    """The plan of a request under the decisions so far, with the document that it was compiled from.

    Args:
        request: spec, profile, overrides and plugins.
        known: the registries of both wings.
        decisions: choices made on tuning seeds so far.
        assume_data: whether a corpus that says how long an epoch is may be absent.
        other_profiles: whether the lines of the profiles that are not chosen are checked as well.

    Raises:
        SpecError: every problem of the spec at once.
    """
    from lnlab.compile.plan import compile_plan

    document, faults = read_document(request)
    if "results" in document.data:
        what = "its results are a table: there is nothing to plan, compute or store"
        remedy = "lnlab check, run, report, lock, verify and paper take it"
        raise SpecError(Issue("unsupported", document.where(("results",), key=True), what, remedy))
    places = {fault.where for fault in faults}
    try:
        plan = compile_plan(
            document,
            known,
            request.roots,
            profile=request.profile,
            overrides=request.overrides,
            plugins=_digests(request.plugins),
            decisions=decisions,
            assume_data=assume_data,
            other_profiles=other_profiles,
        )
    except SpecError as error:  # a faulty value is reported once, as what it is
        raise SpecError(*faults, *(problem for problem in error.issues if problem.where not in places)) from error
    if faults:
        raise SpecError(*faults)
    return plan, document


def judged_plan(request: Request, known: "Registries", plan: "Plan", *, assume_data: bool = False) -> "Plan":
    """The plan of the runs that are judged. For each choice that ``plan`` still has to make, a value is assumed."""
    from lnlab.compile.decisions import assumed_decision

    if not plan.undecided:
        return plan
    decisions = [*plan.decisions, *map(assumed_decision, plan.undecided)]
    return compile_request(request, known, decisions, assume_data=assume_data, other_profiles=False)[0]


def read_document(request: Request) -> "tuple[SpecDocument, list[Issue]]":
    """The spec of a request as far as it can be read, and what is wrong with its text.

    Raises:
        SpecError: it cannot be read at all.
    """
    from lnlab.specfile.load import read_spec_text

    text = read_spec_text(request.spec) if request.text is None else request.text
    document, faults = _parsed(text, request.spec)
    in_memory = request.text is not None and request.spec != STANDARD_INPUT
    return replace(document, in_memory=in_memory), list(faults)


@lru_cache(maxsize=1)  # a command reads its spec once for each profile
def _parsed(text: str, path: Path) -> "tuple[SpecDocument, list[Issue]]":
    from lnlab.specfile.load import parse_leniently

    return parse_leniently(text, path)


def remembered_plan(store: "Store", request: Request) -> "StoredPlan | None":
    """The plan of the same question, if the store has it and nothing behind it has changed. Compiles nothing."""
    from lnlab.compile.digests import quick_digest

    quick = quick_digest(
        request.spec,
        request.profile,
        request.overrides,
        roots=request.roots,
        plugins=_digests(request.plugins),
        content=request.content,
    )
    return store.remembered(quick) if quick else None


def refuse_absent_profile(request: Request) -> None:
    """Refuse a profile that the spec lacks, so that no remedy names one that cannot be run.

    A spec that cannot be read is reported by its reader.

    Raises:
        LabError: the spec has no such profile.
    """
    from lnlab.compile.sweep.overlay import unknown_profile

    profile = request.profile
    if profile is None:
        return
    try:
        document, faults = read_document(request)
    except SpecError:
        return
    if faults:
        return
    profiles = document.data.get("profiles") or {}
    if isinstance(profiles, dict) and profile not in profiles:
        raise LabError(replace(unknown_profile(profile, profiles), place=f"--profile {profile}"))


def _digests(plugins: Sequence[Path]) -> tuple[str, ...]:
    return tuple(digest_bytes(read_user_file(path, "plugin")) for path in plugins)
