"""The modules beside this one can be imported by the tests; everything is registered."""

import sys
from pathlib import Path

import lnlab.catalogue  # noqa: F401 - registers everything

sys.path.insert(0, str(Path(__file__).parent))
