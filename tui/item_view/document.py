"""Build the document of an item: its blocks in order, the header line, cursor positions,
metadata and raw records.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import isfinite
from typing import Any, NamedTuple

from fcreview.model.address import RESPONSE, parse_address
from fcreview.model.item import Item
from fcreview.model.sanitize import clip, display_width, pad, sanitize
from fcreview.model.wording import format_count
from fcreview.store.rows import ItemDetail, QueueRow
from fcreview.tui.item_view.blocks import (
    Block,
    DecisiveStepMark,
    DisplayOptions,
    IndexedItem,
    LineRenderer,
    fold_symbol,
)
from fcreview.tui.item_view.function_docs import FUNCTIONS_KEY, available_function_blocks
from fcreview.tui.item_view.task import TASK_KEY, task_blocks
from fcreview.tui.item_view.turns import (
    conversation_items_blocks,
    dialogue_blocks,
    turn_overview_blocks,
)
from fcreview.tui.item_view.verdicts import (
    RATIONALE_ROWS,
    add_suspicion_notes,
    erratum_blocks,
    final_answer_blocks,
    golden_fix_blocks,
    import_issue_blocks,
    incident_blocks,
    judge_blocks,
    judgement_blocks,
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
    LineBuilder,
    StyledText,
    fit_line,
    format_size,
    justify_line,
    line_width,
    make_line,
    rule_line,
    truncate_middle,
)
from fcreview.tui.text.run_names import format_run_name, use_own_separator
from fcreview.tui.text.short_names import shorten_run_name
from fcreview.tui.text.styles import get_verdict_style, symbols

CALL_BORDER = "call_border"
SECTION_BORDER = "track"
"""Styles of the borders of calls and sections."""
METADATA_KEY = "extra"
SECTIONS = (
    "suspicions",
    "verdicts",
    TASK_KEY,
    "answer",
    "erratum",
    "golden_fix",
    FUNCTIONS_KEY,
    "reviews",
    "issues",
    METADATA_KEY,
    RESPONSE,
)


def draw_frames(blocks: Sequence[Block], *, frame_sections: bool) -> list[Block]:
    """Draw a frame around each unfolded call and, with `frame_sections`, around each section.

    A frame surrounds several successive blocks, such as the heading of a call and its arguments.
    Other blocks stay as they are.
    """
    framed: list[Block] = []
    index = 0
    while index < len(blocks):
        last_in_call = _last_index_in_call(blocks, index)
        if last_in_call is not None:
            framed += _draw_frame(blocks[index : last_in_call + 1], CALL_BORDER)
            index = last_in_call + 1
        elif frame_sections and _is_section_start(blocks[index]):
            last_in_section = _last_index_in_section(blocks, index)
            framed += _draw_frame(blocks[index : last_in_section + 1], SECTION_BORDER)
            index = last_in_section + 1
        else:
            framed.append(blocks[index])
            index += 1
    return framed


def _draw_frame(blocks: Sequence[Block], border: str) -> list[Block]:
    """Draw one frame around several successive blocks.

    Each block draws its own part of the frame: the first block the top border, the last block the
    bottom border with the footer of the first block.
    """
    head = blocks[0]
    last = blocks[-1]
    # The frame of a call is named, because it is highlighted while the cursor is inside.
    frame = head.key if border == CALL_BORDER else ""
    framed = []
    for block in blocks:
        render_in_frame = partial(
            _framed_lines,
            block.lines,
            is_first=block is head,
            footer=head.frame_footer if block is last else None,
            border=border,
        )
        framed.append(replace(block, lines=render_in_frame, frame=frame))
    return framed


def _last_index_in_call(blocks: Sequence[Block], head_index: int) -> int | None:
    """Return the index of the last block in the frame of a call. None if the block at `head_index`
    begins no frame of a call.
    """
    head = blocks[head_index]
    if head.folded or not _is_call_heading(head):
        return None
    last = head_index
    while last + 1 < len(blocks) and _is_in_frame_of_call(blocks[last + 1], head):
        last += 1
    return last


def _is_call_heading(block: Block) -> bool:
    part = parse_address(block.key)
    return part is not None and part.call is not None and part.argument is None


def _is_in_frame_of_call(block: Block, head: Block) -> bool:
    """Whether a block is an argument of the call, its equal arguments, or the verdicts on it."""
    is_framed_kind = block.is_argument or block.key.endswith(("/equal", "/said"))
    return is_framed_kind and block.key.startswith(f"{head.key}/")


def _is_section_start(block: Block) -> bool:
    is_unfolded_section = block.key in SECTIONS and not block.folded
    return is_unfolded_section or block.key.startswith("judge:") or block.key.endswith("/document")


def _last_index_in_section(blocks: Sequence[Block], head_index: int) -> int:
    """Return the index of the last block of a section.

    The keys of its blocks begin with the key of its heading.
    """
    key = blocks[head_index].key
    prefixes = (f"{key}/", f"{key}:")
    last = head_index
    while last + 1 < len(blocks) and blocks[last + 1].key.startswith(prefixes):
        last += 1
    return last


MIN_FRAMED_CELLS = 8


def _framed_lines(
    render: LineRenderer, cells: int, *, is_first: bool, footer: Line | None, border: str
) -> list[Line]:
    """Render a block and the part of a frame around it.

    The first block of a frame draws the top border. The block with a `footer` draws the bottom
    border. `render`: renders the block without the frame.
    """
    lines = list(render(max(cells - FRAME_CELLS, MIN_FRAMED_CELLS)))
    framed: list[Line] = []
    if is_first:
        # The first line of the block becomes the title in the border.
        title = lines.pop(0) if lines else BLANK_LINE
        framed.append(frame_top(_remove_horizontal_rule(title), cells, border))
    for line in lines:
        framed.append(frame_side(line, cells, border))
    if footer is not None:
        framed.append(frame_bottom(footer, cells, border))
    return framed


def _remove_horizontal_rule(line: Line) -> Line:
    """Return the text of a line that `rule_line` made. Any other line is unchanged."""
    if not line:
        return line
    first_text, _ = line[0]
    if set(first_text.strip()) != {symbols().rule}:
        return line
    return tuple((text, style) for text, style in line if not _is_rule(text, style))


def _is_rule(text: str, style: str) -> bool:
    return style == "dim" and set(text.strip()) <= {symbols().rule}


METADATA_LABEL_CELLS = 18
MAX_METADATA_NAME_CELLS = 24
MAX_FIELD_CHARS = 48


def metadata_blocks(detail: ItemDetail, options: DisplayOptions) -> list[Block]:
    """Return the metadata of the item: a heading and a line for each field.

    On screen, the heading folds the fields. Blind review hides them, because a field can reveal the
    verdict.
    """
    # Only the document on the screen has frames. A document in a file has none, and folds nothing.
    is_on_screen = options.frames
    fields = {} if options.hide_verdicts else _list_metadata(detail.item)
    if not fields:
        if not is_on_screen:
            return []
        # On screen, the heading also shows the facts about the item, so it stays.
        return [_metadata_heading_block(detail, options, folded=True, has_fields=False)]

    is_folded = is_on_screen and options.is_folded(METADATA_KEY, by_default=True)
    heading = _metadata_heading_block(detail, options, folded=is_folded, has_fields=True)
    if is_folded:
        return [heading]

    # The values of all fields begin in the same column.
    longest_name = max(display_width(sanitize(name)) for name in fields)
    name_cells = min(longest_name, MAX_METADATA_NAME_CELLS)
    blocks = [heading]
    for name, value in fields.items():
        blocks.append(_metadata_field_block(name, value, name_cells, options))
    return blocks


def _list_metadata(item: Item) -> dict[str, Any]:
    """Return the metadata fields of an item: facts about the answer, then those of the
    benchmark.
    """
    fields: dict[str, Any] = {
        "redacted": item.extra.redacted or None,
        "ended": item.ended,
        "setting": item.setting,
        "latency by step": item.seconds,
    }
    known_fields = {name: value for name, value in fields.items() if value is not None}
    return known_fields | item.extra.metadata


def _metadata_heading_block(
    detail: ItemDetail, options: DisplayOptions, *, folded: bool, has_fields: bool
) -> Block:
    """Return the heading of the metadata.

    Printed, it is only a line with the title. On screen, it shows facts about the item, and the
    fields below it can be folded.
    """

    def render_printed_lines(cells: int) -> list[Line]:
        return [rule_line(make_line("metadata", "strong"), cells)]

    def render_lines_on_screen(cells: int) -> list[Line]:
        return [_metadata_heading(detail, cells, folded=folded, has_fields=has_fields)]

    return Block(
        METADATA_KEY,
        render_lines_on_screen if options.frames else render_printed_lines,
        foldable=options.frames and has_fields,
        folded=folded,
        title="metadata",
    )


def _metadata_heading(detail: ItemDetail, cells: int, *, folded: bool, has_fields: bool) -> Line:
    """Return `▸ metadata facts about the item`. Unfolded, it is drawn as a rule."""
    # The facts are always one line.
    (summary,) = item_facts_lines(detail, max(cells - METADATA_LABEL_CELLS, 1))
    line = LineBuilder()
    if has_fields:
        line.add_line(fold_symbol(folded))
    else:
        line.add("  ")
    line.add("metadata", "strong")
    line.add("  ")
    line.add_line(summary)
    return line.build() if folded else rule_line(line.build(), cells)


def _metadata_field_block(name: str, value: Any, name_cells: int, options: DisplayOptions) -> Block:
    """Return the line of a metadata field: its name, padded to `name_cells`, and its value.

    A value that is no text is shown as JSON. A long value can be opened in the pager.
    """
    rounded = round_numbers(value)
    if isinstance(rounded, str):
        text = rounded
    else:
        text = json.dumps(rounded, ensure_ascii=False, default=str)
    is_long = len(text) > MAX_FIELD_CHARS
    label = pad(sanitize(name), name_cells)
    return Block(
        f"{METADATA_KEY}:{name}",
        partial(_metadata_field_lines, label, text, options.unfold_hint),
        foldable=is_long,
        folded=is_long,
        parent=METADATA_KEY if options.frames else None,
        opens_pager=True,
        title=sanitize(name),
        full_text=lambda: text,
    )


def round_numbers(value: Any, *, in_object: bool = False) -> Any:
    """Round the floats in a JSON value for display, at any depth.

    A float has four decimals (`0.6667`), or three significant digits if these are all 0
    (`1.23e-05`). Inside an object, the floats may be exact data, such as coordinates. There, only
    the extra digits of binary fractions (`0.30000000000000004`) are removed.
    """
    if isinstance(value, float) and isfinite(value):
        if in_object:
            return float(f"{value:.12g}")
        rounded = round(value, 4)
        is_small = rounded == 0
        return float(f"{value:.3g}") if is_small else rounded
    if isinstance(value, list):
        return [round_numbers(element, in_object=in_object) for element in value]
    if isinstance(value, dict):
        return {name: round_numbers(member, in_object=True) for name, member in value.items()}
    return value


def _metadata_field_lines(label: str, text: str, unfold_hint: str, cells: int) -> list[Line]:
    """Return a field of the metadata on one line. The size of a long value is at the right."""
    size = ""
    if len(text) > MAX_FIELD_CHARS:
        size = f"  {format_size(text)}, {unfold_hint}"
    left: Line = ((f"  {label}  ", "dim"), (sanitize(text[: cells * 2]), ""))
    return [justify_line(left, make_line(size, "dim"), cells)]


MIN_GROUP_CELLS = 13
HIDDEN = "hidden"


@dataclass(frozen=True, slots=True)
class _HeaderVerdict:
    """Verdict of one source in the header."""

    title: str
    narrow_title: str
    badge: StyledText
    symbol: StyledText
    is_of_missing_judge: bool = False
    """Whether the verdict is a judge's, and no judge judged the item."""


