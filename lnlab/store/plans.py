"""Plans as they are stored: three tables, and ``plan.json`` with their digests, written last.

A remembered plan is read without the modules that compiled it, so that a rerun with nothing to do is quick.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from lnlab.compile.digests import Input, PlanIdentity
from lnlab.errors import LabError, StoreError
from lnlab.issues import Issue
from lnlab.keys import Json, canonical, digest_bytes
from lnlab.select.axes import axes_frame
from lnlab.store import files
from lnlab.store.records.checksummed import (
    CorruptFile,
    from_checksummed_json,
    read_bytes,
    read_checked,
    to_checksummed_json,
    well_formed,
)
from lnlab.store.records.layout import FACTS_FILE, is_report, plan_folder, refuse_report
from lnlab.tables import encode_parquet, table_schema
from lnlab.userfiles import LARGEST_SPEC, parse_json, read_user_file

if TYPE_CHECKING:
    from lnlab.compile.plan import Plan

PLAN_FILE = "plan.json"
PLANS_FOLDER = "plans"
TABLES_OF_PLAN = ("runs", "axes", "needs")


@dataclass(frozen=True, kw_only=True)
class StoredPlan(PlanIdentity):
    """What the store remembers of a plan. Its runs, axes and needs lie in tables beside it.

    It is a value of its own, as no ``Plan`` can be made of it: that needs the code, the plug-ins and the corpora of the
    day, and a store is read years later, or by a command that must not wait for a compiler. It therefore holds the
    identity of the plan and nothing else of its fields. ``facts`` are what the commands derived from the plan by then.

    Attributes:
        spec: the spec's absolute path.
        text: the SHA-256 of the spec's file.
        facts: whatever else the command line wants to find again.
        files: table file -> SHA-256.
        undecided: whether its runs are still to choose, and other runs will be judged.
    """

    spec: str
    text: str
    facts: Json
    files: Mapping[str, str]
    undecided: bool = False

    def asks_the_same(self, other: "StoredPlan") -> bool:
        """Whether both are stages of one question: the same spec, profile and overrides."""
        return (self.text, self.profile, self.overrides) == (other.text, other.profile, other.overrides)


@dataclass(frozen=True)
class HeldPlan:
    """A plan that could not be stored, as the store is read-only or its disk is full. Its runs can still be read.

    Attributes:
        stored: the plan as it would have been stored.
        tables: ``runs``, ``axes`` and ``needs``.
        error: why it could not be stored.
    """

    stored: StoredPlan
    tables: Mapping[str, pl.DataFrame]
    error: StoreError


def hold_plan(plan: "Plan", spec: Path, facts: Json, content: bytes | None, error: StoreError) -> HeldPlan:
    """A plan as ``save_plan`` would have stored it. ``error`` says why it did not."""
    tables = plan_frames(plan)
    return HeldPlan(_as_stored(plan, spec, facts, content, {}), tables, error)


def save_plan(root: Path, plan: "Plan", spec: Path, facts: Json = None, *, content: bytes | None = None) -> StoredPlan:
    """Store a plan: its tables first, then ``plan.json``, which makes it visible.

    Args:
        root: the store.
        plan: the plan.
        spec: the spec's file, or the name of a spec that is none.
        facts: what is wanted again with the plan.
        content: that of a spec which is no file.

    Raises:
        StoreError: the store cannot be written.
    """
    refuse_report(root)
    folder = plan_folder(root, plan.digest)
    files.make_folder(folder)
    digests = {}
    for table, rows in plan_frames(plan).items():
        encoded = encode_parquet(rows)
        files.replace(folder / f"{table}.parquet", encoded)
        digests[f"{table}.parquet"] = digest_bytes(encoded)
    stored = _as_stored(plan, spec, facts, content, digests)
    files.replace(folder / PLAN_FILE, to_checksummed_json(asdict(stored)))
    return stored


def _as_stored(plan: "Plan", spec: Path, facts: Json, content: bytes | None, digests: Mapping[str, str]) -> StoredPlan:
    identity = {field.name: getattr(plan, field.name) for field in fields(PlanIdentity)}
    return StoredPlan(
        **identity,
        spec=str(spec.absolute()),
        text=digest_bytes(read_user_file(spec, "spec", LARGEST_SPEC) if content is None else content),
        facts=facts,
        files=digests,
        undecided=bool(plan.undecided),
    )


def load_plan(root: Path, digest: str) -> StoredPlan:
    """A remembered plan.

    Raises:
        CorruptFile: it is missing, or not what was stored.
    """
    path = plan_folder(root, digest) / PLAN_FILE
    stored = from_checksummed_json(read_bytes(path), path)
    with well_formed(path):
        if stored["digest"] != digest:
            raise CorruptFile(f"{path} belongs to another plan")
        stored["overrides"] = tuple(stored["overrides"])
        stored["inputs"] = tuple(Input(**entry) for entry in stored["inputs"])
        if is_report(root):  # it says there what its page says
            stored["facts"]["report"] = parse_json(read_bytes(root / FACTS_FILE))
        return StoredPlan(**stored)


def plans_newest_first(root: Path) -> Iterator[StoredPlan]:
    """Every intact plan, the one used last first."""
    modified = []
    for path in (root / "plans").glob(f"*/{PLAN_FILE}"):
        try:
            modified.append((path.stat().st_mtime_ns, path.parent.name))  # it may be removed since it was listed
        except OSError:
            continue
    for _, digest in sorted(modified, reverse=True):
        try:
            yield load_plan(root, digest)
        except CorruptFile:
            continue


def find_plan(root: Path, spec: Path, profile: str | None = None, *, content: bytes | None = None) -> StoredPlan:
    """Return the plan of the current text of a spec that was used last, preferably one without ``-s``.

    A spec is its text: a plan of the same text from another file counts where there is none from this one. ``content``
    is that of a spec which is no file.

    Raises:
        StoreError: the spec cannot be read, was never run here, or was changed since.
    """
    command = f"lnlab run {spec}" + (f" --profile {profile}" if profile else "")
    try:
        text = digest_bytes(read_user_file(spec, "spec", LARGEST_SPEC) if content is None else content)
    except LabError as error:
        raise StoreError(*error.issues) from error
    candidates = [stored for stored in plans_newest_first(root) if stored.profile == profile]
    same_text = [stored for stored in candidates if stored.text == text]
    paths = {str(spec.absolute()), str(spec.resolve())}  # it may have been reached by links, then or now
    same_file = [stored for stored in candidates if paths & {stored.spec, str(Path(stored.spec).resolve())}]
    if same_text:
        return min(same_text, key=lambda stored: (stored not in same_file, bool(stored.overrides)))
    if same_file:
        raise StoreError(
            Issue("differs", str(spec), "was changed since it was run", f"{command}: what is finished is kept")
        )
    raise StoreError(
        Issue("not-run", str(spec), f"was never run in the store {root}", f"{command}, or name another store")
    )


def in_plan_order(root: Path, trajectories: set[str]) -> list[str]:
    """Trajectories in the order of the plan used last, then of the one before: what is read together lies together.

    Those that no plan names come last, by key.
    """
    ordered: dict[str, None] = {}
    for stored in plans_newest_first(root):
        if ordered.keys() >= trajectories:
            break
        with suppress(CorruptFile):
            ordered |= dict.fromkeys(plan_tables(root, stored)["runs"]["trajectory"])
    return [*(key for key in ordered if key in trajectories), *sorted(trajectories - ordered.keys())]


def damaged_plans(root: Path) -> list[str]:
    """One sentence for each plan that is not what was stored."""
    messages = []
    for path in sorted((root / "plans").glob("*")):
        try:
            load_plan(root, path.name)
        except CorruptFile as error:
            messages.append(str(error))
    return messages


def plan_tables(root: Path, stored: StoredPlan) -> dict[str, pl.DataFrame]:
    """``runs``, ``axes`` and ``needs`` of a plan.

    Raises:
        CorruptFile: one of them is not what was stored.
    """
    folder = plan_folder(root, stored.digest)
    names = {table: f"{table}.parquet" for table in TABLES_OF_PLAN}
    return {
        table: pl.read_parquet(BytesIO(read_checked(folder / name, stored.files[name]))).select(
            table_schema(table).names()
        )
        for table, name in names.items()
    }


def is_intact(root: Path, stored: StoredPlan) -> bool:
    """Whether its tables are what was stored."""
    try:
        plan_tables(root, stored)
    except CorruptFile:
        return False
    return True


def plan_frames(plan: "Plan") -> dict[str, pl.DataFrame]:
    """``runs``, ``axes`` and ``needs`` of a plan, stored or not."""
    settings = {variant: canonical(setting) for variant, setting in plan.settings.items()}
    runs = [(run.key, run.trajectory, run.steps, run.variant, run.seed, settings[run.variant]) for run in plan.runs]
    texts: dict[int, str] = {}  # one choice serves many runs: its text is made once
    needs = []
    for run_key, step, probe, measurement in plan.needs:
        if id(probe) not in texts:
            texts[id(probe)] = canonical(probe)
        needs.append((run_key, step, texts[id(probe)], measurement))
    return {
        "runs": pl.DataFrame(runs, schema=table_schema("runs"), orient="row"),
        "axes": axes_frame(plan.points, ((run.key, run.variant) for run in plan.runs)),
        "needs": pl.DataFrame(needs, schema=table_schema("needs"), orient="row"),
    }
