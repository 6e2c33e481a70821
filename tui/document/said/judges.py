"""What judges said of the item or of its reply: the reasoned ones each with its reason, the bare ones on one line."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from fcreview.criteria import PASSING
from fcreview.model import Item, Verdict
from fcreview.sanitise import visible
from fcreview.targets import ITEM, RESPONSE
from fcreview.tui.document.blocks import Block
from fcreview.tui.document.scene import Scene
from fcreview.tui.document.verdicts import RATIONALE_ROWS, judge_lines, value_words
from fcreview.tui.text.lines import Line, Part, line_width, rule, wrap_text
from fcreview.tui.text.theme import verdict_style

BARE = ("true", "false", "yes", "no", "1", "0", "correct", "incorrect", "pass", "fail")
"""Reasons that only repeat the verdict."""


def judge_blocks(of: Scene, target: str = ITEM, parent: str | None = None) -> list[Block]:
    """Of the item or of the response; empty while they are hidden from a blind annotator."""
    if of.hidden:
        return []
    verdicts = [v for v in of.item.verdicts if v.source == "judge" and v.target == target]
    beside = label_verdict(of.item) if of.item.extra.golden_labels is not None else None
    bare = [v for v in verdicts if is_bare(v) and v is not beside]  # labels stand in the row of the golden ones
    reasoned = [v for v in verdicts if not is_bare(v)]
    blocks = []
    if bare:
        blocks.append(Block(f"judge:{target}", partial(bare_lines, bare), parent=parent, title="judge"))
    for at, verdict in enumerate(reasoned):
        blocks.append(_reasoned(f"judge:{target}:{at}", verdict, parent))
    return blocks


def is_bare(verdict: Verdict) -> bool:
    said = (verdict.rationale or "").strip().strip(".").casefold()
    labels = ", ".join(map(str, verdict.value)) if isinstance(verdict.value, list) else str(verdict.value)
    return not verdict.error_type and (not said or said in BARE or said == labels.casefold())


def bare_lines(verdicts: Sequence[Verdict], cells: int) -> list[Line]:
    """`── judge gpt-4o ── ✓ · args_ok_llm ✓ ──`: as many as fit on a line."""
    lines: list[Line] = []
    parts: list[Part] = []
    last = ""
    for verdict in verdicts:
        name = visible(f"judge {verdict.by or ''}".rstrip())
        said: list[Part] = [] if name == last else [(f"{name} ", "strong")]
        criterion = "" if verdict.criterion == "correct" else f"{visible(verdict.criterion)} "
        said.append((criterion + value_words(verdict.value, verdict.criterion), _style(verdict)))
        if parts and line_width((*parts, *said)) + 10 > cells:
            lines.append(rule(tuple(parts), cells))
            parts = []
            said = said if name != last else [(f"{name} ", "strong"), *said]
        parts += [(" · ", "dim"), *said] if parts else said
        last = name
    return [*lines, rule(tuple(parts), cells)]


def _style(verdict: Verdict) -> str:
    """Green and red only where true means right."""
    return verdict_style(verdict.value) if verdict.value is None or verdict.criterion in PASSING else ""


def _reasoned(key: str, verdict: Verdict, parent: str | None) -> Block:
    reason = verdict.rationale or ""
    long = len(reason) > 70 * RATIONALE_ROWS or len(wrap_text(reason, 70, RATIONALE_ROWS + 1)) > RATIONALE_ROWS
    return Block(
        key,
        partial(judge_lines, verdict),
        stop=long,
        foldable=long,
        folded=long,
        pages=long,
        parent=parent,
        title=f"judge {visible(verdict.by or '')}",
        full=lambda: reason,
    )


def label_verdict(item: Item) -> Verdict | None:
    """The judge's labels of the reply."""
    found = (v for v in item.verdicts if v.source == "judge" and v.target == RESPONSE and isinstance(v.value, list))
    return next(found, None)
