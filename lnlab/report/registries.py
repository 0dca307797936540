"""Registries of claims, sections, derived quantities, rules and convergence rules, with every entry imported."""

from collections.abc import Mapping
from typing import Any

import lnlab.analyse
import lnlab.claims
from lnlab.analyse.convergence.rules import convergences
from lnlab.analyse.tuning.rules import rules
from lnlab.claims.claim import claims
from lnlab.registry import Registry, import_pieces
from lnlab.report import gallery
from lnlab.report import sections as section_files
from lnlab.report.section import sections
from lnlab.select.quantity import quantities

import_pieces(lnlab.analyse, lnlab.claims, section_files, gallery)

FRAME_REGISTRIES: Mapping[str, Registry[Any]] = {r.kind: r for r in (claims, sections, quantities, rules, convergences)}
