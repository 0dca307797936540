"""Specs whose results are a table from elsewhere: nothing of them is planned, computed or stored."""

import re
from pathlib import Path
from typing import TYPE_CHECKING

from lnlab.errors import LabError

if TYPE_CHECKING:
    from lnlab.own_model.table_spec import TableSpec


def states_results(path: Path) -> bool:
    """Whether a file is a spec with ``results``; one that cannot be read is none, and others say why."""
    from lnlab.specfile.load import parse_leniently, read_spec_text  # commands import this file before they know

    try:
        text = read_spec_text(path)
        return text_states_results(text) and "results" in parse_leniently(text, path)[0].data
    except LabError:
        return False


def text_states_results(text: str) -> bool:
    """Whether the text of a spec has the key ``results``, without reading the rest of it."""
    return re.search(r"(?m)^results\s*:", text) is not None


def table_spec(path: Path) -> "TableSpec":
    """Such a spec, with its table.

    Raises:
        LabError: as ``own_model.table_spec.read_table_spec``.
    """
    from lnlab.own_model.table_spec import read_table_spec

    return read_table_spec(path)
