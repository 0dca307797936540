"""Which registry serves which key of a spec. Importing this module imports every registered piece of the torch wing.

Without torch the pieces are known and cannot be built, see ``training_extra``.
"""

from collections.abc import Mapping
from typing import Any

from lnlab.registry import Registry, import_pieces
from lnlab.setting_catalogue import SETTING_REGISTRIES
from lnlab.training_extra import standing_in

with standing_in():
    import lnlab.probes
    from lnlab.probes.probe import probes

    import_pieces(lnlab.probes)

REGISTRIES: Mapping[str, Registry[Any]] = {**SETTING_REGISTRIES, probes.kind: probes}
