"""What Sphinx needs to know of the site; build.py writes its sources."""

import re
from typing import Any

from sphinx.application import Sphinx

import lnlab
from lnlab.app import api

project = "lnlab"
author = "The lnlab authors"
copyright = "the lnlab authors, Apache License 2.0"  # noqa: A001 (Sphinx's name)
version = release = lnlab.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
source_suffix = {".md": "markdown"}
myst_heading_anchors = 4
myst_url_schemes = {
    **dict.fromkeys(("http", "https", "mailto")),
    "reports": {"url": "reports/{{path}}#{{fragment}}", "classes": ["external"]},
}

autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 88
napoleon_numpy_docstring = False
# `lnlab.report` is a package that can be called, as its name is the command's too. The page shows the function.
vars(lnlab)["report"] = api.report

html_theme = "pydata_sphinx_theme"
html_favicon = "favicon.svg"
html_title = f"lnlab {version}"
html_show_sourcelink = False
html_context = {"default_mode": "auto"}
html_copy_source = False
html_theme_options = {
    "search_as_you_type": True,
    "show_prev_next": True,
    "navigation_with_keys": False,
    "footer_start": ["copyright"],
    "footer_end": ["theme-version"],
    "secondary_sidebar_items": ["page-toc"],
    "primary_sidebar_end": [],
}
html_sidebars = {"index": [], "gallery": [], "api": [], "project": []}


def with_code_blocks(*event: Any) -> None:
    """Mark what a docstring indents below a sentence as code; below ``Args:`` and the like it is text."""
    lines = event[-1]
    for number in range(len(lines) - 1, 0, -1):
        if not lines[number].startswith("    ") or lines[number - 1].strip():
            continue
        before = next((line for line in reversed(lines[:number]) if line.strip()), "")
        if before[:1].strip() and not re.match(r"\w+:$", before) and not before.endswith("::"):
            lines[number:number] = [".. code-block:: python", ""]


def setup(app: Sphinx) -> None:
    """Read docstrings before napoleon does."""
    app.connect("autodoc-process-docstring", with_code_blocks, priority=100)
