"""Render a report as one HTML page or as GitHub Markdown.

All text in the HTML page is escaped. Its content security policy forbids fonts and other files, and
all scripts but the one that sorts tables. Without scripts, the page still shows everything. On
paper, the summary fits on the first A4 page, because its tables have fewer rows than on the screen,
and all details follow, also folded ones. Below a width of 900 pixels, table rows become cards,
except in small tables of numbers.

In Markdown, text from data never becomes markup, a mention or a link.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterator, Sequence
from hashlib import sha256
from html import escape

from fcreview.exporters.report_sections import Card, Paragraph, ReportPage, Section
from fcreview.model.sanitize import sanitize, sanitize_lines
from fcreview.tables.table import Bar, Cell, Column, Row, Table, Whisker

HEAT_COLORS = (
    "#c44d45",
    "#ab6036",
    "#936d2f",
    "#807428",
    "#707826",
    "#607c27",
    "#4f8028",
    "#3d842a",
    "#2a842a",
    "#2a843d",
    "#2a8451",
)
"""Background colours of heat map cells for 0, 10, ..., 100 percent. White text on them has a
contrast of at least 4.5:1.
"""
STYLE = """
:root { color-scheme: light dark; --bg: #fbfbfd; --fg: #1d2230; --dim: #5f6675; --line: #e1e4ec; --card: #fff;
  --fail: #d64562; --attention: #8a5a00; --mark: #c98a1b; --estimate: #4667c8; --track: #edeff5; }
@media screen and (prefers-color-scheme: dark) {
  :root { --bg: #14161f; --fg: #c8d0e8; --dim: #959db8; --line: #2a2f45; --card: #1a1d29; --fail: #f7768e;
    --attention: #e0af68; --mark: #e0af68; --estimate: #7aa2f7; --track: #262a3b; }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--bg); color: var(--fg); font: 15px/1.45 system-ui, sans-serif; }
main { max-width: 80rem; margin: 0 auto; padding: 1.5rem 1.25rem; }
h1 { font-size: 1.6rem; margin: 0; }
h2 { font-size: 1.15rem; margin: 1.75rem 0 .35rem; }
h3 { font-size: 1.05rem; margin: 1.25rem 0 .5rem; }
p { margin: .25rem 0 .5rem; }
.lead, section > p, .card small, th, .code { color: var(--dim); }
h1, h2, h3, p, td, th, b, small, summary { overflow-wrap: anywhere; }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(13rem, 1fr)); gap: .9rem; margin-top: 1.1rem; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: .6rem; padding: .75rem 1rem; }
.card b { display: block; font-size: 1.55rem; line-height: 1.3; }
.card.attention b { color: var(--attention); }
.card small { display: block; font-size: .85rem; }
table { border-collapse: separate; border-spacing: 0; width: 100%; margin: .5rem 0 1rem; background: var(--card);
  border: 1px solid var(--line); border-radius: .6rem; }
td b { font-weight: 600; }
.numbers { width: auto; min-width: min(24rem, 100%); }
th, td { text-align: left; vertical-align: top; padding: .35rem .6rem; border-top: 1px solid var(--line); }
thead th { border-top: 0; font-size: .85em; vertical-align: bottom; }
[role=button] { cursor: pointer; }
[aria-sort=descending]::after { content: " \\2193"; } [aria-sort=ascending]::after { content: " \\2191"; }
.right { text-align: right; font-variant-numeric: tabular-nums; overflow-wrap: normal; }
.code { font: .85em ui-monospace, monospace; text-align: right; }
.heat td:nth-child(3) { font-weight: 600; }
.heat th, .heat td { padding: .25rem; } .heat th { font-size: .75rem; }
.heat :is(th, td):first-child { padding-left: .6rem; }
.chip { display: inline-block; color: #fff; border-radius: .35rem; padding: 0 .3rem; min-width: 2.9rem;
  text-align: center; font-size: .9em; }
HEAT
.graphic { vertical-align: middle; }
.graphic svg { display: block; width: 100%; min-width: 3.5rem; max-width: 11rem; height: .9rem; }
.track { fill: var(--track); } .bar { fill: var(--fail); } .mark { fill: var(--mark); } .dot { fill: var(--estimate); }
.line { stroke: var(--estimate); stroke-width: 2; }
details { background: var(--card); border: 1px solid var(--line); border-radius: .6rem; padding: .55rem 1rem;
  margin: .5rem 0; }
summary { cursor: pointer; font-weight: 600; }
.l1 { padding-left: 1.5rem; } .l2 { padding-left: 2.5rem; } .l3 { padding-left: 3.5rem; } .l4 { padding-left: 4.5rem; }
.paper { display: none; }
@media screen and (min-width: 901px) {
  td:not(.right, .graphic, .code) { min-width: 5rem; }
  td:first-child:not(.right), td:last-child:not(.right, .code) { min-width: 8rem; }
  .heat td:first-child { min-width: 11rem; }
  :is(.heat3 td:nth-child(n+4), .heat4 td:nth-child(n+5)) { text-align: left; }
  .upright .chip { min-width: 2.4rem; padding: 0; }
  :is(.heat3 th:nth-child(n+4), .heat4 th:nth-child(n+5)) {
    max-height: 11rem; padding: .4rem 0; text-align: left; writing-mode: sideways-lr;
  }
  .bars td:first-child { width: 5rem; } .bars .graphic { width: 12rem; }
}
@media screen and (min-width: 901px) and (max-width: 1199px) {
  .cards :is(th, td) { padding: .35rem .3rem; } .upright :is(th, td):nth-child(n+2) { padding: .25rem .1rem; }
  .upright .chip { min-width: 0; font-size: .75em; }
  .upright td:first-child:not(.right) { min-width: 6rem; } .upright td:nth-child(n+2):nth-child(n+2) { min-width: 0; }
}
@media screen and (max-width: 900px) {
  .cards, .cards :is(thead, tbody, tr, td, th:first-child) { display: block; width: 100%; }
  .cards th:not(:first-child) { position: absolute; clip-path: inset(50%); height: 1px; width: 1px; overflow: hidden; }
  .cards tr { border-top: 1px solid var(--line); padding: .3rem 0; }
  .cards thead tr { border: 0; } .cards th { padding-left: .6rem; }
  .cards td { border: 0; padding: .1rem .6rem; text-align: left; }
  .cards td:first-child { font-weight: 600; }
  .cards td[data-head]:not([data-head=""])::before { content: attr(data-head) ": "; font-size: .85em; opacity: .8; }
  .cards td:empty { display: none; }
  .cards.heat tbody tr { display: grid; grid-template-columns: 1fr 1fr; }
  .cards.heat td { display: flex; align-items: center; justify-content: space-between; gap: .3rem; font-size: .8rem;
    min-width: 0; }
  .cards.heat td:first-child { grid-column: 1 / -1; font-size: 1rem; }
  .cards.heat td[data-head]::before { content: attr(data-head); overflow-wrap: anywhere; }
  .cards.bars th:first-child { display: none; }
  .cards.bars th:nth-child(3) { display: block; position: static; clip-path: none; height: auto; width: 100%; }
  .bars td[data-head]:not([data-head=""])::before { display: none; } .bars .code { text-align: left; }
  .numbers { width: 100%; } .numbers :is(th, td) { padding: .3rem .35rem; }
}
@page { size: A4; margin: 1.2cm; }
@media print {
  body { font-size: 8.5pt; line-height: 1.3; } main { max-width: none; padding: 0; }
  h1 { font-size: 14pt; } h2 { font-size: 11pt; margin: .55rem 0 .1rem; } h3 { font-size: 9.5pt; margin: .4rem 0 .1rem; }
  p { margin: .1rem 0; }
  .figures { grid-template-columns: repeat(4, 1fr); gap: .4rem; margin-top: .4rem; } .card { padding: .25rem .5rem; }
  .card b { font-size: 13pt; } .card small { font-size: 7.5pt; }
  table { font-size: 8pt; margin: .2rem 0 .4rem; } th, td { padding: .08rem .3rem; }
  .heat { font-size: 7pt; } .heat th { font-size: 6pt; } .heat th, .heat td { padding: .08rem .1rem; }
  .heat :is(th, td):first-child { padding-left: .3rem; }
  :is(.heat3 th:nth-child(n+4), .heat4 th:nth-child(n+5)) { writing-mode: sideways-lr; text-align: left; }
  .chip { min-width: 0; padding: 0 .15rem; }
  .screen { display: none; } .paper { display: block; }
  tr, h2, h3, .card { break-inside: avoid; } h2, h3, h3 + p { break-after: avoid; }
  section.details { break-before: page; } summary { list-style: none; break-after: avoid; }
  details { border: 0; padding: 0; } details::details-content { content-visibility: visible; block-size: auto; }
  .graphic svg { min-width: 3rem; width: 5rem; height: .7rem; } .code { font-size: 6.5pt; }
  td:first-child:not(.right) { min-width: 7rem; }
  .l1 { padding-left: 1rem; } .l2 { padding-left: 1.5rem; } .l3 { padding-left: 2rem; } .l4 { padding-left: 2.5rem; }
  svg, .chip { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
}
""".replace(
    "HEAT", " ".join(f".h{at} {{ background: {color}; }}" for at, color in enumerate(HEAT_COLORS))
)

SORT_SCRIPT = """
for (const head of document.querySelectorAll(".sortable th:not([data-graphic])")) {
  const sort = () => {
    const body = head.closest("table").tBodies[0], at = head.cellIndex;
    const down = head.getAttribute("aria-sort") === "descending" ? -1 : 1;
    const order = row => {
      const text = row.cells[at].textContent.trim(), number = parseFloat(text.replace(/[,\u00a0]/g, ""));
      return head.classList.contains("right") ? (isNaN(number) ? -Infinity : number) : text;
    };
    const compare = (a, b) => a === b ? 0 : (a === -Infinity) ? 1 : (b === -Infinity) ? -1
      : typeof a === "number" ? (b - a) * down : a.localeCompare(b) * -down;
    for (const other of head.parentNode.cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down === 1 ? "descending" : "ascending");
    for (const row of [...body.rows].sort((a, b) => compare(order(a), order(b)))) body.append(row);
  };
  head.tabIndex = 0;
  head.setAttribute("role", "button");
  head.addEventListener("click", sort);
  head.addEventListener("keydown", event => {
    if (event.key === "Enter" || event.key === " ") { event.preventDefault(); sort(); }
  });
}
"""
_SCRIPT_HASH = b64encode(sha256(SORT_SCRIPT.encode()).digest()).decode()
PAPER_LINES = 46
"""Number of lines on an A4 page that are left for the tables of the summary."""
HEAD_LINES, UPRIGHT_HEAD_LINES = 3, 9
"""Number of lines that the headings and margins of a table take, with horizontal and with
vertical headings.
"""
MIN_PAPER_ROWS = 2
MAX_INDENT = 4
MAX_LEVEL_HEADS = 12
"""Maximum number of columns of a heat map with horizontal headings.

With more columns, the headings are vertical.
"""
MAX_PHONE_COLUMNS = 4
"""Maximum number of columns of a table of numbers whose rows do not become cards on a phone."""
_HEAD = f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; \
script-src 'sha256-{_SCRIPT_HASH}'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
"""


def render_html(page: ReportPage) -> str:
    """Render the report as one HTML page, which needs no other files.

    All texts are escaped.
    """
    title = _escape_html(page.title)
    lines = [
        f"{_HEAD}<title>{title}</title>",
        f"<style>{STYLE}</style>",
        "</head>",
        "<body>",
        "<main>",
        f"<h1>{title}</h1>",
        *_render_summary(page),
        *_render_details(page),
        "</main>",
        f"<script>{SORT_SCRIPT}</script>",
        "</body>",
        "</html>",
        "",
    ]
    return "\n".join(lines)


def _render_summary(page: ReportPage) -> Iterator[str]:
    """Render the lead, the key figures and the sections of the summary."""
    for text in page.lead:
        yield f'<p class="lead">{_escape_html(text)}</p>'

    yield '<div class="figures">'
    for card in page.cards:
        yield _render_card(card)
    yield "</div>"

    max_printed_rows = _count_printed_rows(page.summary)
    for section in page.summary:
        yield from _render_section(section, 2, max_printed_rows=max_printed_rows)


def _render_details(page: ReportPage) -> Iterator[str]:
    yield '<section class="details">'
    yield "<h2>Details</h2>"
    for section in page.details:
        yield from _render_details_section(section)
    yield "</section>"


def _count_printed_rows(summary: Sequence[Section]) -> int:
    """Return how many rows of each table of the summary fit on one page of paper."""
    tables: list[Table] = []
    for section in summary:
        tables += [block for block in section.blocks if isinstance(block, Table)]

    lines_left = PAPER_LINES
    for table in tables:
        has_vertical_headings = _has_vertical_headings(table)
        lines_left -= UPRIGHT_HEAD_LINES if has_vertical_headings else HEAD_LINES
    # The tables share the lines that their headings leave.
    rows_of_table = lines_left // max(len(tables), 1)
    return max(MIN_PAPER_ROWS, rows_of_table)


def _escape_html(text: str) -> str:
    return escape(sanitize(text), quote=True)


def _render_card(card: Card) -> str:
    """Render a key figure: its label, its value and a note."""
    kind = "card attention" if card.needs_attention else "card"
    label = f"<small>{_escape_html(card.label)}</small>"
    value = f"<b>{_escape_html(card.value)}</b>"
    note = f"<small>{_escape_html(card.note)}</small>"
    return f'<div class="{kind}">{label}{value}{note}</div>'


def _render_details_section(section: Section) -> Iterator[str]:
    """Render a section of the details. A long one is folded until the reader opens it."""
    if not section.is_folded:
        yield from _render_section(section, 3)
        return
    yield f"<details><summary>{_escape_html(section.title)}</summary><section>"
    yield from _render_section_content(section, 3)
    yield "</section></details>"


def _render_section(
    section: Section, heading_level: int, *, max_printed_rows: int | None = None
) -> Iterator[str]:
    """Render a section with its heading. `max_printed_rows`: rows of each table on paper."""
    yield f"<section><h{heading_level}>{_escape_html(section.title)}</h{heading_level}>"
    yield from _render_section_content(section, heading_level, max_printed_rows=max_printed_rows)
    yield "</section>"


def _render_section_content(
    section: Section, heading_level: int, *, max_printed_rows: int | None = None
) -> Iterator[str]:
    """Render the paragraphs, tables and inner sections of a section.

    `max_printed_rows`: number of rows of each table that are printed on paper. None prints all.
    """
    for block in section.blocks:
        if isinstance(block, Paragraph):
            yield f"<p>{_escape_html(block.text)}</p>"
            continue
        n_rows = len(block.rows) if max_printed_rows is None else max_printed_rows
        yield from _render_table(block, n_rows)

    for inner in section.sections:
        if inner.is_folded:
            yield from _render_details_section(inner)
        else:
            yield from _render_section(inner, heading_level + 1)


def _render_table(table: Table, max_printed_rows: int) -> Iterator[str]:
    """Yield the HTML of a table. On paper, only the first rows are printed, and a note says so."""
    classes = " ".join(_list_table_classes(table))
    headings = "".join(_render_headings(table))
    yield f'<table class="{classes}"><thead><tr>{headings}</tr></thead><tbody>'

    for number, row in enumerate(table.rows):
        is_only_on_screen = number >= max_printed_rows
        attribute = ' class="screen"' if is_only_on_screen else ""
        yield f"<tr{attribute}>{''.join(_render_row_cells(table, row))}</tr>"
    yield "</tbody></table>"

    n_not_printed = len(table.rows) - max_printed_rows
    if n_not_printed > 0:
        yield f'<p class="paper">{n_not_printed:,} more rows are on the screen.</p>'


def _list_table_classes(table: Table) -> list[str]:
    """Return the CSS classes that say how to lay out a table."""
    has_only_numbers = all(column.align_right for column in table.columns[1:])
    fits_on_phone = has_only_numbers and len(table.columns) <= MAX_PHONE_COLUMNS
    classes = ["numbers" if fits_on_phone else "cards"]
    if table.heat_from:
        classes.append("heat")
    if _has_vertical_headings(table):
        # The name says how many columns stand before those with vertical headings.
        classes.append(f"upright heat{table.heat_from}")
    if any(isinstance(row.graphic, Bar) for row in table.rows):
        classes.append("bars")
    # Indented rows belong to the row above, so they cannot be sorted.
    has_indented_rows = any(row.level for row in table.rows)
    if len(table.rows) > 1 and not has_indented_rows:
        classes.append("sortable")
    return classes


def _render_headings(table: Table) -> Iterator[str]:
    """Render the headings of a table. A column with graphics has no text."""
    headings = []
    for column in table.columns:
        # A long name may break after `_`.
        text = _escape_html(column.title).replace("_", "_<wbr>")
        headings.append(f'<th scope="col"{_format_class_attribute(column)}>{text}</th>')
    if table.graphic_at is not None:
        # The column with graphics is not in `table.columns`, and stands at this index.
        headings.insert(table.graphic_at, '<th scope="col" data-graphic></th>')
    yield from headings


def _render_row_cells(table: Table, row: Row) -> Iterator[str]:
    """Yield the cells of a row, the graphic among them."""
    cells = []
    for index, cell in enumerate(row.cells):
        is_name = index == 0 and not table.columns[index].align_right
        if is_name:
            cells.append(_render_name_cell(cell, row.level))
        else:
            cells.append(_render_cell(table, index, cell))
    if table.graphic_at is not None:
        graphic = _render_graphic(row.graphic, table.scale_ends)
        cells.insert(table.graphic_at, f'<td class="graphic">{graphic}</td>')
    yield from cells


def _render_name_cell(cell: Cell, level: int) -> str:
    """Render the name of a row, indented by its level."""
    indent = f' class="l{min(level, MAX_INDENT)}"' if level else ""
    text = _escape_html(cell.text)
    if cell.style == "strong":
        text = f"<b>{text}</b>"
    return f"<td{indent}>{text}</td>"


def _render_cell(table: Table, index: int, cell: Cell) -> str:
    """Render a cell. In a heat map, its value determines the background colour.

    On a phone, the title of the column stands before the text.
    """
    column = table.columns[index]
    text = _render_number(cell.text) if column.align_right else _escape_html(cell.text)
    is_in_heat_map = table.heat_from > 0 and index >= table.heat_from
    if is_in_heat_map and cell.value is not None:
        text = f'<span class="chip h{_find_heat_level(cell.value)}">{text}</span>'
    # The zero-width space allows a line break.
    head = _escape_html(column.title).replace("_", "_&#8203;")
    return f'<td{_format_class_attribute(column)} data-head="{head}">{text}</td>'


def _find_heat_level(rate: float) -> int:
    """Return the level of a rate (0 to 1), from 0 to 10."""
    return min(max(int(10 * rate), 0), 10)


def _render_graphic(graphic: Bar | Whisker | None, scale_ends: tuple[float, float]) -> str:
    """Return an `svg` element. Screen readers skip it, because the table has the same numbers."""
    if graphic is None:
        return ""
    if isinstance(graphic, Bar):
        return (
            '<svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">'
            '<rect class="bar" y="2" height="6" rx="1"'
            f' width="{100 * graphic.share:.2f}"/></svg>'
        )
    return _render_whisker(graphic, scale_ends)


WHISKER_WIDTH = 200
"""Width of the scale in a graphic of an interval, in units of the graphic, as all sizes below."""
WHISKER_HEIGHT = 14
TRACK_THICKNESS = 2
DOT_SIZE = 8
MARK_WIDTH = 2


def _render_whisker(whisker: Whisker, scale_ends: tuple[float, float]) -> str:
    """Return the SVG image of an interval: a line on a track, with the value as a dot.

    The official value, if there is one, is an upright mark. `scale_ends`: lowest and highest value.
    """
    lowest, highest = scale_ends
    scale_length = highest - lowest or 1

    def find_x(value: float) -> float:
        return WHISKER_WIDTH * (value - lowest) / scale_length

    mark = ""
    if whisker.official is not None:
        mark = _render_official_mark(find_x(whisker.official))
    line = _render_interval_line(find_x(whisker.low), find_x(whisker.high))
    dot = _render_value_dot(find_x(whisker.value))

    # A dot at an end of the scale needs room beyond it.
    margin = DOT_SIZE // 2
    view_width = WHISKER_WIDTH + 2 * margin
    track_top = (WHISKER_HEIGHT - TRACK_THICKNESS) // 2
    return (
        f'<svg viewBox="-{margin} 0 {view_width} {WHISKER_HEIGHT}" aria-hidden="true">'
        f'<rect class="track" x="0" y="{track_top}" height="{TRACK_THICKNESS}"'
        f' width="{WHISKER_WIDTH}"/>'
        f"{line}{dot}{mark}</svg>"
    )


def _render_interval_line(low_x: float, high_x: float) -> str:
    middle = WHISKER_HEIGHT // 2
    return f'<line class="line" x1="{low_x:.2f}" x2="{high_x:.2f}" y1="{middle}" y2="{middle}"/>'


def _render_value_dot(x: float) -> str:
    """Return a dot that is centred on `x`. SVG draws it as a square with round corners."""
    left = x - DOT_SIZE / 2
    top = (WHISKER_HEIGHT - DOT_SIZE) // 2
    return (
        f'<rect class="dot" x="{left:.2f}" y="{top}" width="{DOT_SIZE}"'
        f' height="{DOT_SIZE}" rx="{DOT_SIZE // 2}"/>'
    )


def _render_official_mark(x: float) -> str:
    """Return an upright mark that is centred on `x`."""
    left = x - MARK_WIDTH / 2
    return (
        f'<rect class="mark" x="{left:.2f}" y="0" width="{MARK_WIDTH}" height="{WHISKER_HEIGHT}"/>'
    )


def _has_vertical_headings(table: Table) -> bool:
    return table.heat_from > 0 and len(table.columns) > MAX_LEVEL_HEADS


def _render_number(text: str) -> str:
    """Escape a text with numbers. It may break only before an interval and after a separator."""
    unbroken = _escape_html(text).replace(" ", "\u00a0")
    breakable = unbroken.replace("\u00a0[", " [").replace("],\u00a0", "], ")
    breakable = breakable.replace("\u00a0·\u00a0", " ·\u00a0")
    return breakable.replace("–\u00a0", "–\u2060\u00a0")


def _format_class_attribute(column: Column) -> str:
    if column.align_right:
        return ' class="right"'
    return ' class="code"' if column.is_code else ""


TICKS = re.compile(r"`+")


def format_code_block(text: str, language: str = "") -> list[str]:
    """Return the lines of a Markdown code block.

    Its fence is longer than any sequence of backticks in the text.
    """
    fence = "`" * max(3, 1 + _measure_longest_backticks(text))
    return [fence + language, *sanitize_lines(text), fence]


def format_code_span(text: str) -> str:
    """Format a text as code in a line of Markdown. An empty text becomes `(none)`.

    More backticks than the text has in a row enclose it, so that those of the text do not end it.
    """
    shown = " ".join(sanitize(text).split()) or "(none)"
    fence = "`" * (1 + _measure_longest_backticks(shown))
    # A space separates a backtick of the text from the enclosing ones.
    touches_fence = shown.startswith("`") or shown.endswith("`")
    space = " " if touches_fence else ""
    return f"{fence}{space}{shown}{space}{fence}"


def format_titled_block(title: str, lines: Sequence[str]) -> Iterator[str]:
    """Yield a bold title and the given lines below it. `title` is Markdown and is not escaped."""
    yield f"**{title}**"
    yield ""
    yield from lines
    yield ""


def _measure_longest_backticks(text: str) -> int:
    return max(map(len, TICKS.findall(text)), default=0)


_PLAIN_MARKDOWN = re.compile(r"(?:[^\W_]|(?<=[^\W_])_(?=[^\W_])|[] .,;:()%/·…+='?[-])*")
"""Pattern that matches a text without Markdown markup, apart from brackets, which are escaped."""
_BRACKET = re.compile(r"[][]")
_LINK = re.compile(r"://|www\.", re.IGNORECASE)
MARKDOWN_INDENT = "\u2003"
"""Em space, which indents the text of a cell, because Markdown drops leading spaces."""


def render_markdown(page: ReportPage) -> str:
    """Render the report as Markdown, for example for a pull request."""
    lines = [f"# {format_inline_markdown(page.title)}", ""]
    for text in page.lead:
        lines += [format_inline_markdown(text), ""]
    for card in page.cards:
        label = format_inline_markdown(card.label)
        value = format_inline_markdown(card.value)
        note = format_inline_markdown(card.note)
        lines.append(f"- {label}: {value} · {note}")
    lines.append("")
    for section in (*page.summary, *page.details):
        lines += _render_markdown_section(section, 2)
    return "\n".join(lines)


def format_inline_markdown(text: str) -> str:
    """Return the text as Markdown: unchanged if it contains no markup, else as a code span."""
    shown = sanitize(text)
    if _PLAIN_MARKDOWN.fullmatch(shown) and not _LINK.search(shown):
        return _BRACKET.sub(r"\\\g<0>", shown)
    return format_code_span(text)


def _render_markdown_section(section: Section, heading_level: int) -> Iterator[str]:
    """Render a section and, one level deeper, the sections in it."""
    yield f"{'#' * heading_level} {format_inline_markdown(section.title)}"
    yield ""
    for block in section.blocks:
        if isinstance(block, Paragraph):
            yield format_inline_markdown(block.text)
        else:
            yield from _render_markdown_table(block)
        yield ""
    for inner in section.sections:
        yield from _render_markdown_section(inner, heading_level + 1)


def _render_markdown_table(table: Table) -> Iterator[str]:
    """Yield the lines of a table in Markdown. Rows of a lower level are indented."""
    yield _format_markdown_row([_format_markdown_cell(title) for title in table.titles])
    alignments = ["--:" if column.align_right else "---" for column in table.columns]
    yield _format_markdown_row(alignments)
    for row in table.rows:
        first, *others = [_format_markdown_cell(text) for text in row.texts]
        yield _format_markdown_row([MARKDOWN_INDENT * row.level + first, *others])


def _format_markdown_row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _format_markdown_cell(text: str) -> str:
    return format_inline_markdown(text).replace("|", "\\|") if text.strip() else ""
