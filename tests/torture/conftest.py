"""The modules of this folder, and the toys of the store and of the workers, are found by name."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.extend(str(folder) for folder in (HERE, HERE.parent / "store", HERE.parent / "execute"))
