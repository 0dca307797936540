"""Turn a report, which is a store, into what a reader sees: a page, a notebook, figures and tables for a paper.

    write_report:  facts, results, verdicts -> data/   (folder: a store with one pack, long curves thinned)
    render:        data/ -> parts (compose) -> figures (page) -> index.html, notebook.ipynb, figures/, tables/

A section is a frozen value made of frames. Page, notebook and files all render that value, and ``render`` reads only
``data/``. When a section fails, the page and the return value of ``write_report`` give the reason.
"""

import sys
from importlib import import_module
from inspect import Signature, signature
from types import ModuleType
from typing import Any


class _CallablePackage(ModuleType):
    """Make ``lnlab.report(spec)`` callable, although ``lnlab.report`` is also this package."""

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        return import_module("lnlab.app.api").report(*arguments, **options)

    @property
    def __signature__(self) -> Signature:
        """That of the function, for editors and ``help``."""
        return signature(import_module("lnlab.app.api").report)


sys.modules[__name__].__class__ = _CallablePackage
