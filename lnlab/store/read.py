"""``lnlab.results("specs/x.yaml")``: what an experiment found, as frames, without torch."""

from pathlib import Path

from lnlab.errors import LabError, Problem, StoreError
from lnlab.keys import digest_bytes
from lnlab.store.plans import Stored, newest_first
from lnlab.store.records.layout import store_root
from lnlab.store.store import Store
from lnlab.tables import Results
from lnlab.userfiles import LARGEST_SPEC, read_user_file


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

    A spec is what it says: one that was run from another folder is found, if none of this file is there.

    Raises:
        StoreError: the spec cannot be read, was never run here, or was changed since.
    """
    command = f"lnlab run {spec}" + (f" --profile {profile}" if profile else "")
    try:
        text = digest_bytes(read_user_file(spec, "spec", LARGEST_SPEC))
    except LabError as error:
        raise StoreError(*error.problems) from error
    known = [stored for stored in newest_first(root) if stored.profile == profile]
    same = [stored for stored in known if stored.text == text]
    here = [stored for stored in known if _is(stored, spec)]
    if same:
        return min(same, key=lambda stored: (stored not in here, bool(stored.overrides)))
    if here:
        raise StoreError(Problem(str(spec), "was changed since it was run", f"{command}: what is finished is kept"))
    raise StoreError(Problem(str(spec), f"was never run in the store {root}", f"{command}, or name another store"))


def _is(stored: Stored, spec: Path) -> bool:
    """Whether a plan was made from this file, which may have been reached by links."""
    return bool({stored.spec, str(Path(stored.spec).resolve())} & {str(spec.absolute()), str(spec.resolve())})
