"""How the site is built: ``sphinx-build -W docs docs/_build`` after ``pip install '.[docs]'``."""

from __future__ import annotations

from importlib import metadata

project = "infer-cost"
author = "The infer-cost developers"
project_copyright = author
try:
    release = metadata.version("infer-cost")
except metadata.PackageNotFoundError:
    release = ""

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.mathjax",
    "sphinx.ext.intersphinx",
]
# Other projects' names stay plain text: the site builds without a network.
intersphinx_mapping: dict[str, tuple[str, None]] = {}

myst_enable_extensions = ["dollarmath", "deflist"]
myst_heading_anchors = 3
exclude_patterns = ["_build", "examples"]

napoleon_google_docstring = False
napoleon_numpy_docstring = True
napoleon_use_rtype = False
autodoc_typehints = "none"
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True, "show-inheritance": True}

html_theme = "furo"
html_title = "infer-cost"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
