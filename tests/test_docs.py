"""Files and folders that the documentation names are there, and so is what its links lead to."""

from __future__ import annotations

import re
from pathlib import Path

from tests.sources import PACKAGES, ROOT, one_a_line

PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]
OURS = re.compile(rf"`((?:{'|'.join([*PACKAGES, 'tests', 'benchmarks', 'docs'])})/[\w/.-]*)`")
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")


def named(page: Path) -> list[str]:
    """Files and folders in backticks; not placeholders such as `importers/NAME/`, nor the example of a benchmark."""
    return [
        name for name in OURS.findall(page.read_text("utf-8")) if not re.search(r"[A-Z]{2}|toybench|config\.toml", name)
    ]


def test_what_is_named_is_there() -> None:
    faults = [f"{page.name}: {name}" for page in PAGES for name in named(page) if not (ROOT / name).exists()]
    assert not faults, one_a_line(faults)
    assert len(named(ROOT / "CONTRIBUTING.md")) > 20


def test_links_lead_somewhere() -> None:
    links = [(page, link) for page in PAGES for link in LINK.findall(page.read_text("utf-8"))]
    faults = [f"{page.name}: {link}" for page, link in links if not (page.parent / link).exists()]
    assert not faults, one_a_line(faults)
    assert len(links) > 10
