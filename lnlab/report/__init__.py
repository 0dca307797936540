"""What a reader sees: a folder of tables becomes a page, a notebook, figures and tables for a paper.

    write_report:  facts, results, verdicts -> data/   (folder: only the rows that the sections use)
    render:        data/ -> parts (compose) -> figures (page) -> index.html, notebook.ipynb, figures/, tables/

A section is a frozen value made of frames; page, notebook and files all render that one value, and ``render`` reads
nothing but ``data/``. A section that breaks becomes a reason on the page and in what ``write_report`` returns.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import Any


class _CallablePackage(ModuleType):
    """``lnlab.report`` is this package, and ``lnlab.report(spec)`` the command: Python has one name for both."""

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        return import_module("lnlab.app.api").report(*arguments, **options)


sys.modules[__name__].__class__ = _CallablePackage