@dataclass(frozen=True, slots=True)
class _HeaderLayout:
    """Spacing of the header, and how it shows the verdicts."""

    gap: str
    has_badges: bool = False
    """Whether verdicts are badges rather than symbols."""
    has_long_titles: bool = False
    names_missing_judge: bool = False

    def build(self, position: str, verdicts: Sequence[_HeaderVerdict], *, is_stale: bool) -> Line:
        """Return the middle of the header: the position, then each verdict with its title.

        The layout decides how wide the titles, verdicts and gaps are.
        """
        line = LineBuilder()
        line.add(position, "dim")
        for verdict in verdicts:
            if verdict.is_of_missing_judge and not self.names_missing_judge:
                continue
            title = verdict.title if self.has_long_titles else verdict.narrow_title
            line.add(f"{self.gap}{title} ", "dim")
            line.add(*(verdict.badge if self.has_badges else verdict.symbol))
        if is_stale:
            line.add(" STALE", "warn")
        return line.build()


MIN_HEADER_BLANKS = 3
"""Minimum number of blanks beside the facts of the header."""
HEADER_LAYOUTS = (
    _HeaderLayout("   ", has_badges=True, has_long_titles=True),
    _HeaderLayout("  ", has_badges=True, has_long_titles=True),
    _HeaderLayout("  ", has_badges=True),
    _HeaderLayout(" ", has_badges=True),
    _HeaderLayout("   ", names_missing_judge=True),
    _HeaderLayout("  ", names_missing_judge=True),
    _HeaderLayout("  "),
    _HeaderLayout(" "),
)
"""Layouts of the header, the widest first."""
BADGE_LAYOUTS = tuple(layout for layout in HEADER_LAYOUTS if layout.has_badges)
"""Layouts with verdicts as badges such as `FAIL`. The others have only symbols."""
MIN_HEADER_ID_CELLS = 12


