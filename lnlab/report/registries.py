"""The registries of the frame wing: claims, sections, derived quantities, rules; with every entry imported."""

from collections.abc import Mapping
from importlib import import_module
from pkgutil import walk_packages
from typing import Any

import lnlab.analyse
import lnlab.claims
from lnlab.analyse.convergence.rules import convergences
from lnlab.analyse.tuning.rules import rules
from lnlab.claims.claim import claims
from lnlab.registry import Registry
from lnlab.report import sections as section_files
from lnlab.report.section import sections
from lnlab.select.quantity import quantities

for _room in (lnlab.analyse, lnlab.claims, section_files):
    for _module in walk_packages(_room.__path__, f"{_room.__name__}."):
        import_module(_module.name)

FRAME_REGISTRIES: Mapping[str, Registry[Any]] = {r.kind: r for r in (claims, sections, quantities, rules, convergences)}
