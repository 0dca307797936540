"""The plan of the last run of a spec as it is now, without torch and without the compiler."""

from pathlib import Path

from lnlab.errors import LabError, StoreError
from lnlab.issues import Issue
from lnlab.keys import digest_bytes
from lnlab.store.plans import StoredPlan, plans_newest_first
from lnlab.userfiles import LARGEST_SPEC, read_user_file


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