def header_line(
    detail: ItemDetail,
    item_index: int | None,
    n_items: int,
    cells: int,
    *,
    hide_verdicts: bool = False,
    show_id: bool = True,
    run_names: Sequence[str] = (),
) -> Line:
    """Render the header: `live_simple_3-2-1   3/640   official FAIL   recomputed FAIL   you –
    gpt-4o   live_simple · 0.6 s`.

    Position and verdicts are never cut. If the line is too long, it is shortened in this order:
    fewer facts and smaller gaps, a shorter name of the run, symbols instead of badges, a cut in the
    middle of the id.

    Args:
        show_id: Whether the line begins with the id.
        run_names: Names of the opened runs, from which a shortened name of the run must differ. If
            there are several, room is made for the name. Blind review hides the name.
    """
    item_id = sanitize(detail.row.id) if show_id else ""
    facts = _HeaderFacts.collect(detail, run_names, hide_run=hide_verdicts)

    # Choose the layout of position and verdicts that leaves room for the whole id and the facts.
    blanks_around_id = 2
    position_and_verdicts = _fit_header_verdicts(
        detail,
        _format_position(item_index, n_items),
        cells - display_width(item_id) - blanks_around_id,
        facts,
        hide_verdicts=hide_verdicts,
        follows_id=show_id,
    )

    # If even the narrowest layout leaves too little room, the id is cut.
    blank_before_id = 1
    free_cells = cells - line_width(position_and_verdicts) - blank_before_id
    shown_id = truncate_middle(item_id, _choose_header_id_width(free_cells, facts))
    left: Line = ((f" {shown_id}", "strong"), *position_and_verdicts)

    # At the right end are as many facts as fit.
    right = facts.fit_to_width(cells - line_width(left) - MIN_HEADER_BLANKS)
    if not right:
        return fit_line(left, cells)
    blank_at_end: StyledText = (" ", "")
    return justify_line(left, (*right, blank_at_end), cells)


