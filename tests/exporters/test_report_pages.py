"""Reports in HTML and Markdown show all data as text, whatever it contains."""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from fcreview.exporters.base import ExportError
from fcreview.exporters.export import OverwriteRules, write_file
from fcreview.exporters.report_html import SORT_SCRIPT, render_html
from fcreview.exporters.report_markdown import inline_text, render_markdown
from fcreview.exporters.report_sections import (
    Bar,
    Card,
    Paragraph,
    ReportPage,
    Section,
    Table,
    TableRow,
    Whisker,
    make_table,
)
from fcreview.model.sanitize import sanitize
from tests.exporters.page_reader import read_page

HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "'onmouseover='x",
    "</style></table></section><a href='http://evil'>x</a>",
    "<!-- -->]]>",
    "[x](http://evil) ![y](//evil/z.png)",
    "[x]: http://evil",
    "http://evil.example www.evil.example a@evil.example @someone #1",
    "| a | b |\n|---|---|\n# title\n- list\n```",
    "``` `x` ``",
    "*a* _b_ __c__ ~d~ <http://evil> &lt;b&gt; \\",
    "\x1b[2J\u202e\u200b\x00\ud800",
    "=1+1",
]


def make_page(texts: list[str]) -> ReportPage:
    """Return a page that has each text in every place for text."""
    rows = [TableRow([text, text, "1"], level, Bar(0.5)) for level, text in enumerate(texts)]
    inner = [Section(text, [Paragraph(text), make_table([text, text], [[text, text]], (1,))]) for text in texts]
    table = Table([texts[0], *texts[:1], "n"], rows, frozenset({2}), graphic_at=1, heat_from=2)
    card = Card(texts[0], texts[0], texts[0])
    details = [Section(texts[-1], [table], inner), Section(texts[-1], [table], is_folded=False)]
    return ReportPage(texts[0], texts, [card], [Section(texts[-1], [table])], details)


def render_commonmark(text: str) -> str:
    """Render CommonMark with tables to HTML."""
    return str(MarkdownIt("commonmark").enable("table").render(text))


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_text_in_html(text: str) -> None:
    found = read_page(render_html(make_page([text])))
    assert found.faults == []
    assert [each for each in found.texts if each.strip() == sanitize(text).strip()] != []


@given(st.lists(st.text(max_size=30), min_size=1, max_size=4))
def test_any_text_is_text_in_html(texts: list[str]) -> None:
    assert read_page(render_html(make_page(texts))).faults == []


def test_page_reader_finds_faults() -> None:
    whole = render_html(make_page(["x"]))
    for bad in (
        "<script>x()</script>",
        "<p onclick='x'></p>",
        "<a href='http://evil'></a>",
        "<td></td>",
        "<p>",
        "</p>",
    ):
        assert read_page(whole.replace("</body>", bad + "</body>")).faults, bad
    assert read_page(whole.replace("<style>", "<style>@import 'x';")).faults
    assert read_page(whole.replace("for (const head", "fetch(); for (const head")).faults


def test_page_forbids_all_requests() -> None:
    assert "default-src 'none'" in render_html(make_page(["x"]))
    assert "http" not in render_html(make_page(["x"])).replace("http-equiv", "")


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_text_in_markdown(text: str) -> None:
    found = render_commonmark(render_markdown(make_page([text])))
    for tag in ("<a", "<img", "<script", "<em", "<strong", "<pre", "<hr", "<del"):
        assert tag not in found, found
    assert found.count("<table>") == 4
    assert found.count("<h1>") == 1 and found.count("<h2>") == 3 and found.count("<h3>") == 1


@given(st.lists(st.text(max_size=30), min_size=1, max_size=3))
def test_any_text_keeps_the_markdown_structure(texts: list[str]) -> None:
    found = render_commonmark(render_markdown(make_page(texts)))
    assert found.count("<table>") == 3 + len(texts)
    assert found.count("<td") == 9 * len(texts) + 2 * len(texts)
    assert not any(tag in found for tag in ("<a", "<img", "<em", "<strong", "<pre"))


def test_plain_words_are_not_escaped_in_markdown() -> None:
    for text in ("simple_python", "92.6 % of 1,000 items", "get_weather · city", "bfcl V1 en", "+2.5"):
        assert inline_text(text) == text
    assert inline_text("74.9 % [69.8, 79.6]") == "74.9 % \\[69.8, 79.6\\]"
    for text in ("www.evil.example", "x://y", "@a", "#1", "__init__", "a*b", "<b>", "a|b", "`"):
        assert inline_text(text).startswith("`")


def test_graphics_are_drawn_to_scale() -> None:
    whisker = Whisker(0.4, 0.5, 0.625, 0.25)
    rows = [
        TableRow(["maple", "50"], graphic=whisker),
        TableRow(["oak", "–"]),
        TableRow(["elm", "7"], graphic=Bar(0.3)),
    ]
    table = Table(["run", "rate"], rows, frozenset({1}), graphic_at=1, heat_from=1)
    drawn = render_html(ReportPage("x", [], [], [Section("y", [table])], []))
    assert 'x1="80.00" x2="125.00"' in drawn and 'class="dot" x="96.00"' in drawn
    assert 'class="mark" x="49.00"' in drawn and 'width="30.00"' in drawn
    assert drawn.count("<svg") == 2
    assert 'class="chip h5">50<' in drawn and 'class="chip h0">7<' in drawn


def test_only_the_sort_script_is_allowed() -> None:
    text = render_html(make_page(["x"]))
    assert text.count("<script>") == 1 and SORT_SCRIPT in text
    allowed = b64encode(sha256(SORT_SCRIPT.encode()).digest()).decode()
    assert f"script-src 'sha256-{allowed}'\"" in text


def test_page_is_written_completely_or_the_old_one_is_kept(tmp_path: Path) -> None:
    target = tmp_path / "report.html"
    write_file(target, render_html(make_page(["x"])).encode(), OverwriteRules())
    assert read_page(target.read_text()).faults == []
    assert list(tmp_path.iterdir()) == [target]
    with pytest.raises(ExportError):
        write_file(tmp_path, render_html(make_page(["x"])).encode(), OverwriteRules())
    with pytest.raises(ExportError):
        write_file(tmp_path / "no" / "such" / "folder.html", render_html(make_page(["x"])).encode(), OverwriteRules())
