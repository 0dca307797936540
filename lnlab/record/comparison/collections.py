"""Two commits or two stores: everything in them that has the same name compared, as one list of differences."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from lnlab.errors import LabError
from lnlab.issues import Issue
from lnlab.record.comparison.differences import Comparison, SideDifference, compare
from lnlab.record.comparison.revisions import commit_of, locks_of_commit
from lnlab.record.comparison.sides import Side, read_side, side_of_rows
from lnlab.report.words.wording import count_noun
from lnlab.store.plans import StoredPlan, plans_newest_first
from lnlab.store.store import Store

_PRESENT, _ABSENT = "is there", "–"


@dataclass(frozen=True)
class NamedSide:
    """Something in a commit or a store that can be compared.

    Attributes:
        identity: equal where nothing can differ.
        read: what it says, in a block.
    """

    identity: str
    read: Callable[[], AbstractContextManager[Side]]


@dataclass(frozen=True)
class Collection:
    """A commit with its locks, or a store with its experiments.

    Attributes:
        label: as the user named it.
        kind: ``commit`` or ``store``.
        noun: of a member.
        members: by name.
    """

    label: str
    kind: str
    noun: str
    members: Mapping[str, NamedSide]


def collection(name: str) -> Collection | None:
    """The commit or the store of this name, or None if it names neither.

    Raises:
        LabError: git cannot read the commit, or the store cannot be read.
    """
    if (Path(name) / "plans").is_dir():
        store = Store(Path(name).absolute())
        plans: dict[str, StoredPlan] = {}  # those that judge something, each as it was used last
        for plan in plans_newest_first(store.root):
            if not plan.undecided:
                profile = [f"--profile {plan.profile}"] if plan.profile else []
                overrides = [f"-s {override}" for override in plan.overrides]
                plans.setdefault(" ".join([plan.name, *profile, *overrides]), plan)

        @contextmanager
        def read(experiment: str) -> Iterator[Side]:
            plan = plans[experiment]
            yield side_of_rows(str(store.root), plan.name, plan.profile, store.results(plan.digest))

        experiments = {
            # Bound here: the variable of the loop goes on to the last.
            experiment: NamedSide("", lambda experiment=experiment: read(experiment))  # type: ignore[misc]
            for experiment in plans
        }
        return Collection(name, "store", "experiment", experiments)
    commit = None if Path(name).exists() else commit_of(name)
    if commit is None:
        return None
    members = {
        path: NamedSide(blob, lambda path=path: read_side(f"{name}:{path}", None))  # type: ignore[misc]
        for path, blob in locks_of_commit(commit).items()
    }
    return Collection(name, "commit", "lock", members)


def compare_collections(a: Collection, b: Collection) -> Comparison:
    """What only one of two collections has, and in what the others differ, those with the fewest differences first.

    Raises:
        LabError: one is a commit and the other a store.
    """
    if a.kind != b.kind:
        raise LabError(Issue("not-found", b.label, f"is no {a.kind}", f"compare {a.label} with another {a.kind}"))
    names = sorted(a.members.keys() | b.members.keys())
    alone = tuple(
        SideDifference(
            name,
            a=_PRESENT if name in a.members else _ABSENT,
            b=_PRESENT if name in b.members else _ABSENT,
        )
        for name in names
        if not (name in a.members and name in b.members)
    )
    differences: dict[str, tuple[SideDifference, ...]] = {f"{a.noun}s": alone} if alone else {}
    not_compared: dict[str, str] = {}
    parts: list[tuple[str, Comparison]] = []
    for name in (name for name in names if name in a.members and name in b.members):
        first, second = a.members[name], b.members[name]
        if first.identity and first.identity == second.identity:
            continue
        try:
            with first.read() as one, second.read() as other:
                parts.append((Path(name).stem if a.kind == "commit" else name, compare(one, other)))
        except LabError as error:
            not_compared[name] = str(error.issues[0])
    provenance: list[SideDifference] = []
    for title, part in sorted(parts, key=lambda named: sum(map(len, named[1].differences.values()))):
        for kind, entries in part.differences.items():
            differences[kind] = (*differences.get(kind, ()), *_prefixed(title, entries))
        provenance += _prefixed(title, part.provenance)
        not_compared = {**part.not_compared, **not_compared}  # the reason of the first
    return Comparison(
        a=a.label,
        b=b.label,
        differences={kind: differences[kind] for kind in sorted(differences, key=lambda kind: len(differences[kind]))},
        not_compared=not_compared,
        provenance=tuple(provenance),
        compared=count_noun(len(names), a.noun),
    )


def _prefixed(title: str, entries: tuple[SideDifference, ...]) -> Iterator[SideDifference]:
    return (replace(entry, where=f"{title}: {entry.where}") for entry in entries)