def _choose_header_id_width(free_cells: int, facts: _HeaderFacts) -> int:
    """Return the width of the id, which shares `free_cells` with the facts.

    The id leaves the facts their minimum, unless its own width would fall below its minimum.
    """
    min_id_cells = min(free_cells, MIN_HEADER_ID_CELLS)
    return max(free_cells - facts.min_width, min_id_cells)


def mark_focused_header(header: Line) -> Line:
    """Return the header with the mark of the focused pane beside a list, in place of the first
    blank. A pane that has no width yet has an empty header.
    """
    if not header:
        return header
    (text, style), *rest = header
    return ((symbols().cursor + text.removeprefix(" "), style), *rest)


def _fit_header_verdicts(
    detail: ItemDetail,
    position: str,
    cells: int,
    facts: _HeaderFacts,
    *,
    hide_verdicts: bool,
    follows_id: bool,
) -> Line:
    """Return position and verdicts in the widest layout that leaves enough of `cells` for the
    facts, or else in the narrowest one.

    A layout with badges is chosen first if it leaves room for a comfortable name of the run. Else
    the name may be short, and the layout can be any one.
    """
    verdicts = _list_header_verdicts(detail, hide_verdicts=hide_verdicts)

    def build(layout: _HeaderLayout) -> Line:
        gap = layout.gap if follows_id else ""
        return layout.build(gap + position, verdicts, is_stale=detail.row.stale)

    for layout in BADGE_LAYOUTS:
        line = build(layout)
        if line_width(line) + facts.preferred_width <= cells:
            return line
    # Badges matter more than a comfortable name of the run, so the facts get their minimum.
    for layout in HEADER_LAYOUTS:
        line = build(layout)
        if line_width(line) + facts.min_width <= cells:
            return line
    return build(HEADER_LAYOUTS[-1])


