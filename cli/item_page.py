"""One item as a page of HTML: one file, without scripts, that asks for nothing elsewhere; all text in it is escaped."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING

from fcreview.model.sanitize import visible, visible_lines
from fcreview.tui.item_view.blocks import Block, Options
from fcreview.tui.item_view.document import document

if TYPE_CHECKING:
    from fcreview.store.rows import ItemDetail
    from fcreview.tui.text.lines import Line

LAYOUTS = {"wide": 96, "narrow": 42}
"""Cells of a line: on a desk and on paper, and on a phone. The page has both, and a style shows the one that fits."""
POLICY = "default-src 'none'; style-src 'unsafe-inline'"
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


def item_page(detail: ItemDetail, annotator: str, heading: str) -> str:
    """All of it, behind its verdicts in one line; texts that the screen opens in its pager can be unfolded."""
    blocks = document(detail, annotator, Options(dialogue=True, open_all=True, in_print="whole below"))
    name = escape(visible(detail.row.id))
    run = escape(visible(f"{detail.run.kind} · {detail.run.model}"))
    return "\n".join(
        [
            '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{name} · {run}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>",
            f"<h1>{name}</h1>\n<p>{run}<br>{escape(heading)}</p>",
            *(part for block in blocks for part in _block(block)),
            "</main>\n</body>\n</html>\n",
        ]
    )


def _block(block: Block) -> Iterator[str]:
    wide, narrow = (block.lines(cells) for cells in LAYOUTS.values())
    if not block.full and len(narrow) == len(wide):  # what nothing else tells whole is broken, not cut
        narrow = [_unruled(full) if _cut([line]) else line for line, full in zip(narrow, wide, strict=True)]
    for layout, lines in zip(LAYOUTS, (wide, narrow), strict=True):
        if lines:
            yield f'<pre class="{layout}">' + "\n".join(map(_line, lines)) + "</pre>"
    if block.full and (block.folded or _cut(narrow) or _cut(wide)):
        whole = "\n".join(map(escape, visible_lines(block.full())))
        always = block.folded or _cut(wide)
        kind = "" if always else ' class="narrow"'
        yield f"<details{kind}><summary>{escape(visible(block.title))}, whole</summary><pre>{whole}</pre></details>"


def _cut(lines: Sequence[Line]) -> bool:
    return any("…" in text for line in lines for text, _ in line)


def _unruled(line: Line) -> Line:
    """Without the rule that fills it up."""
    end = next((at for at in range(len(line), 0, -1) if line[at - 1][0].strip(" ─")), 0)
    return line[:end]


def _line(line: Line) -> str:
    """Style names are the program's own; text is the data's."""
    return "".join(f'<span class="{style}">{escape(text)}</span>' if style else escape(text) for text, style in line)
