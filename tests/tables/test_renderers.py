"""The same table is shown by commands, on screens, in HTML and in Markdown."""

from __future__ import annotations

from dataclasses import replace

from fcreview.cli.output import format_figure
from fcreview.exporters.report_pages import render_html, render_markdown
from fcreview.exporters.report_sections import ReportPage, build_table_section
from fcreview.tables.table import (
    Cell,
    Column,
    Row,
    Table,
    Whisker,
    make_heading_row,
    make_row,
    make_table,
)
from fcreview.tui.text.lines import plain_text
from fcreview.tui.text.tables import lay_out_figure, make_figure_table, omit_parts
from tests.exporters.page_reader import read_page

TABLE = Table(
    [
        Column("criterion and measure", cut="middle"),
        Column("value", align_right=True),
        Column("labels", align_right=True, priority=1),
    ],
    [
        make_heading_row("correct · reviews that were not blind · 2 annotators", 3),
        Row([Cell("agreement"), Cell("90.0 %", "strong"), Cell("40")], level=1),
        Row([Cell("kappa"), Cell("–"), Cell("1,234")], level=1),
    ],
    title="agreement overall",
    notes=["Unsure reviews are excluded."],
)


def test_all_renderers_show_the_same_texts() -> None:
    page = ReportPage("report", [], [], [], [build_table_section(TABLE)])
    html = read_page(render_html(page)).texts
    markdown = render_markdown(page)
    text = "\n".join(format_figure(TABLE))
    laid_out = lay_out_figure(TABLE, 100)
    screen = "\n".join(plain_text(line) for line in (laid_out.heading, *laid_out.rows))
    texts = list(TABLE.titles)
    for row in TABLE.rows:
        texts += [cell.text for cell in row.cells if cell.text]
    assert len(texts) == 10
    for expected in texts:
        assert expected in html, expected
        assert expected in markdown, expected
        assert expected in text, expected
        assert expected in screen, expected
    assert {TABLE.title, *TABLE.notes} <= set(html)


def test_heading_row_is_wider_than_its_column_in_text_and_on_screens() -> None:
    lines = format_figure(TABLE)
    assert lines[1] == "correct · reviews that were not blind · 2 annotators"
    assert lines[2] == "  agreement            90.0 %      40"
    laid_out = lay_out_figure(TABLE, 60)
    assert plain_text(laid_out.rows[0]) == lines[1]
    assert plain_text(laid_out.rows[1]) == lines[2]


def test_narrow_screen_omits_the_least_important_column_before_it_cuts_texts() -> None:
    columns = [
        Column("name", cut="middle"),
        Column("a", priority=2),
        Column("b", priority=1),
        Column("always"),
    ]
    table = Table(columns, [make_row(["live_simple_0", "12345", "12345", "12345678"])])
    assert omit_parts(table, 100).titles == ["name", "a", "b", "always"]
    assert omit_parts(table, 32).titles == ["name", "a", "always"]
    assert omit_parts(table, 25).titles == ["name", "always"]
    narrow = lay_out_figure(table, 20)
    assert plain_text(narrow.rows[0]) == "liv…simple_0  12345…"


def test_column_is_omitted_to_make_room_for_intervals() -> None:
    rows = [TABLE.rows[0], replace(TABLE.rows[1], graphic=Whisker(0.2, 0.5, 0.9))]
    table = replace(TABLE, rows=rows, graphic_at=3)
    figure = make_figure_table(table, [(), (1,)], noun="measure")
    wide = figure.lines(100)
    assert plain_text(wide.heading).split() == [
        *("criterion", "and", "measure", "value", "labels"),
        *("0", "1"),
    ]
    assert "●" in plain_text(wide.rows[1])
    narrow = figure.lines(50)
    assert "labels" not in plain_text(narrow.heading)
    assert "●" in plain_text(narrow.rows[1])
    tiny = figure.lines(40)
    assert "●" not in plain_text(tiny.rows[1])


def test_intervals_of_differences_have_a_common_scale_with_a_mark_at_zero() -> None:
    rows = [
        replace(make_row(["a", "x"]), graphic=Whisker(-0.2, -0.1, 0.0)),
        replace(make_row(["b", "y"]), graphic=Whisker(-0.1, 0.1, 0.2)),
        make_row(["c", "z"]),
    ]
    columns = [Column("name"), Column("right")]
    table = Table(columns, rows, graphic_at=1, scale="difference")
    assert table.scale_ends == (-0.2, 0.2)
    laid_out = lay_out_figure(table, 34)
    lines = [plain_text(line) for line in (laid_out.heading, *laid_out.rows)]
    assert lines == [
        "name            0            right",
        "a     ━━━━━●━━━━┃──────────  x    ",
        "b     ─────━━━━━┃━━━━●━━━━━  y    ",
        "c                            z    ",
    ]


def test_tables_are_found_by_the_titles_of_their_columns() -> None:
    table = make_table(["a", "b", "c"], [["1", "2", "3"]], right_aligned=(2,))
    assert table.right_columns == [2]
    shown = table.without(["b"])
    assert (shown.titles, shown.rows[0].texts) == (["a", "c"], ["1", "3"])
    assert shown.right_columns == [1]
    assert replace(table, graphic_at=2).without(["b"]).graphic_at == 1
