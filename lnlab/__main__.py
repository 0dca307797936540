"""``python -m lnlab``: the same as the ``lnlab`` command.

Python itself imports a few modules before this one, such as types, from the working folder if they are there:
``python -P -m lnlab`` never does.
"""

import sys

if not sys.flags.safe_path:
    del sys.path[0]  # the working folder, where a file json.py is the user's and no module of ours

from lnlab.cli import main

if __name__ == "__main__":
    sys.exit(main())
