"""A report as one page of HTML that needs nothing else: no script, no font, no picture is fetched, and the page itself
forbids it. Every text is escaped, whoever wrote it; links lead to places on the page only."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from fcreview.exporters.page.style import STYLE
from fcreview.exporters.page.svg import bars
from fcreview.figures import SOURCES
from fcreview.reporting.blocks import Page, Section, Table, TableRow, Text
from fcreview.sanitise import visible

LEGEND = " ".join(f'<span class="key {source}"></span> {source}' for source in SOURCES)
DEEPEST = 4
"""Levels of indentation that the style knows."""
MOST_NUMBERS = 5
"""Columns of a table that stays one on a phone."""
_HEAD = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
"""


def html(page: Page) -> str:
    lines = [f"{_HEAD}<title>{_text(page.title)}</title>", f"<style>{STYLE}</style>", "</head>", "<body>"]
    lines += [f"<h1>{_text(page.title)}</h1>", *(f"<p>{_text(text)}</p>" for text in page.lead)]
    lines.append(f"<p>Bars, from above: {LEGEND}; the line over one is its interval.</p>")
    lines += _contents(page)
    for at, section in enumerate(page.sections, 1):
        lines += _section(section, f"s{at}", 2)
    return "\n".join([*lines, "</body>", "</html>", ""])


def _text(text: str) -> str:
    return escape(visible(text), quote=True)


def _contents(page: Page) -> Iterator[str]:
    yield "<nav><ul>"
    for at, section in enumerate(page.sections, 1):
        inner = "".join(
            f'<li><a href="#s{at}-{number}">{_text(one.title)}</a></li>'
            for number, one in enumerate(section.sections, 1)
        )
        yield f'<li><a href="#s{at}">{_text(section.title)}</a>' + (f"<ul>{inner}</ul>" if inner else "") + "</li>"
    yield "</ul></nav>"


def _section(section: Section, name: str, level: int) -> Iterator[str]:
    yield f'<section id="{name}">'
    yield f"<h{level}>{_text(section.title)}</h{level}>"
    for block in section.blocks:
        if isinstance(block, Text):
            yield f"<p>{_text(block.text)}</p>"
        else:
            yield from _table(block)
    for at, inner in enumerate(section.sections, 1):
        yield from _section(inner, f"{name}-{at}", level + 1)
    yield "</section>"


def _table(block: Table) -> Iterator[str]:
    """Bars, where there are any, stand in a column after the first."""
    barred = any(row.bars for row in block.rows)
    kind = "cards figures" if barred else "numbers" if _only_numbers(block) else "cards"
    heads = [f'<th scope="col"{_right(block, at)}>{_text(head)}</th>' for at, head in enumerate(block.heads)]
    if barred:
        heads.insert(1, '<th scope="col"></th>')
    yield f'<table class="{kind}"><thead><tr>' + "".join(heads) + "</tr></thead><tbody>"
    for row in block.rows:
        cells = [*_cells(block, row)]
        if barred:
            cells.insert(1, f'<td class="bars">{bars(row.bars)}</td>')
        yield f"<tr>{''.join(cells)}</tr>"
    yield "</tbody></table>"


def _cells(block: Table, row: TableRow) -> Iterator[str]:
    for at, cell in enumerate(row.cells):
        if at == 0 and at not in block.right:
            indent = f' class="l{min(row.level, DEEPEST)}"' if row.level else ""
            yield f"<td{indent}>{_text(cell)}</td>"
        else:
            text = _number(cell) if at in block.right else _text(cell)
            yield f'<td{_right(block, at)} data-head="{_text(block.heads[at])}">{text}</td>'


def _only_numbers(block: Table) -> bool:
    """Behind the first column, and few enough to stand beside each other on a phone."""
    return len(block.heads) <= MOST_NUMBERS and block.right >= {*range(1, len(block.heads))}


def _number(cell: str) -> str:
    """Broken nowhere but before an interval and behind it."""
    return _text(cell).replace(" ", "\u00a0").replace("\u00a0[", " [").replace("],\u00a0", "], ")


def _right(block: Table, at: int) -> str:
    return ' class="right"' if at in block.right else ""
