"""One item as a page of HTML: one file, without scripts, that asks for nothing elsewhere; all text in it is escaped."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING

from fcreview.sanitise import visible, visible_lines
from fcreview.tui.document.blocks import Block, Options
from fcreview.tui.document.document import document

if TYPE_CHECKING:
    from fcreview.store.rows import ItemDetail
    from fcreview.tui.text.lines import Line

CELLS = 110
POLICY = "default-src 'none'; style-src 'unsafe-inline'"
STYLE = """
:root { color-scheme: light dark; }
body { margin: 1.5em auto; max-width: 118ch; padding: 0 1em; font: 15px/1.5 ui-monospace, Menlo, Consolas, monospace; }
h1 { font-size: 1.1em; }
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
    lines = block.lines(CELLS)
    if lines:
        yield "<pre>" + "\n".join(map(_line, lines)) + "</pre>"
    if block.folded and block.full:
        whole = "\n".join(map(escape, visible_lines(block.full())))
        yield f"<details><summary>{escape(visible(block.title))}, whole</summary><pre>{whole}</pre></details>"


def _line(line: Line) -> str:
    """Style names are the program's own; text is the data's."""
    return "".join(f'<span class="{style}">{escape(text)}</span>' if style else escape(text) for text, style in line)
