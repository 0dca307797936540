"""``lnlab.results("specs/x.yaml")``: what an experiment found, as frames, without torch."""

from collections.abc import Iterator
from pathlib import Path

from lnlab.errors import Problem, StoreError
from lnlab.keys import digest_bytes
from lnlab.store.layout import store_root
from lnlab.store.plans import Stored, newest_first
from lnlab.store.store import Store
from lnlab.tables import Results


def results(spec: str | Path, store: str | Path | None = None, profile: str | None = None) -> Results:
    """The joined results of the last run of a spec as it is now.

    Args:
        spec: the spec's file.
        store: the store; without it ``LNLAB_STORE``, else ``.lnlab`` in the current folder.
        profile: one of the spec's profiles.

    Raises:
        StoreError: the spec cannot be read, was never run here, or was changed since.
    """
    root = store_root(Path(store) if store is not None else None)
    return Store(root).results(find(root, Path(spec), profile).digest)


def find(root: Path, spec: Path, profile: str | None = None) -> Stored:
    """The plan of a spec as it is now, the one used last; one made without ``-s`` where there is one.

    Raises:
        StoreError: the spec cannot be read, was never run here, or was changed since.
    """
    command = f"lnlab run {spec}" + (f" --profile {profile}" if profile else "")
    try:
        text = digest_bytes(spec.read_bytes())
    except OSError as error:
        raise StoreError(Problem(str(spec), (error.strerror or str(error)).lower(), "give the spec's file")) from error
    known = list(_of(root, spec, profile))
    if not known:
        raise StoreError(Problem(str(spec), f"was never run in the store {root}", f"{command}, or name another store"))
    same = [stored for stored in known if stored.text == text]
    if not same:
        raise StoreError(Problem(str(spec), "was changed since it was run", f"{command}: what is finished is kept"))
    return next((stored for stored in same if not stored.overrides), same[0])


def _of(root: Path, spec: Path, profile: str | None) -> Iterator[Stored]:
    where = {str(spec.absolute()), str(spec.resolve())}
    return (s for s in newest_first(root) if s.profile == profile and {s.spec, str(Path(s.spec).resolve())} & where)