def _format_position(item_index: int | None, n_items: int) -> str:
    """Return `3/640`, with a dash if the queue does not contain the item."""
    number = symbols().none if item_index is None else f"{item_index + 1:,}"
    return f"{number}/{n_items:,}"


def _list_header_verdicts(detail: ItemDetail, *, hide_verdicts: bool) -> list[_HeaderVerdict]:
    """Return the verdicts of the header: official, recomputed, judge, and the annotator's own.

    A verdict of the other annotators follows if it differs from the annotator's own.
    """
    row = detail.row
    # Without a judge verdict on the item, the layout may leave out the judge.
    is_judged = any(verdict.source == "judge" for verdict in detail.item.verdicts)
    has_judge = row.judge is not None or is_judged
    verdicts = [
        _automatic_header_verdict("official", row.official, is_hidden=hide_verdicts),
        _automatic_header_verdict(
            "recomputed", row.recomputed, narrow_title="recomp.", is_hidden=hide_verdicts
        ),
        _automatic_header_verdict(
            "judge", row.judge, is_hidden=hide_verdicts, is_of_missing_judge=not has_judge
        ),
        _own_header_verdict(row, hide_verdicts=hide_verdicts),
    ]
    # An adjudication or the reviews of others can differ from the annotator's own verdict.
    if not hide_verdicts and row.human is not None and row.human != row.you:
        verdicts.append(_automatic_header_verdict("reviews", row.human))
    return verdicts


def _automatic_header_verdict(
    title: str,
    value: Any,
    *,
    narrow_title: str = "",
    is_hidden: bool = False,
    is_of_missing_judge: bool = False,
) -> _HeaderVerdict:
    """Return a verdict of the header in its two forms: as a badge (`FAIL`) and as a symbol (`✗`).

    Blind review hides both.
    """
    if is_hidden:
        badge: StyledText = (HIDDEN, "dim")
        symbol: StyledText = (HIDDEN, "dim")
    else:
        badge = verdict_badge(value)
        symbol = (symbols().verdict_symbol(value), get_verdict_style(value))
    return _HeaderVerdict(
        title,
        narrow_title or title,
        badge=badge,
        symbol=symbol,
        is_of_missing_judge=is_of_missing_judge,
    )


