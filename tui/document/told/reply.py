"""What the model answered in words: beside the golden reply where there is one, with what was said of it."""

from __future__ import annotations

from dataclasses import replace

from fcreview.calls.table import ArgumentRow
from fcreview.model import State, Verdict
from fcreview.sanitise import visible
from fcreview.targets import RESPONSE
from fcreview.tui.document.blocks import Block, Options
from fcreview.tui.document.calls import Columns, argument_lines, heading_row
from fcreview.tui.document.said.judges import judge_blocks, label_verdict
from fcreview.tui.document.said.target import own_block
from fcreview.tui.document.scene import Scene
from fcreview.tui.document.texts import INLINE, is_long, text_block
from fcreview.tui.text.lines import Line, column, fold_text, line, rule, size_text

ROWS = 10
INSTEAD = "(no reply: it made a call)"
NAME = 6
"""Cells of the word in front of the two columns: `labels`, `reply`."""


def reply_blocks(of: Scene, text: str | None, options: Options, parent: str | None, word: str) -> list[Block]:
    """A heading that is the target, the reply, and judges and people on it. `word`: which step it is."""
    golden = of.item.extra.golden_reply
    said = [*judge_blocks(of, RESPONSE, parent), *own_block(of, RESPONSE, parent)]
    if golden is None:
        body = _body(text or "", options, parent)
    else:
        body = [*_labels(of, parent), _beside(golden, text, options, parent)]
    title = "response"
    judged = " · judged" if of.long and golden is not None else ""
    step = f" · {word}" if word else ""

    def heading(cells: int) -> list[Line]:
        made = [rule(((title, "strong"), (step + judged, "dim")), cells)]
        if golden is not None:
            made.append(heading_row(_columns(cells), ""))
        return made

    head = Block(
        RESPONSE,
        heading,
        target=RESPONSE,
        stop=True,
        opens=golden is not None,
        parent=parent,
        title=title,
        copy=lambda: text,
    )
    return [head, *body, *said]


def _columns(cells: int) -> Columns:
    """Golden and predicted of equal width, so that the labels stand above their replies."""
    half = max((cells - NAME - 6) // 2, 8)
    return Columns(NAME, half, half)


def _body(text: str, options: Options, parent: str | None) -> list[Block]:
    if not text:
        return [Block("response/text", lambda _: [line("  (empty)", "dim")], parent=parent)]
    made = text_block("response/text", "", text, options, rows=ROWS, title=RESPONSE, style="predicted")
    return [replace(made, parent=parent)]


def _labels(of: Scene, parent: str | None) -> list[Block]:
    """Golden labels and those a judge gave the reply: a row as of an argument."""
    golden = of.item.extra.golden_labels
    if golden is None:
        return []
    judged = None if of.hidden else label_verdict(of.item)
    row = None if judged is None else _compared(of, golden, judged)
    unknown = "(hidden)" if of.hidden else "(not judged)"

    def lines(cells: int) -> list[Line]:
        if row is not None:
            return argument_lines(row, _columns(cells))
        bare = ArgumentRow("labels", 0, "=", ", ".join(golden), unknown, None)
        first, *rest = argument_lines(bare, _columns(cells))
        return [(("  ", ""), *first[1:]), *rest]  # nothing is known to be equal

    return [
        Block(
            "response/labels",
            lines,
            target=RESPONSE,
            argument=True,
            differs=row is not None and row.state == "!",
            parent=parent,
            title="labels",
            full=lambda: f"golden\n{', '.join(golden)}\n\npredicted\n{row.predicted if row else unknown}",
            copy=lambda: {"golden": golden, "predicted": row.predicted if row else None},
        )
    ]


def _compared(of: Scene, golden: list[str], judged: Verdict) -> ArgumentRow:
    """`~` where the labels are not the same and the benchmark takes the reply for right."""
    ours = [str(label) for label in judged.value]
    passes = of.item.official if of.item.official is not None else of.item.rule
    state: State = "=" if set(ours) == set(golden) else "~" if passes else "!"
    reason = None if state == "=" else f"labels by judge {judged.by or ''}".rstrip()
    return ArgumentRow("labels", 0, state, ", ".join(golden), ", ".join(ours) or "(none)", reason)


def _beside(golden: str, text: str | None, options: Options, parent: str | None) -> Block:
    """Golden and predicted reply in two columns, row by row."""
    ours = INSTEAD if text is None else text or "(empty)"
    long = is_long(golden, ROWS // 2) or is_long(ours, ROWS // 2)
    key = "response/text"
    folded = long and (options.folded(key, True) or max(len(golden), len(ours)) > INLINE)

    def lines(cells: int) -> list[Line]:
        most = ROWS if folded else 10_000
        of = _columns(cells)
        left, more = fold_text(golden, of.golden, most)
        right, also = fold_text(ours, of.predicted, most)
        made: list[Line] = []
        for at in range(max(len(left), len(right))):
            made.append(
                (
                    ("  ", ""),
                    column("reply" if at == 0 else "", of.name + 2, "dim"),
                    column(left[at].rstrip() if at < len(left) else "", of.golden + 2, "golden"),
                    (right[at] if at < len(right) else "", "predicted" if text else "dim"),
                )
            )
        if more or also:
            size = f"{size_text(golden)} and {size_text(ours)}"
            made.append(line(f"{' ' * (NAME + 4)}… {size}, {options.opens('to open')}", "dim"))
        return made

    return Block(
        key,
        lines,
        target=RESPONSE,
        stop=long,
        foldable=long,
        folded=folded,
        pages=max(len(golden), len(ours)) > INLINE,
        parent=parent,
        title="reply",
        full=lambda: f"golden\n{golden}\n\npredicted\n{visible(ours) if text is None else ours}",
    )
