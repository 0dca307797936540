"""Folders to write into, and those of the real corpora."""

import os
from pathlib import Path

import pytest

from lnlab.registry import Roots

DATA = tuple(Path(folder).absolute() for folder in os.environ.get("LNLAB_DATA", "").split(os.pathsep) if folder)


@pytest.fixture(scope="session")
def roots(tmp_path_factory) -> Roots:
    """A folder in which anything may be written, and those of the real corpora."""
    return (tmp_path_factory.mktemp("roots"), *DATA)
