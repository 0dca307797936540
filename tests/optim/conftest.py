"""Everything is registered."""

import lnlab.catalogue  # noqa: F401 - registers everything
