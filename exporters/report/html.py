"""Report as one HTML page without scripts, fonts or other requests; its content security policy forbids them.

All text is escaped, and links stay on the page. Below 900 pixels, table rows become cards, except in small tables of
numbers. Cells have a minimum width only on wide screens, so that the page never scrolls sideways. Bars have a fixed
row per source, so that they can be told apart without color, and their colors are in the SVG for readers that ignore
the style sheet.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from fcreview.exporters.report.sections import Bar, BarSource, Paragraph, ReportPage, Section, Table, TableRow
from fcreview.model.metric import METRIC_SOURCES
from fcreview.model.sanitize import sanitize
from fcreview.model.wording import source_label

STYLE = """
:root { color-scheme: light dark; --line: #8886; --official: #8a8f98; --rule: #4f8fd0; --corrected: #2e9e6b;
  --estimated: #8e6bbf; }
* { box-sizing: border-box; }
body { font: 15px/1.45 system-ui, sans-serif; margin: 0 auto; max-width: 72rem; padding: 1rem; }
h1 { font-size: 1.6rem; margin: .5rem 0; }
h2 { font-size: 1.25rem; margin: 2rem 0 .5rem; border-bottom: 1px solid var(--line); }
h3 { font-size: 1.05rem; margin: 1.5rem 0 .5rem; }
h1, h2, h3, p, td, th, li { overflow-wrap: anywhere; }
nav ul { columns: 18rem; padding-left: 1.2rem; }
table { border-collapse: collapse; width: 100%; margin: .5rem 0 1rem; }
.numbers { width: auto; min-width: min(24rem, 100%); }
th, td { text-align: left; vertical-align: top; padding: .2rem .5rem; border-bottom: 1px solid var(--line); }
th { font-size: .85em; }
td:last-child:not(.right) { font-size: .9em; }
.right { text-align: right; font-variant-numeric: tabular-nums; overflow-wrap: normal; }
.bars { width: 9rem; }
.key { display: inline-block; width: .9em; height: .9em; }
.bars svg { display: block; width: 100%; height: 1.3rem; }
.track { fill: #8883; }
.official { fill: var(--official); background: var(--official); }
.rule { fill: var(--rule); background: var(--rule); }
.corrected { fill: var(--corrected); background: var(--corrected); }
.estimated { fill: var(--estimated); background: var(--estimated); }
.whisker { stroke: currentColor; stroke-width: 1.5px; vector-effect: non-scaling-stroke; }
.l1 { padding-left: 1.5rem; } .l2 { padding-left: 2.5rem; } .l3 { padding-left: 3.5rem; } .l4 { padding-left: 4.5rem; }
@media screen and (min-width: 901px), print {
  td:not(.right) { min-width: 4.5rem; }
  td:first-child:not(.right), td:last-child:not(.right) { min-width: 5rem; }
}
@media screen and (min-width: 901px) {
  td:first-child:not(.right), td:last-child:not(.right) { min-width: 8rem; }
}
@media screen and (min-width: 1100px) {
  td:not(.right) { min-width: 5.5rem; }
  td:nth-child(2):not(.right, .bars) { min-width: 8rem; }
  td:first-child:not(.right), td:last-child:not(.right) { min-width: 10rem; }
  .figures td:first-child { min-width: 17rem; }
}
@media screen and (max-width: 900px) {
  .cards, .cards :is(thead, tbody, tr, td, th:first-child) { display: block; width: 100%; }
  .cards th:not(:first-child) { position: absolute; clip-path: inset(50%); height: 1px; width: 1px; overflow: hidden; }
  .cards th { border: 0; padding: .2rem 0; font-size: 1rem; }
  .cards tbody tr { border: 1px solid var(--line); border-radius: .4rem; margin: 0 0 .5rem; padding: .3rem .2rem; }
  .cards td { border: 0; padding: .1rem .5rem; text-align: left; }
  .cards td:first-child { font-weight: 600; }
  .cards td[data-head]:not([data-head=""])::before {
    content: attr(data-head) ": "; font-size: .85em; opacity: .75;
  }
  .cards td:empty { display: none; }
  .numbers { width: 100%; }
}
@page { margin: 1.5cm; }
@media print {
  body { font-size: 10pt; max-width: none; padding: 0; }
  nav { display: none; }
  tr, h2, h3 { break-inside: avoid; }
  h2, h3, h3 + p { break-after: avoid; }
  table { font-size: 9pt; }
  .figures td:first-child { min-width: 9rem; }
  .l1 { padding-left: 1rem; } .l2 { padding-left: 1.5rem; } .l3 { padding-left: 2rem; } .l4 { padding-left: 2.5rem; }
  td.bars { width: 4rem; min-width: 4rem; }
  svg, .key { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
}
"""


BAR_SPACING = 6
"""Height of a bar plus the gap below it, in hundredths of the width of the drawing."""
BAR_HEIGHT = 5
SOURCE_COLORS: dict[BarSource, str] = {
    "official": "#8a8f98",
    "rule": "#4f8fd0",
    "corrected": "#2e9e6b",
    "estimated": "#8e6bbf",
}


def bars_svg(found: Sequence[Bar]) -> str:
    """Draw bars as an `svg` element, with confidence intervals as whiskers. Returns an empty string without bars."""
    if not found:
        return ""
    said = escape(", ".join(map(_bar_label, found)), quote=True)
    rows = {source: BAR_SPACING * number for number, source in enumerate(SOURCE_COLORS)}
    height = BAR_SPACING * len(METRIC_SOURCES) if found[-1].source != "estimated" else BAR_SPACING * len(rows)
    head = f'<svg viewBox="0 0 100 {height}" preserveAspectRatio="none" role="img" aria-label="{said}">'
    return head + "".join(part for bar in found for part in _bar_elements(bar, rows[bar.source])) + "</svg>"


def _bar_elements(bar: Bar, top: int) -> Iterator[str]:
    place, width = f'x="0" y="{top}" height="{BAR_HEIGHT}"', f"{100 * bar.value:.2f}"
    yield f'<rect class="track" fill="#ddd" {place} width="100"/>'
    yield f'<rect class="{bar.source}" fill="{SOURCE_COLORS[bar.source]}" {place} width="{width}"/>'
    if bar.low is not None and bar.high is not None:
        ends, middle = (100 * bar.low, 100 * bar.high), top + BAR_HEIGHT / 2
        yield f'<line class="whisker" stroke="#000" x1="{ends[0]:.2f}" x2="{ends[1]:.2f}" y1="{middle}" y2="{middle}"/>'
        for end in ends:
            bottom = top + BAR_HEIGHT
            yield f'<line class="whisker" stroke="#000" x1="{end:.2f}" x2="{end:.2f}" y1="{top}" y2="{bottom}"/>'


def _bar_label(bar: Bar) -> str:
    interval = f" from {100 * bar.low:.1f} to {100 * bar.high:.1f}" if bar.low is not None and bar.high else ""
    return f"{source_label(bar.source)} {100 * bar.value:.1f} %{interval}"


LEGEND = " ".join(f'<span class="key {source}"></span> {source_label(source)}' for source in SOURCE_COLORS)
MAX_INDENT = 4
"""Deepest indentation level in the style sheet."""
MAX_PHONE_COLUMNS = 5
"""Maximum number of columns of a table that is not split into cards on a phone."""
_HEAD = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
"""


def render_html(page: ReportPage) -> str:
    lines = [f"{_HEAD}<title>{_escape_text(page.title)}</title>", f"<style>{STYLE}</style>", "</head>", "<body>"]
    lines += [f"<h1>{_escape_text(page.title)}</h1>", *(f"<p>{_escape_text(text)}</p>" for text in page.lead)]
    lines.append(f"<p>Bars from top to bottom: {LEGEND}. Lines over bars are 95 % intervals.</p>")
    lines += _render_contents(page)
    for at, section in enumerate(page.sections, 1):
        lines += _render_section(section, f"s{at}", 2)
    return "\n".join([*lines, "</body>", "</html>", ""])


def _escape_text(text: str) -> str:
    return escape(sanitize(text), quote=True)


def _render_contents(page: ReportPage) -> Iterator[str]:
    yield "<nav><ul>"
    for at, section in enumerate(page.sections, 1):
        inner = "".join(
            f'<li><a href="#s{at}-{number}">{_escape_text(one.title)}</a></li>'
            for number, one in enumerate(section.sections, 1)
        )
        yield (
            f'<li><a href="#s{at}">{_escape_text(section.title)}</a>' + (f"<ul>{inner}</ul>" if inner else "") + "</li>"
        )
    yield "</ul></nav>"


def _render_section(section: Section, name: str, level: int) -> Iterator[str]:
    yield f'<section id="{name}">'
    yield f"<h{level}>{_escape_text(section.title)}</h{level}>"
    for block in section.blocks:
        if isinstance(block, Paragraph):
            yield f"<p>{_escape_text(block.text)}</p>"
        else:
            yield from _render_table(block)
    for at, inner in enumerate(section.sections, 1):
        yield from _render_section(inner, f"{name}-{at}", level + 1)
    yield "</section>"


def _render_table(block: Table) -> Iterator[str]:
    """Render a table, with a column of bars after the first column if rows have bars."""
    barred = any(row.bars for row in block.rows)
    kind = "cards figures" if barred else "numbers" if _is_small_number_table(block) else "cards"
    heads = [
        f'<th scope="col"{_alignment_class(block, at)}>{_escape_text(head)}</th>' for at, head in enumerate(block.heads)
    ]
    if barred:
        heads.insert(1, '<th scope="col"></th>')
    yield f'<table class="{kind}"><thead><tr>' + "".join(heads) + "</tr></thead><tbody>"
    for row in block.rows:
        cells = [*_render_cells(block, row)]
        if barred:
            cells.insert(1, f'<td class="bars">{bars_svg(row.bars)}</td>')
        yield f"<tr>{''.join(cells)}</tr>"
    yield "</tbody></table>"


def _render_cells(block: Table, row: TableRow) -> Iterator[str]:
    for at, cell in enumerate(row.cells):
        if at == 0 and at not in block.right:
            indent = f' class="l{min(row.level, MAX_INDENT)}"' if row.level else ""
            yield f"<td{indent}>{_escape_text(cell)}</td>"
        else:
            text = _format_number(cell) if at in block.right else _escape_text(cell)
            yield f'<td{_alignment_class(block, at)} data-head="{_escape_text(block.heads[at])}">{text}</td>'


def _is_small_number_table(block: Table) -> bool:
    """Whether all columns but the first are numbers, and the table has at most `MAX_PHONE_COLUMNS` columns."""
    return len(block.heads) <= MAX_PHONE_COLUMNS and block.right >= {*range(1, len(block.heads))}


def _format_number(cell: str) -> str:
    """Format a number with line breaks allowed only before and after an interval."""
    return _escape_text(cell).replace(" ", "\u00a0").replace("\u00a0[", " [").replace("],\u00a0", "], ")


def _alignment_class(block: Table, at: int) -> str:
    return ' class="right"' if at in block.right else ""