def _own_header_verdict(row: QueueRow, *, hide_verdicts: bool) -> _HeaderVerdict:
    """Return the annotator's verdict on the item for the header, as a badge such as PASS and as a
    symbol.

    If the annotator has reviewed only parts of the item, such as a call, the badge is a symbol too.
    A verdict on the item that contradicts the annotator's verdicts on its parts is in parentheses.
    """
    if row.is_own_verdict_contradicted and not hide_verdicts:
        # A verdict in parentheses does not count.
        contradicted: StyledText = (f"({symbols().verdict_symbol(row.you)})", "dim")
        return _HeaderVerdict("you", "you", badge=contradicted, symbol=contradicted)

    # `your_parts` counts the annotator's verdicts on calls, turns and arguments.
    symbol: StyledText = (
        symbols().annotator_symbol(row.you, row.your_parts),
        get_verdict_style(row.you),
    )
    has_only_part_verdicts = row.you is None and row.your_parts > 0
    badge = symbol if has_only_part_verdicts else verdict_badge(row.you)
    return _HeaderVerdict("you", "you", badge=badge, symbol=symbol)


MIN_RUN_NAME_CELLS = 10
PREFERRED_RUN_NAME_CELLS = 16
"""Width, in cells, of the run's name for which the gaps of the header are narrowed."""
MIN_CUT_NAME_CELLS = 5
RUN_NAME_GAP: StyledText = ("   ", "")


@dataclass(frozen=True, slots=True)
class _HeaderFacts:
    """Run, category, turns and latency at the right end of the header, sanitized."""

    run_name: str
    """Empty if the name is hidden."""
    run_names: tuple[str, ...]
    """Names of the opened runs, from which the shortened name must differ."""
    texts: list[str]
    """Facts after the run's name, the most important first."""

    @classmethod
    def collect(
        cls, detail: ItemDetail, run_names: Sequence[str], *, hide_run: bool
    ) -> _HeaderFacts:
        """Collect what the header of the item says: run names, category, number of turns and
        latency.
        """
        item = detail.item
        texts = [sanitize(item.category)]
        if item.n_turns > 1:
            texts.append(format_count(item.n_turns, "turn"))
        if item.latency is not None:
            texts.append(f"{item.latency:.1f} s")
        return cls(
            "" if hide_run else format_run_name(detail.row),
            run_names=tuple(use_own_separator(name) for name in run_names),
            texts=texts,
        )

    @property
    def min_width(self) -> int:
        """Cells for the shortest name of the run, with the blanks beside it. 0 if the header needs
        no name.
        """
        is_only_run = len(self.run_names) < 2
        return 0 if is_only_run else self._measure_name_with_blanks(MIN_RUN_NAME_CELLS)

    @property
    def preferred_width(self) -> int:
        """Cells for a comfortable name of the run, with the blanks beside it. 0 without a name."""
        return self._measure_name_with_blanks(PREFERRED_RUN_NAME_CELLS)

    def _measure_name_with_blanks(self, max_cells: int) -> int:
        if not self.run_name:
            return 0
        return min(display_width(self.run_name), max_cells) + MIN_HEADER_BLANKS

    def fit_to_width(self, cells: int) -> Line:
        """Return the run's name, shortened if necessary, and the facts that fit beside the whole
        name.
        """
        for n_facts in range(len(self.texts), 0, -1):
            facts = f" {symbols().separator} ".join(self.texts[:n_facts])
            line = make_line(facts, "dim")
            if self.run_name:
                line = ((self.run_name, ""), RUN_NAME_GAP, *line)
            if line_width(line) <= cells:
                return line

        if not self.run_name or cells < MIN_CUT_NAME_CELLS:
            return BLANK_LINE
        return ((shorten_run_name(self.run_name, self.run_names, cells), ""),)


def item_facts_lines(detail: ItemDetail, cells: int) -> list[Line]:
    """Return one line with category, conversation, turns, tokens, latency, model and benchmark."""
    item = detail.item
    facts = [item.category]
    facts += _list_size_facts(item)
    facts += [detail.row.run_name, detail.run.full_title]
    if item.group:
        # The name of the conversation is shortened, so that the other facts are visible.
        text_without_name = sanitize(" · ".join([*facts, "group "]))
        name_cells = max(cells - display_width(text_without_name), MIN_GROUP_CELLS)
        name = truncate_middle(sanitize(item.group), name_cells, 1 / 2)
        facts.insert(1, f"group {name}")
    text = sanitize(" · ".join(facts))
    return [make_line(clip(text, cells), "dim")]


