"""Reports in HTML and Markdown show all data as text, whatever it contains."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from fcreview.exporters.base import ExportError
from fcreview.exporters.export import OverwriteRules, write_output_file
from fcreview.exporters.report_pages import (
    SORT_SCRIPT,
    format_inline_markdown,
    render_html,
    render_markdown,
)
from fcreview.exporters.report_sections import (
    MAX_CALIBRATION_GROUPS,
    MAX_MATRIX_CELLS,
    Card,
    Paragraph,
    ReportPage,
    Section,
    build_calibration_section,
)
from fcreview.model.sanitize import sanitize
from fcreview.stats.calibration import (
    BY_HAND,
    CALIBRATION_SCOPES,
    VerdictPair,
)
from fcreview.stats.judge_trust import compute_judge_figures
from fcreview.tables.calibration import build_trust_table
from fcreview.tables.table import Bar, Cell, Row, Table, Whisker, make_table
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
    rows = []
    for level, text in enumerate(texts):
        cells = [Cell(text), Cell(text, "strong"), Cell("1", value=0.5)]
        rows.append(Row(cells, level=level, graphic=Bar(0.5)))
    inner = [
        Section(text, [Paragraph(text), make_table([text, text], [[text, text]], (1,))])
        for text in texts
    ]
    table = replace(
        make_table([texts[0], *texts[:1], "n"], [], (2,)), rows=rows, graphic_at=1, heat_from=2
    )
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
    for text in (
        "simple_python",
        "92.6 % of 1,000 items",
        "get_weather · city",
        "bfcl V1 en",
        "+2.5",
    ):
        assert format_inline_markdown(text) == text
    assert format_inline_markdown("74.9 % [69.8, 79.6]") == "74.9 % \\[69.8, 79.6\\]"
    for text in ("www.evil.example", "x://y", "@a", "#1", "__init__", "a*b", "<b>", "a|b", "`"):
        assert format_inline_markdown(text).startswith("`")


def test_graphics_are_drawn_to_scale() -> None:
    whisker = Whisker(0.4, 0.5, 0.625, 0.25)
    rows = [
        Row([Cell("maple"), Cell("50", value=0.5)], graphic=whisker),
        Row([Cell("oak"), Cell("–")]),
        Row([Cell("elm"), Cell("7", value=0.07)], graphic=Bar(0.3)),
    ]
    table = replace(make_table(["run", "rate"], [], (1,)), rows=rows, graphic_at=1, heat_from=1)
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
    write_output_file(target, render_html(make_page(["x"])).encode(), OverwriteRules())
    assert read_page(target.read_text()).faults == []
    assert list(tmp_path.iterdir()) == [target]
    with pytest.raises(ExportError):
        write_output_file(tmp_path, render_html(make_page(["x"])).encode(), OverwriteRules())
    with pytest.raises(ExportError):
        write_output_file(
            tmp_path / "no" / "such" / "folder.html",
            render_html(make_page(["x"])).encode(),
            OverwriteRules(),
        )


def make_pair(item: int, automatic: Any, human: Any, **fields: Any) -> VerdictPair:
    known: dict[str, Any] = {
        "source": "judge",
        "judge": "oak",
        "criterion": "correct",
        "is_random": False,
    }
    return VerdictPair(
        item=item,
        automatic=automatic,
        human=human,
        **(known | {"benchmark": "bfcl", "category": "simple"} | fields),
    )


def make_section(cases: Sequence[VerdictPair]) -> Section:
    return build_calibration_section(cases, ("benchmark", "category"))


def list_tables(section: Section) -> Iterator[Table]:
    yield from (block for block in section.blocks if isinstance(block, Table))
    for inner in section.sections:
        yield from list_tables(inner)


def list_texts(section: Section) -> list[str]:
    return [block.text for block in section.blocks if isinstance(block, Paragraph)]


def list_cells(table: Table) -> list[list[str]]:
    return [row.texts for row in table.rows]


def test_source_has_a_matrix_and_measures() -> None:
    found = make_section(
        [make_pair(at, True, True) for at in range(6)]
        + [make_pair(6, True, False), make_pair(7, False, False)]
    )
    overall, errors = found.sections
    assert (overall.title, errors.title) == ("calibration overall", "calibration errors")
    (table,) = list_tables(overall)
    assert list_cells(table)[:6] == [
        ["judge oak · correct · by hand", "", "", "8"],
        ["automatic pass, human pass", "", "", "6"],
        ["automatic fail, human fail", "", "", "1"],
        ["automatic pass, human fail", "", "", "1"],
        ["TPR", "100.0 %", "[61.0, 100.0]", "6"],
        ["TNR", "50.0 %", "[9.5, 90.5]", "2"],
    ]
    assert [row[0] for row in list_cells(table)[4:]] == [
        "TPR",
        "TNR",
        "precision",
        "wrong fails",
        "F1",
        "kappa",
        "agreement",
    ]
    assert list_cells(next(list_tables(errors))) == [
        ["judge oak · correct", "", "", "", ""],
        ["category simple", "pass, human fail", "1 of 7", "14.3 %", "[2.6, 51.3]"],
    ]


def test_sources_are_compared_as_in_calibrate() -> None:
    pairs = []
    for at in range(20):
        pairs.append(make_pair(at, at % 2 == 0, at % 2 == 0))
        pairs.append(make_pair(at, at % 4 == 0, at % 2 == 0, judge="elm"))
    trust, *_ = make_section(pairs).sections
    (table,) = list_tables(trust)
    assert table == build_trust_table(compute_judge_figures(pairs))
    assert [row[0] for row in list_cells(table)] == ["judge oak", "judge elm"]

    (only_source, *_) = make_section(pairs[::2]).sections
    assert only_source.title == "calibration overall"


def test_section_states_how_items_were_selected() -> None:
    by_hand, random = make_pair(1, True, True), make_pair(2, True, True, is_random=True)
    assert list_texts(make_section([by_hand]))[:2] == [
        "1 reviewed item, 0 of them in a random sample",
        BY_HAND,
    ]
    assert BY_HAND not in list_texts(make_section([by_hand, random]))
    headings = []
    for cases in ([by_hand], [random], [by_hand, random]):
        table = next(list_tables(make_section(cases)))
        headings.append(table.rows[0].texts[0])
    assert [heading.rpartition(" · ")[2] for heading in headings] == [
        "by hand",
        "random",
        "1 of 2 random",
    ]


def test_several_groups_have_a_table() -> None:
    found = make_section(
        [
            make_pair(1, True, True),
            make_pair(2, False, True, category="live"),
            make_pair(3, True, True, category="live"),
        ]
    )
    (by_category,) = (each for each in found.sections if each.title.startswith("calibration by "))
    assert by_category.title == "calibration by category"
    assert [row[:5] for row in list_cells(next(list_tables(by_category)))] == [
        ["live", "judge oak", "correct", "2", "by hand"],
        ["simple", "judge oak", "correct", "1", "by hand"],
    ]


def test_smallest_of_many_groups_are_counted_but_not_shown() -> None:
    pairs = [
        make_pair(at, True, True, category=f"c{at:02}") for at in range(MAX_CALIBRATION_GROUPS + 3)
    ]
    found = make_section(
        [*pairs, *(make_pair(100 + at, True, True, category="c00") for at in range(3))]
    )
    by_category = next(each for each in found.sections if each.title == "calibration by category")
    assert len(next(list_tables(by_category)).rows) == MAX_CALIBRATION_GROUPS
    assert list_texts(by_category) == [
        "3 smaller groups not shown. For all groups: `fcreview calibrate --by category`."
    ]


def test_most_frequent_pairs_of_many_labels_are_listed() -> None:
    labels = [make_pair(at, [f"a{at}"], [f"b{at}"], criterion="dialog_act") for at in range(25)]
    labels += [make_pair(at, ["c"], ["d"], criterion="dialog_act") for at in range(100, 103)]
    table = next(list_tables(make_section(labels)))
    pairs = [row for row in list_cells(table) if "automatic" in row[0] or "other" in row[0]]
    assert len(pairs) == MAX_MATRIX_CELLS + 1
    assert pairs[0] == ["automatic c, human d", "", "", "3"]
    assert pairs[-1] == ["6 other pairs of verdicts", "", "", "6"]


def test_section_without_reviews() -> None:
    found = build_calibration_section([], CALIBRATION_SCOPES)
    assert list_texts(found) == ["No item has both an automatic and a human verdict to compare."]
    assert not list(list_tables(found))
