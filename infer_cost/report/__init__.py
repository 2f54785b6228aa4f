"""One page about one deployment: everything gathered, charts drawn, HTML written.

:mod:`.content` asks the library, :mod:`.svg` draws, :mod:`.page` writes one self-contained HTML file that works without
a network, on a phone and on paper. Nothing is computed here that another part of the library could be asked for.
"""

from __future__ import annotations

from infer_cost.report.content import Content, gather
from infer_cost.report.page import html_page, write_page
from infer_cost.report.pictures import pictures

__all__ = ["Content", "gather", "html_page", "pictures", "write_page"]