def _list_size_facts(item: Item) -> list[str]:
    """Return the numbers of turns, steps and tokens, and the latency, if the item has them."""
    facts = []
    if item.n_turns > 1 or item.n_steps > 1:
        turns = format_count(item.n_turns, "turn")
        steps = format_count(item.n_steps, "step")
        facts.append(f"{turns}, {steps}")
    if item.tokens_in is not None:
        facts.append(f"{item.tokens_in}+{item.tokens_out or 0} tokens")
    if item.latency is not None:
        facts.append(f"{item.latency:.1f} s")
    return facts


TRAJECTORY_REASON_ROWS = 3


def build_document(detail: ItemDetail, annotator: str, options: DisplayOptions) -> list[Block]:
    """Build the blocks of an item. The reasons of the verdicts come first in a trajectory, and if
    all verdicts are from judges.
    """
    indexed = IndexedItem(
        detail.displayed_item, detail.opinions, annotator, hide_verdicts=options.hide_verdicts
    )
    blocks = _list_blocks(indexed, detail, options)
    blocks = mark_reviewed_blocks(blocks, detail.opinions, annotator)
    if not options.hide_verdicts:
        blocks = add_suspicion_notes(blocks, options.suspicion)
    if options.frames and not options.unfold_all:
        blocks = draw_frames(blocks, frame_sections=options.panels)
    return add_decisive_step_note(blocks, indexed, options.confirm_key)


def _list_blocks(indexed: IndexedItem, detail: ItemDetail, options: DisplayOptions) -> list[Block]:
    """Return the blocks of all sections of the item, from top to bottom.

    Frames, and the marks of reviewed blocks, are added later.
    """
    item = indexed.item
    verdicts = _divide_verdict_blocks(indexed, options)

    # What the reader must know before reading the item.
    blocks = incident_blocks(item)
    if not options.frames:
        blocks.append(Block("about", partial(item_facts_lines, detail)))
    if not options.hide_verdicts:
        blocks += suspicion_blocks(options.suspicion, has_heading=options.panels)
    blocks += conversation_items_blocks(detail.siblings, detail.row.item, options.group_keys)
    blocks += turn_overview_blocks(indexed)
    blocks += verdicts.above_task

    # What the model had to do, and what it did.
    blocks += golden_fix_blocks(detail, options)
    blocks += task_blocks(item, options)
    blocks += dialogue_blocks(indexed, options)
    blocks += final_answer_blocks(item, options)
    blocks += erratum_blocks(item.extra.erratum, options)
    blocks += verdicts.below_answer

    # What the reader looks up.
    blocks += available_function_blocks(indexed, options)
    blocks += judgement_blocks(detail.judgements)
    blocks += review_blocks(indexed)
    blocks += import_issue_blocks(item.issues)
    blocks += metadata_blocks(detail, options)
    blocks.append(Block("end", lambda _: [BLANK_LINE]))
    return blocks


class _VerdictBlocks(NamedTuple):
    """Blocks with the reasons of verdicts and the comments of judges, by their place."""

    above_task: list[Block]
    below_answer: list[Block]


def _divide_verdict_blocks(indexed: IndexedItem, options: DisplayOptions) -> _VerdictBlocks:
    """Divide the blocks of the verdicts into those above the task and those below the answer.

    They usually are below the answer. There are two exceptions. A trajectory has its reasons above,
    because its end is far away. If all verdicts are from judges, the reasons and the judges'
    comments are above. But if only the last turn is judged, the reasons stay below, beside it.
    """
    is_only_judged = _is_only_judged(indexed)
    are_reasons_above = False
    if not indexed.only_last_turn_judged:
        are_reasons_above = indexed.is_trajectory or is_only_judged

    max_rows = TRAJECTORY_REASON_ROWS if are_reasons_above else RATIONALE_ROWS
    reasons = verdict_reason_blocks(indexed, max_rows, options)
    comments = judge_blocks(indexed, max_rows=max_rows)
    if is_only_judged:
        # The cursor starts at the first heading, and should start at the comments.
        for block in comments:
            block.is_heading = True

    if not are_reasons_above and not is_only_judged:
        return _VerdictBlocks(above_task=[], below_answer=reasons + comments)
    if are_reasons_above and is_only_judged:
        return _VerdictBlocks(above_task=reasons + comments, below_answer=[])
    if are_reasons_above:
        return _VerdictBlocks(above_task=reasons, below_answer=comments)
    return _VerdictBlocks(above_task=comments, below_answer=reasons)


