"""Blocks of running text: messages, observations, snapshots. Long ones show their head and size, and open elsewhere."""

from __future__ import annotations

from fcreview.sanitise import clip, visible
from fcreview.tui.document.blocks import EVERY_ROW, Block, Options
from fcreview.tui.text.lines import Line, fold_text, labelled, size_text, spread

INLINE = 8000
"""Characters up to which a text unfolds in place; a longer one opens in the pager."""
LABEL = 8


def label(word: str, cells: int = LABEL) -> str:
    return visible(word)[: cells - 1].ljust(cells)


def is_long(text: str, rows: int) -> bool:
    """Whether a text is likely to need more than `rows` rows of 70 cells. Cheap for any size."""
    return len(text) > rows * 70 or text.count("\n", 0, rows * 70) >= rows


def text_block(
    key: str,
    word: str,
    text: str,
    options: Options,
    *,
    rows: int = 4,
    style: str = "",
    title: str = "",
) -> Block:
    """A labelled text, folded to `rows` if it is long. What it is about and what it lies in, the caller adds."""
    long = is_long(text, rows)
    folded = long and (options.folded(key, True) or len(text) > INLINE)

    def lines(cells: int) -> list[Line]:
        room = max(cells - LABEL, 8)
        shown, more = fold_text(text, room, rows if folded else EVERY_ROW)
        if more and rows == 1:  # its size at the end of its row
            size = f"  {size_text(text)}"
            left: Line = ((label(word), "dim"), (clip(shown[0], room - len(size)), style))
            return [spread(left, ((size, "dim"),), cells)]
        made = labelled(label(word), shown, style)
        if more:
            made.append(((" " * LABEL, ""), (f"… {size_text(text)}, {options.opens('to open')}", "dim")))
        return made

    return Block(
        key,
        lines,
        stop=long,
        foldable=long,
        folded=folded,
        pages=len(text) > INLINE,
        title=title or word,
        full=lambda: text,
    )


def snapshot_block(key: str, word: str, name: str, text: str, *, parent: str | None = None) -> Block:
    """One line with its size at the end: environment states."""

    def lines(cells: int) -> list[Line]:
        size = f"  {size_text(text)}"
        head = visible(f"{name} {text[: cells * 2]}" if name else text[: cells * 2])
        room = cells - LABEL - len(size)
        return [spread(((label(word), "dim"), (clip(head, room), "dim")), ((size, "dim"),), cells)]

    return Block(
        key,
        lines,
        stop=True,
        foldable=True,
        folded=True,
        pages=True,
        parent=parent,
        title=f"{word} {name}",
        full=lambda: text,
    )


def note_block(key: str, word: str, text: str, *, parent: str | None = None) -> Block:
    """One dim line: what the benchmark's runner noted."""

    def lines(cells: int) -> list[Line]:
        return [((label(word), "dim"), (clip(visible(text[: cells * 2]), cells - LABEL), "dim"))]

    return Block(key, lines, parent=parent, title=word, full=lambda: text)
