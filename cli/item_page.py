"""Render an item as an HTML page without scripts or network access. All text is escaped."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING

from fcreview.model.sanitize import sanitize, sanitize_lines
from fcreview.tui.item_view.blocks import Block, DisplayOptions
from fcreview.tui.item_view.document import build_document

if TYPE_CHECKING:
    from fcreview.store.rows import ItemDetail
    from fcreview.tui.text.lines import Line

LAYOUT_WIDTHS = {"wide": 96, "narrow": 42}
"""Line width in cells by layout: wide for desktops and paper, narrow for phones. CSS shows the layout that fits."""
CONTENT_SECURITY_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
STYLE = """
:root { color-scheme: light dark; }
body { margin: 1.5em auto; max-width: 100ch; padding: 0 12px; font: 15px/1.5 ui-monospace, Menlo, Consolas, monospace;
  font-size: clamp(11px, calc((100vw - 24px) / 59), 15px); }
h1 { font-size: 1.1em; }
h1, p { overflow-wrap: anywhere; }
pre { margin: 0; white-space: pre-wrap; overflow-wrap: anywhere; font: inherit; }
details { margin: .3em 0 .3em 8ch; }
summary, .dim, .equal { opacity: .65; }
.strong, .head { font-weight: bold; }
.differs, .diff, .fail, .bad { color: light-dark(#b00020, #ff8a8a); font-weight: bold; }
.diff, .near { text-decoration: underline; }
.golden, .pass, .good { color: light-dark(#00695c, #6fd8a8); }
.predicted, .normalised, .near, .key { color: light-dark(#0b5394, #7fc4ff); }
.missing, .disputed { color: light-dark(#7b1fa2, #e0a0ff); font-weight: bold; }
.extra, .warn, .unsure { color: light-dark(#7a5b00, #e8c860); }
.narrow { display: none; }
@media screen and (max-width: 700px) {
  body { font-size: clamp(11px, calc((100vw - 24px) / 26), 15px); }
  .wide { display: none; }
  .narrow { display: block; }
  details { margin-left: 2ch; }
}
@media print { body { margin: 0; padding: 0; font-size: 11px; } }
"""


def render_item_page(detail: ItemDetail, annotator: str, heading: str) -> str:
    """Render the item's page, with `heading` as a line of verdicts. The reader can unfold long texts."""
    blocks = build_document(
        detail, annotator, DisplayOptions(full_dialogue=True, unfold_all=True, print_hint="full text below")
    )
    name = escape(sanitize(detail.row.id))
    run = escape(sanitize(f"{detail.run.full_title} · {detail.run.model}"))
    return "\n".join(
        [
            '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{CONTENT_SECURITY_POLICY}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{name} · {run}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>",
            f"<h1>{name}</h1>\n<p>{run}<br>{escape(heading)}</p>",
            *(part for block in blocks for part in _render_block(block)),
            "</main>\n</body>\n</html>\n",
        ]
    )


def _render_block(block: Block) -> Iterator[str]:
    wide, narrow = (block.lines(cells) for cells in LAYOUT_WIDTHS.values())
    if not block.full_text and len(narrow) == len(wide):  # no full text below: wrap lines that are clipped
        narrow = [
            _strip_horizontal_rule(wide_line) if _is_clipped([line]) else line
            for line, wide_line in zip(narrow, wide, strict=True)
        ]
    for layout, lines in zip(LAYOUT_WIDTHS, (wide, narrow), strict=True):
        if lines:
            yield f'<pre class="{layout}">' + "\n".join(map(_render_line, lines)) + "</pre>"
    if block.full_text and (block.folded or _is_clipped(narrow) or _is_clipped(wide)):
        full = "\n".join(map(escape, sanitize_lines(block.full_text())))
        always = block.folded or _is_clipped(wide)
        kind = "" if always else ' class="narrow"'
        yield f"<details{kind}><summary>{escape(sanitize(block.title))}, full text</summary><pre>{full}</pre></details>"


def _is_clipped(lines: Sequence[Line]) -> bool:
    return any("…" in text for line in lines for text, _ in line)


def _strip_horizontal_rule(line: Line) -> Line:
    end = next((at for at in range(len(line), 0, -1) if line[at - 1][0].strip(" ─")), 0)
    return line[:end]


def _render_line(line: Line) -> str:
    """Render a line as spans. Only the text has to be escaped, because fcreview defines the style names."""
    return "".join(f'<span class="{style}">{escape(text)}</span>' if style else escape(text) for text, style in line)
