"""``python -m lnlab``: the same as the ``lnlab`` command."""

import sys

from lnlab.cli import main

if __name__ == "__main__":
    sys.exit(main())
