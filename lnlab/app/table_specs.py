"""Specs whose results are a table from elsewhere: nothing of them is planned, computed or stored."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from lnlab.errors import LabError
from lnlab.issues import Issue

if TYPE_CHECKING:
    from lnlab.outside.own_model.table_spec import TableSpec


def states_results(path: Path, text: str | None = None) -> bool:
    """Whether a file, or this text of it, is a spec with ``results``.

    False for a file that cannot be read, which is reported elsewhere.
    """
    from lnlab.specfile.load import (
        parse_leniently,
        read_spec_text,
        text_states_results,
    )  # commands import this file before they know

    try:
        text = read_spec_text(path) if text is None else text
        return text_states_results(text) and "results" in parse_leniently(text, path)[0].data
    except LabError:
        return False


def table_spec(path: Path, text: str | None = None) -> "TableSpec":
    """Such a spec, in a file or as text, with its table.

    Raises:
        LabError: as ``own_model.table_spec.read_table_spec``.
    """
    from lnlab.outside.own_model.table_spec import read_table_spec

    return read_table_spec(path, text)


def refuse_overrides(path: Path, profile: str | None, overrides: Sequence[str]) -> None:
    """Refuse a profile, or an override, of such a spec.

    Raises:
        LabError: one is given.
    """
    for option, given in (("--profile", profile), ("-s", overrides)):
        if given:
            what = f"{option} changes what is computed, and the results of this spec are a table"
            raise LabError(Issue("wrong-option", str(path), what, f"leave {option} out"))
