"""`show --html` writes one page with escaped text."""

from __future__ import annotations

import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from fcreview.cli.commands.show import LAYOUT_WIDTHS, render_item_page
from fcreview.store.rows import View
from fcreview.store.store import Store
from fcreview.tui.item_view.blocks import DisplayOptions
from fcreview.tui.item_view.document import build_document
from fcreview.tui.text.lines import plain_text
from tests.sharing import Imports

Cli = Callable[..., Any]
ALLOWED = {
    *("html", "head", "meta", "title", "style", "body"),
    *("main", "h1", "p", "br", "pre", "span", "details", "summary"),
}


class PageParser(HTMLParser):
    """Tags and text of a page. Fails on unclosed tags."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.text = ""
        self._open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag not in ("meta", "br"):
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def parse_page(page: str) -> PageParser:
    reader = PageParser()
    reader.feed(page)
    reader.close()
    assert not reader._open
    return reader


@pytest.mark.sweep
def test_page_of_each_sample_item_has_all_lines(imports: Imports, samples: Path) -> None:
    with Store.open(imports.of([samples])) as store:
        for detail in (each for part in store.iter_details(View(queue="dataset")) for each in part):
            page = parse_page(render_item_page(detail, "zoe", "official fail"))
            assert page.tags <= ALLOWED
            assert page.attributes <= {"lang", "charset", "http-equiv", "content", "name", "class"}
            options = DisplayOptions(
                full_dialogue=True, unfold_all=True, print_hint="full text below"
            )
            for block in build_document(detail, "zoe", options):
                wide, narrow = (
                    [plain_text(line) for line in block.lines(cells)]
                    for cells in LAYOUT_WIDTHS.values()
                )
                assert all(line in page.text for line in wide)
                assert all(line in page.text for line in narrow if "…" not in line)


def test_hostile_data_is_no_markup_or_link(
    cli: Cli, hostile_run: Path, raw: tuple[str, ...]
) -> None:
    file = hostile_run.parent / "item.html"
    done = cli("show", hostile_run, "simple_python_0", "--html", file)
    assert done.code == 0, done.err
    page = file.read_text("utf-8")
    assert parse_page(page).tags <= ALLOWED
    assert not [char for char in raw if char in page]
    assert not re.search(r"(src|href|url)\s*[=(]", re.sub(r"(?s)<pre[^>]*>.*?</pre>", "", page))


def test_script_in_question_is_text(cli: Cli, imported_run: Path, tmp_path: Path) -> None:
    from fcreview.model.item import Run
    from fcreview.model.review import ItemKey
    from fcreview.store.rows import ItemDetail, QueueRow
    from tests.store.factory import make_item

    evil = "</pre><script>alert(1)</script>\"'&"
    item = make_item(1, id=evil, question=evil)
    for message in item.messages:
        message.content = evil
    row = QueueRow(item=1, run=1, seq=0, id=evil, category=evil)
    detail = ItemDetail(row, ItemKey(*[""] * 6), Run("bfcl", "V4", "en", evil, ""), item)
    page = parse_page(render_item_page(detail, "zoe", "official fail"))
    assert page.tags <= ALLOWED
    assert evil in page.text


def test_unwritable_page_is_error(cli: Cli, imported_run: Path, tmp_path: Path) -> None:
    done = cli("show", imported_run, "simple_python_1", "--html", tmp_path / "no" / "x.html")
    assert done.code == 1 and len(done.err.strip().splitlines()) == 1
    assert (
        cli("show", imported_run, "simple_python_1", "--html", tmp_path / "x.html", "--json").code
        == 2
    )
