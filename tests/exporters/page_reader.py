"""Strict HTML parser for report pages that reports wrong nesting and external resources."""

from __future__ import annotations

import re
from html.parser import HTMLParser

from fcreview.exporters.report_pages import SORT_SCRIPT

VOID = {"meta", "link", "br", "img", "rect", "line", "wbr"}
"""Elements without content."""
ALLOWED = {
    "html",
    "head",
    "meta",
    "title",
    "style",
    "body",
    "h1",
    "h2",
    "h3",
    "h4",
    "p",
    "br",
    "span",
    "nav",
    "ul",
    "li",
    "a",
    "section",
    "table",
    "thead",
    "tbody",
    "tr",
    "th",
    "td",
    "svg",
    "rect",
    "line",
    "main",
    "pre",
    "details",
    "summary",
    "div",
    "small",
    "b",
    "wbr",
}
INSIDE = {
    "li": {"ul"},
    "tr": {"thead", "tbody"},
    "td": {"tr"},
    "th": {"tr"},
    "thead": {"table"},
    "tbody": {"table"},
    "table": {"section"},
    "rect": {"svg"},
    "line": {"svg"},
    "svg": {"td"},
    "section": {"body", "main", "section", "details"},
}
OUTSIDE = re.compile(r"url\(|@import|expression\(|//", re.IGNORECASE)


class PageReader(HTMLParser):
    """Collects texts and faults. A well-formed page without external resources has no faults."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.faults: list[str] = []
        self.texts: list[str] = []
        self.ids: set[str] = set()
        self.links: set[str] = set()
        self.labels: list[str] = []
        self.cells: list[int] = []
        """Number of cells in each row of the current table."""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in ALLOWED and not (tag == "script" and not attrs):
            self.faults.append(f"<{tag}>")
        if tag in INSIDE and (not self.open or self.open[-1] not in INSIDE[tag]):
            self.faults.append(f"<{tag}> in {self.open[-1:]}")
        for name, value in attrs:
            self._attribute(tag, name, value or "")
        if tag == "table":
            self.cells = []
        elif tag == "tr":
            self.cells.append(0)
        elif tag in ("td", "th"):
            self.cells[-1] += 1
        if tag not in VOID:
            self.open.append(tag)

    def _attribute(self, tag: str, name: str, value: str) -> None:
        if name.startswith("on") or name in (
            "src",
            "srcset",
            "style",
            "action",
            "data",
            "xlink:href",
        ):
            self.faults.append(f"{name} of <{tag}>")
        if name == "href":
            self.links.add(value)
        if name == "id":
            if value in self.ids:
                self.faults.append(f"id {value} twice")
            self.ids.add(value)
        if name == "aria-label":
            self.labels.append(value)
        if name == "http-equiv" and value != "Content-Security-Policy":
            self.faults.append(value)

    def handle_endtag(self, tag: str) -> None:
        if tag in VOID:
            return
        if not self.open or self.open.pop() != tag:
            self.faults.append(f"</{tag}>")
        if tag == "table" and len(set(self.cells)) != 1:
            self.faults.append(f"rows of {sorted(set(self.cells))} cells")

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "style":
            if OUTSIDE.search(data):
                self.faults.append("a style that fetches")
        elif self.open and self.open[-1] == "script":
            self.faults += ["an unknown script"] if data != SORT_SCRIPT else []
        elif data.strip():
            # Word joiners keep a number on one line.
            self.texts.append(data.replace("\u00a0", " "))

    def handle_comment(self, data: str) -> None:
        self.faults.append(f"comment {data}")


def read_page(text: str) -> PageReader:
    """Parse a page. Links to other pages are faults too."""
    reader = PageReader()
    reader.feed(text)
    reader.close()
    reader.faults += [f"open: {tag}" for tag in reader.open]
    reader.faults += [
        f"link to {link}" for link in reader.links if link.removeprefix("#") not in reader.ids
    ]
    return reader
