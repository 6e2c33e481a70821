"""All files, folders and link targets in the documentation exist, and it describes all settings."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

from fcreview.cli.config import Config
from tests.sources import PACKAGES, ROOT, join_lines

PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]
OURS = re.compile(rf"`((?:{'|'.join([*PACKAGES, 'tests', 'benchmarks', 'docs'])})/[\w/.-]*)`")
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")


def named(page: Path) -> list[str]:
    """Return files and folders in backticks, without placeholders (`importers/NAME/`) and the
    example benchmark.
    """
    return [
        name
        for name in OURS.findall(page.read_text("utf-8"))
        if not re.search(r"[A-Z]{2}|toybench|config\.toml", name)
    ]


def test_named_files_exist() -> None:
    faults = [
        f"{page.name}: {name}"
        for page in PAGES
        for name in named(page)
        if not (ROOT / name).exists()
    ]
    assert not faults, join_lines(faults)
    assert len(named(ROOT / "CONTRIBUTING.md")) > 20


def test_link_targets_exist() -> None:
    links = [(page, link) for page in PAGES for link in LINK.findall(page.read_text("utf-8"))]
    faults = [f"{page.name}: {link}" for page, link in links if not (page.parent / link).exists()]
    assert not faults, join_lines(faults)
    assert len(links) > 10


def test_every_setting_is_described() -> None:
    page = (ROOT / "docs/configuration.md").read_text("utf-8")
    for setting in fields(Config):
        has_description = re.search(rf"`\[?{setting.name}[\].`]", page) is not None
        assert has_description, f"docs/configuration.md does not describe {setting.name}"