def _is_only_judged(indexed: IndexedItem) -> bool:
    """Whether all visible verdicts on the item are from judges, and no calls are compared."""
    item = indexed.item
    has_other_verdict = item.official is not None or item.rule is not None
    return not has_other_verdict and not item.pairs and bool(judge_blocks(indexed))


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
    """Join the raw records of an item into one text, each below its name and its location.

    With `indented`, JSON is spread over several lines.
    """
    dash = symbols().rule * 2
    parts = []
    for record in records:
        heading = f"{dash} {record.name} {dash}"
        if record.location:
            heading += f"\n{record.location}"
        text = indent_json(record.text.strip()) if indented else record.text.rstrip()
        parts.append(f"{heading}\n{text}\n")
    return "\n".join(parts)


NOTE_ROWS = 3


def add_decisive_step_note(
    blocks: Sequence[Block], indexed: IndexedItem, confirm_key: str
) -> list[Block]:
    """Add a note above the message of the decisive step, with which the model failed the item.

    If this message is not shown, the note is above the nearest earlier message. `confirm_key`: key
    that confirms the guess of fcreview.
    """
    noted = list(blocks)
    mark = indexed.decisive_step
    if mark is None:
        return noted
    index = _find_last_message_index(blocks, mark.message_number)
    if index is None:
        return noted

    block = blocks[index]

    def render_lines(cells: int) -> list[Line]:
        return _decisive_step_note_lines(mark, confirm_key, cells) + block.lines(cells)

    noted[index] = replace(
        block,
        lines=render_lines,
        is_decisive=True,
        is_heading=True,
        message_number=mark.message_number,
    )
    return noted


def _find_last_message_index(blocks: Sequence[Block], max_number: int) -> int | None:
    """Return the index of the first block of the last message up to `max_number`."""
    found_index = None
    found_number = 0
    for index, block in enumerate(blocks):
        number = block.message_number
        if number is not None and found_number < number <= max_number:
            found_index = index
            found_number = number
    return found_index


def _decisive_step_note_lines(mark: DecisiveStepMark, confirm_key: str, cells: int) -> list[Line]:
    """Render the note on the decisive step: who marked the message, and why fcreview guesses it.

    If an annotator marked another message than the guess, the guess follows on its own lines.
    """
    is_guess = mark.message_number == mark.guessed_number
    source = _describe_mark_source(mark, confirm_key, is_guess=is_guess)
    text = sanitize(f" · message {mark.message_number} · {source}")
    left: Line = (("decisive step", "warn"), (text, "dim"))
    if mark.guess_reason and not is_guess:
        label = f"guess: message {mark.guessed_number}  "
        guess = paragraph_lines(label, mark.guess_reason, cells, style="dim", max_rows=NOTE_ROWS)
        return [justify_line(left, (), cells), *guess]

    # Kind and reason of the guess belong to the marked message. Without a guess, they are empty.
    kind: Line = make_line(f"{sanitize(mark.guess_kind)} ", "dim")
    fits = line_width(left) + line_width(kind) < cells
    heading = justify_line(left, kind if fits else (), cells)
    return [heading, *paragraph_lines("", mark.guess_reason, cells, max_rows=NOTE_ROWS)]


def _describe_mark_source(mark: DecisiveStepMark, confirm_key: str, *, is_guess: bool) -> str:
    """Say who marked the decisive step: people, or fcreview, whose guess people can confirm."""
    people = ", ".join(mark.people)
    if not is_guess:
        return f"marked by {people}"
    if mark.people:
        return f"confirmed by {people}"
    if confirm_key:
        return f"guessed by fcreview · {confirm_key} to confirm"
    return "guessed by fcreview"
