"""Build the document of an item: its blocks in order, the header line, cursor positions,
metadata and raw records.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from math import isfinite
from typing import Any, NamedTuple

from fcreview.model.address import RESPONSE, parse_address
from fcreview.model.item import Item
from fcreview.model.sanitize import clip, display_width, sanitize
from fcreview.model.wording import format_count
from fcreview.store.rows import ItemDetail
from fcreview.tui.item_view.blocks import (
    Block,
    DecisiveStepMark,
    DisplayOptions,
    IndexedItem,
    LineRenderer,
    fold_symbol,
)
from fcreview.tui.item_view.function_docs import available_function_blocks
from fcreview.tui.item_view.task import TASK_KEY, task_blocks
from fcreview.tui.item_view.turns import (
    conversation_items_blocks,
    dialogue_blocks,
    turn_overview_blocks,
)
from fcreview.tui.item_view.verdicts import (
    RATIONALE_ROWS,
    erratum_blocks,
    final_answer_blocks,
    import_issue_blocks,
    incident_blocks,
    judge_blocks,
    mark_reviewed_blocks,
    paragraph_lines,
    review_blocks,
    suspicion_blocks,
    verdict_reason_blocks,
)
from fcreview.tui.text.graphics import (
    FRAME_CELLS,
    frame_bottom,
    frame_side,
    frame_top,
    verdict_badge,
)
from fcreview.tui.text.layout import indent_json
from fcreview.tui.text.lines import (
    BLANK_LINE,
    Line,
    StyledText,
    fit_line,
    format_size,
    justify_line,
    line_width,
    pad_text,
    rule_line,
    truncate_middle,
)
from fcreview.tui.text.styles import get_verdict_style, symbols

CALL_BORDER, SECTION_BORDER = "dim", "track"
SECTIONS = (
    "suspicions",
    "verdicts",
    TASK_KEY,
    "answer",
    "erratum",
    "offer",
    "reviews",
    "issues",
    "extra",
    RESPONSE,
)


def draw_frames(blocks: Sequence[Block], *, frame_sections: bool) -> list[Block]:
    """Draw a frame around each unfolded call and, with `frame_sections`, around each section."""
    framed, at = list(blocks), 0
    while at < len(blocks):
        head, border = blocks[at], CALL_BORDER
        last = _last_index_in_call(blocks, at)
        if last is None and frame_sections and _is_section_start(head):
            last, border = _last_index_in_section(blocks, at), SECTION_BORDER
        if last is not None:
            for index in range(at, last + 1):
                footer = head.frame_footer if index == last else None
                render = partial(_framed_lines, blocks[index].lines, index == at, footer, border)
                framed[index] = replace(blocks[index], lines=render)
            at = last
        at += 1
    return framed


def _last_index_in_call(blocks: Sequence[Block], head_index: int) -> int | None:
    """Return the index of the last block in the frame of a call. None if the block at `head_index`
    begins no frame of a call.
    """
    head = blocks[head_index]
    part = parse_address(head.key)
    if part is None or part.call is None or part.argument is not None or head.folded:
        return None
    last = head_index
    for index in range(head_index + 1, len(blocks)):
        block = blocks[index]
        inside = block.is_argument or block.key.endswith(("/equal", "/said"))
        if not block.key.startswith(f"{head.key}/") or not inside:
            break
        last = index
    return last


def _is_section_start(block: Block) -> bool:
    is_unfolded_section = block.key in SECTIONS and not block.folded
    return is_unfolded_section or block.key.startswith("judge:") or block.key.endswith("/document")


def _last_index_in_section(blocks: Sequence[Block], head_index: int) -> int:
    key, last = blocks[head_index].key, head_index
    while last + 1 < len(blocks) and blocks[last + 1].key.startswith((f"{key}/", f"{key}:")):
        last += 1
    return last


def _framed_lines(
    render: LineRenderer, is_first: bool, footer: Line | None, border: str, cells: int
) -> list[Line]:
    """Draw a block's part of a frame, which several blocks may share. The first block draws the top
    border. A block with a `footer` draws the bottom border.
    """
    lines = render(max(cells - FRAME_CELLS, 8))
    framed: list[Line] = []
    if is_first:
        title, *lines = lines or [()]
        framed.append(frame_top(_remove_horizontal_rule(title), cells, border))
    framed += [frame_side(_use_theme_difference_sign(line), cells, border) for line in lines]
    if footer is not None:
        framed.append(frame_bottom(footer, cells, border))
    return framed


def _remove_horizontal_rule(line: Line) -> Line:
    rule = symbols().rule
    parts = [part for part in line if part[1] != "dim" or set(part[0].strip()) - {rule}]
    return tuple(parts) if line and set(line[0][0].strip()) == {rule} else line


def _use_theme_difference_sign(line: Line) -> Line:
    if line and line[0] == ("! ", "differs"):
        return ((f"{symbols().differs} ", "differs"), *line[1:])
    return line


METADATA_LABEL_CELLS = 18
MAX_FIELD_CHARS = 48


def metadata_blocks(detail: ItemDetail, options: DisplayOptions) -> list[Block]:
    """Return the metadata fields, one line each.

    Blind review hides them, because a field can reveal the verdict.
    """
    item = detail.item
    named = {
        "redacted": item.extra.redacted or None,
        "ended": item.ended,
        "setting": item.setting,
        "latency by step": item.seconds,
    }
    fields = {
        name: value for name, value in named.items() if value is not None
    } | item.extra.metadata
    fields = {} if options.hide_verdicts else fields
    if not fields and not options.frames:
        return []
    name_cells = min(max((display_width(sanitize(name)) for name in fields), default=0), 24)
    folded = options.frames and (not fields or options.is_folded("extra", True))
    on_screen = partial(_metadata_heading, detail, folded, bool(fields))
    heading = (
        on_screen if options.frames else lambda cells: [rule_line((("metadata", "strong"),), cells)]
    )
    blocks = [
        Block(
            "extra",
            heading,
            foldable=options.frames and bool(fields),
            folded=folded,
            title="metadata",
        )
    ]
    for name, value in {} if folded else fields.items():
        value = round_numbers(value)
        text = (
            value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
        )
        long = len(text) > MAX_FIELD_CHARS
        label = pad_text(sanitize(name), name_cells)[0]
        blocks.append(
            Block(
                f"extra:{name}",
                partial(_metadata_field_lines, label, text, options.unfold_hint),
                foldable=long,
                folded=long,
                parent="extra" if options.frames else None,
                opens_pager=True,
                title=sanitize(name),
                full_text=partial(str, text),
            )
        )
    return blocks


def _metadata_heading(detail: ItemDetail, folded: bool, has_fields: bool, cells: int) -> list[Line]:
    ((summary, style),) = item_facts_lines(detail, max(cells - METADATA_LABEL_CELLS, 1))[0]
    line: Line = (
        *(fold_symbol(folded) if has_fields else (("  ", ""),)),
        ("metadata", "strong"),
        ("  ", ""),
        (summary, style),
    )
    return [line] if folded else [rule_line(line, cells)]


def round_numbers(value: Any, *, in_object: bool = False) -> Any:
    """Round floats in a JSON value for display: to four decimals, or to three significant digits if
    small.

    Inside an object, only the extra digits of binary fractions (`0.30000000000000004`) are removed,
    because the floats may be exact data such as coordinates.
    """
    if isinstance(value, float) and isfinite(value):
        return float(f"{value:.12g}") if in_object else (round(value, 4) or float(f"{value:.3g}"))
    if isinstance(value, list):
        return [round_numbers(element, in_object=in_object) for element in value]
    if isinstance(value, dict):
        return {name: round_numbers(inner, in_object=True) for name, inner in value.items()}
    return value


def _metadata_field_lines(label: str, text: str, unfold_hint: str, cells: int) -> list[Line]:
    size = f"  {format_size(text)}, {unfold_hint}" if len(text) > MAX_FIELD_CHARS else ""
    left: Line = ((f"  {label}  ", "dim"), (sanitize(text[: cells * 2]), ""))
    return [justify_line(left, ((size, "dim"),), cells)]


MIN_ID_CELLS = 20
MIN_GROUP_CELLS = 13
HIDDEN = "hidden"


def header_line(
    detail: ItemDetail,
    item_index: int | None,
    n_items: int,
    cells: int,
    *,
    hide_verdicts: bool = False,
    show_id: bool = True,
) -> Line:
    """Render the header of an item.

        live_simple_3-2-1   3/640   official FAIL   recomputed FAIL   you –   live_simple · 0.6 s

    Position and verdicts are never cut. If the line is too long, it is shortened in this order:
    fewer facts and smaller gaps, symbols instead of badges, a cut in the middle of the id.

    `show_id`: whether the line begins with the id.
    """
    place = f"{symbols().none if item_index is None else f'{item_index + 1:,}'}/{n_items:,}"
    row, item_id = detail.row, sanitize(detail.row.id) if show_id else ""
    automatic = [("official", row.official), ("recomp.", row.rule), ("judge", row.judge)]
    verdicts = [(name, HIDDEN if hide_verdicts else value) for name, value in automatic] + [
        ("you", row.you)
    ]
    if not hide_verdicts and row.human is not None and row.human != row.you:
        verdicts.append(("reviews", row.human))  # An adjudication, or reviews of others.
    has_judge = row.judge is not None or any(
        verdict.source == "judge" for verdict in detail.item.verdicts
    )
    fewer = verdicts if has_judge else [verdict for verdict in verdicts if verdict[0] != "judge"]
    long_names = [("recomputed" if name == "recomp." else name, value) for name, value in fewer]
    variants = [
        ("   ", long_names, True),
        ("  ", long_names, True),
        ("  ", fewer, True),
        (" ", fewer, True),
    ]
    variants += [
        ("   ", verdicts, False),
        ("  ", verdicts, False),
        ("  ", fewer, False),
        (" ", fewer, False),
    ]
    for gap, entries, badges in variants:
        parts: list[StyledText] = [(gap + place if show_id else place, "dim")]
        for name, value in entries:
            verdict = _header_verdict(name, value, row.your_parts, badge=badges)
            if name == "you" and row.is_own_verdict_contradicted and not hide_verdicts:
                verdict = f"({symbols().verdict_symbol(value)})", "dim"
            parts += [(f"{gap}{name} ", "dim"), verdict]
        parts += [(" STALE", "warn")] if row.stale else []
        used = line_width(tuple(parts)) + 1
        if used + display_width(item_id) + 1 <= cells:
            break
    id_cells = max(cells - used, min(display_width(item_id), MIN_ID_CELLS, cells - used))
    left: Line = ((" " + truncate_middle(item_id, id_cells), "strong"), *parts)
    facts = _format_header_facts(detail, cells - line_width(left) - 3)
    return justify_line(left, ((f"{facts} ", "dim"),), cells) if facts else fit_line(left, cells)


def _format_header_facts(detail: ItemDetail, cells: int) -> str:
    item = detail.item
    facts = [sanitize(item.category)]
    facts += [format_count(item.n_turns, "turn")] if item.n_turns > 1 else []
    facts += [f"{item.latency:.1f} s"] if item.latency is not None else []
    texts = [f" {symbols().separator} ".join(facts[:count]) for count in range(len(facts), 0, -1)]
    return next((text for text in texts if display_width(text) <= cells), "")


def _header_verdict(name: str, value: Any, n_reviewed_parts: int, *, badge: bool) -> StyledText:
    if value == HIDDEN:
        return HIDDEN, "dim"
    if name == "you" and (not badge or (value is None and n_reviewed_parts)):
        return symbols().annotator_symbol(value, n_reviewed_parts), get_verdict_style(value)
    return (
        verdict_badge(value)
        if badge
        else (symbols().verdict_symbol(value), get_verdict_style(value))
    )


def item_facts_lines(detail: ItemDetail, cells: int) -> list[Line]:
    """Return one line with category, conversation, turns, tokens, latency, model and benchmark."""
    run, item = detail.run, detail.item
    parts = []
    if item.n_turns > 1 or item.n_steps > 1:
        parts.append(f"{format_count(item.n_turns, 'turn')}, {format_count(item.n_steps, 'step')}")
    if item.tokens_in is not None:
        parts.append(f"{item.tokens_in}+{item.tokens_out or 0} tokens")
    if item.latency is not None:
        parts.append(f"{item.latency:.1f} s")
    parts += [detail.row.run_name, run.full_title]
    first = [sanitize(item.category)]
    if item.group:
        room = cells - display_width(sanitize(" · ".join([*first, "group ", *parts])))
        first.append(
            f"group {truncate_middle(sanitize(item.group), max(room, MIN_GROUP_CELLS), 1 / 2)}"
        )
    return [((clip(sanitize(" · ".join([*first, *parts])), cells), "dim"),)]


TRAJECTORY_REASON_ROWS = 3


def build_document(detail: ItemDetail, annotator: str, options: DisplayOptions) -> list[Block]:
    """Build the blocks of an item. The reasons of the verdicts come first in a trajectory, and if
    all verdicts are from judges.
    """
    item = detail.item
    indexed = IndexedItem(item, detail.opinions, annotator, hide_verdicts=options.hide_verdicts)
    only_judged = (
        item.official is None
        and item.rule is None
        and not item.pairs
        and bool(judge_blocks(indexed))
    )
    verdicts_first = (indexed.is_trajectory or only_judged) and not indexed.only_last_turn_judged
    on_screen = options.frames
    reason_rows = TRAJECTORY_REASON_ROWS if verdicts_first else RATIONALE_ROWS
    verdicts = verdict_reason_blocks(indexed, reason_rows, options)
    judged = judge_blocks(indexed, max_rows=reason_rows)
    # The cursor starts at the first heading.
    judged = [replace(each, is_heading=only_judged) for each in judged]
    blocks = [
        *incident_blocks(item),
        *([] if on_screen else [Block("about", partial(item_facts_lines, detail))]),
        *suspicion_blocks(
            None if options.hide_verdicts else options.suspicion, has_heading=options.panels
        ),
        *conversation_items_blocks(detail.siblings, detail.row.item, options.group_keys),
        *turn_overview_blocks(indexed),
        *(verdicts if verdicts_first else []),
        *(judged if only_judged else []),
        *task_blocks(item, options),
        *dialogue_blocks(indexed, options),
        *final_answer_blocks(item, options),
        *erratum_blocks(item.extra.erratum, options),
        *([] if verdicts_first else verdicts),
        *([] if only_judged else judged),
        *available_function_blocks(indexed, options),
        *review_blocks(indexed),
        *import_issue_blocks(item.issues),
        *metadata_blocks(detail, options),
        Block("end", lambda _: [BLANK_LINE]),
    ]
    blocks = mark_reviewed_blocks(blocks, detail.opinions, annotator)
    blocks = (
        draw_frames(blocks, frame_sections=options.panels)
        if on_screen and not options.unfold_all
        else blocks
    )
    return add_decisive_step_note(blocks, indexed, options.confirm_key)


class RawRecord(NamedTuple):
    """Record of the item in a file of the run (`result` or `score`), with its location as
    `FILE:LINE`.
    """

    name: str
    location: str
    text: str
    """Text of the record, unchanged, or the reason why the record cannot be read."""


def format_location(file: object, line: object) -> str:
    return f"{file}:{line}" if file and line else str(file or "")


def format_score_record_location(item: Item) -> str:
    """Return the location of the item's entry in the score file, as `FILE:LINE`.

    Empty if the item has no entry.
    """
    record = item.extra.score_record
    return format_location(record.file, record.line) if record is not None else ""


def join_records(records: Sequence[RawRecord], *, indented: bool) -> str:
    """Join records into one text, each below its location.

    `indented`: spread JSON over several lines.
    """
    dash = symbols().rule * 2
    parts = []
    for record in records:
        head = f"{dash} {record.name} {dash}" + (f"\n{record.location}" if record.location else "")
        parts.append(
            f"{head}\n{indent_json(record.text.strip()) if indented else record.text.rstrip()}\n"
        )
    return "\n".join(parts)


NOTE_ROWS = 3


def add_decisive_step_note(
    blocks: Sequence[Block], indexed: IndexedItem, confirm_key: str
) -> list[Block]:
    """Add a note above the message of the decisive step or, if it is not shown, above the
    nearest earlier message.
    """
    mark = indexed.decisive_step
    numbered = [
        (block.message_number, -at)
        for at, block in enumerate(blocks)
        if block.message_number is not None
    ]
    earlier = [each for each in numbered if mark is not None and each[0] <= mark.message_number]
    if mark is None or not earlier:
        return [*blocks]
    at = -max(earlier)[1]
    first = blocks[at]

    def render_lines(cells: int) -> list[Line]:
        return [*_decisive_step_note_lines(mark, confirm_key, cells), *first.lines(cells)]

    step = replace(
        first,
        lines=render_lines,
        is_decisive=True,
        is_heading=True,
        message_number=mark.message_number,
    )
    return [*blocks[:at], step, *blocks[at + 1 :]]


def _decisive_step_note_lines(mark: DecisiveStepMark, confirm_key: str, cells: int) -> list[Line]:
    is_guess = mark.message_number == mark.guessed_number
    if is_guess:
        hint = f" · {confirm_key} to confirm" if confirm_key else ""
        source = (
            f"confirmed by {', '.join(mark.people)}"
            if mark.people
            else f"guessed by fcreview{hint}"
        )
    else:
        source = f"marked by {', '.join(mark.people)}"
    left: Line = (
        ("decisive step", "warn"),
        (sanitize(f" · message {mark.message_number} · {source}"), "dim"),
    )
    if is_guess or not mark.guess_reason:
        kind: Line = ((f"{sanitize(mark.guess_kind)} ", "dim"),)
        lines = [
            justify_line(left, kind if line_width(left) + line_width(kind) < cells else (), cells)
        ]
        return [*lines, *paragraph_lines("", mark.guess_reason, cells, "", NOTE_ROWS)]
    guess = paragraph_lines(
        f"guess: message {mark.guessed_number}  ", mark.guess_reason, cells, "dim", NOTE_ROWS
    )
    return [justify_line(left, (), cells), *guess]
