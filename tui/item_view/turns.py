"""Build the blocks of an item's turns: the overview, opening messages, events, final state, and the
list of items of the conversation.

An item that is not a trajectory has a single turn without a heading.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial

from fcreview.matching.conversation import REASONING, is_only_call_text
from fcreview.matching.first_difference import ArgumentRow
from fcreview.model.address import turn_address
from fcreview.model.item import ABSENT, DiffState, Item, Message, StateDifference
from fcreview.model.json_value import to_json_text
from fcreview.model.sanitize import clip, sanitize
from fcreview.model.wording import format_count
from fcreview.store.rows import Sibling
from fcreview.tui.item_view.blocks import (
    LABEL_CELLS,
    Block,
    DisplayOptions,
    IndexedItem,
    one_line_block,
    other_role_block,
    pad_label,
    set_message_number,
    set_parent_block,
    state_snapshot_block,
    text_block,
)
from fcreview.tui.item_view.call_diff import column_headings, compute_argument_columns
from fcreview.tui.item_view.call_pairs import (
    argument_block,
    no_calls_block,
    single_turn_pair_blocks,
)
from fcreview.tui.item_view.task import is_task_message
from fcreview.tui.item_view.timeline import USER_ROWS, final_reply_blocks, turn_event_blocks
from fcreview.tui.item_view.verdicts import format_review_marks, target_verdict_and_review_blocks
from fcreview.tui.text.lines import Line, StyledText, format_size, line_width, rule_line
from fcreview.tui.text.styles import STATE_STYLES, get_verdict_style, symbols

STATES_BY_SEVERITY = "!-+~="
OVERVIEW_ROWS = 3


def turn_overview_blocks(indexed: IndexedItem) -> list[Block]:
    """Return the line `turns 1 = 2 = 3 -+ fails here`.

    Empty if the benchmark judges only one turn.
    """
    if indexed.n_turns < 2 or indexed.only_last_turn_judged:
        return []
    entries = [_turn_overview_entry(indexed, turn) for turn in range(indexed.n_turns)]
    return [
        Block(
            "turns",
            lambda cells: wrap_entries("turns  ", entries, cells)[:OVERVIEW_ROWS],
            title="turns",
        )
    ]


def _turn_overview_entry(indexed: IndexedItem, turn: int) -> Line:
    states = {pair.state for pair in indexed.pairs.get(turn, [])}
    by_severity = [state for state in STATES_BY_SEVERITY if state in states]
    differing = [state for state in by_severity if state in "!-+"]
    fails = turn == indexed.failing_turn
    parts: list[StyledText] = [(f"{turn + 1} ", "bad" if fails else "dim")]
    parts += [(state, STATE_STYLES[state]) for state in differing or by_severity[:1]] or [
        (symbols().none, "dim")
    ]
    parts += [(" fails here", "bad")] if fails else []
    marks = format_review_marks(indexed, turn_address(turn))
    return (*parts, *([(marks, "strong")] if marks else []))


def wrap_entries(label: str, entries: Sequence[Line], cells: int) -> list[Line]:
    """Lay out entries after a label, with two blanks between entries, on as many rows as
    necessary.
    """
    rows: list[Line] = []
    row: Line = ((label, "dim"),)
    for entry in entries:
        if line_width(row) + line_width(entry) + 2 > cells and line_width(row) > len(label):
            rows.append(row)
            row = ((" " * len(label), ""),)
        row = (*row, *entry, ("  ", ""))
    return [*rows, row]


def conversation_items_blocks(
    siblings: Sequence[Sibling], displayed_item: int, key_hint: str
) -> list[Block]:
    """Return the line `group 1 ✓ 2 ✗ [3 ✗] 4 ·` with the items of the conversation, the
    displayed item in brackets.
    """
    if len(siblings) < 2:
        return []
    at = next((n for n, sibling in enumerate(siblings) if sibling.item == displayed_item), 0)
    return [
        Block(
            "group",
            lambda cells: [_conversation_items_line(siblings, at, key_hint, cells)],
            title="group",
        )
    ]


def _conversation_items_line(
    siblings: Sequence[Sibling], displayed_index: int, key_hint: str, cells: int
) -> Line:
    ending: Line = ((f" {key_hint}", "dim"),) if key_hint else ()
    room = cells - line_width(ending) - 8
    first = last = displayed_index
    while True:  # Add neighbours on both sides, so that the current item stays in the middle.
        wider = [
            (a, b)
            for a, b in ((first - 1, last), (first, last + 1))
            if a >= 0 and b < len(siblings)
        ]
        fitting = [
            (a, b)
            for a, b in wider
            if line_width(_sibling_marks(siblings, a, b, displayed_index)) <= room
        ]
        if not fitting:
            break
        first, last = min(
            fitting, key=lambda ends: abs((displayed_index - ends[0]) - (ends[1] - displayed_index))
        )
    return (("group  ", "dim"), *_sibling_marks(siblings, first, last, displayed_index), *ending)


def _sibling_marks(
    siblings: Sequence[Sibling], first: int, last: int, displayed_index: int
) -> Line:
    parts: list[StyledText] = [("… ", "dim")] if first > 0 else []
    for n in range(first, last + 1):
        verdict = siblings[n].mark
        mark: StyledText = (symbols().verdict_symbol(verdict), get_verdict_style(verdict))
        parts += (
            [(f"[{n + 1} ", "strong"), mark, ("]", "strong")]
            if n == displayed_index
            else [(f"{n + 1} ", "dim"), mark]
        )
        parts.append(("  ", ""))
    return (*parts, *([("…", "dim")] if last < len(siblings) - 1 else []))


UNKNOWN_QUESTION = "question unknown: not found in any dataset"
NAMED_MESSAGE_ROWS = 1
UNNAMED_MESSAGE_ROWS = 4
FULL_DIALOGUE_ROWS = 40
REASONING_ROWS = 4


def opening_message_blocks(indexed: IndexedItem, turn: int, options: DisplayOptions) -> list[Block]:
    """Return the blocks of the messages before the model's first step in the turn, such as the
    request and instructions.
    """
    blocks: list[Block] = []
    unknown = turn == 0 and not has_question(indexed.item)
    if unknown:
        blocks.append(one_line_block(f"{turn_address(turn)}/opening", "user", UNKNOWN_QUESTION))
    for at, message in enumerate(indexed.messages.get(turn, [])):
        if message.step >= 0 or not _is_opening_message_shown(indexed, turn, at, message, options):
            continue
        if unknown and not message.content.strip():
            continue
        key = f"{turn_address(turn)}/opening:{at}"
        number = indexed.message_number(message)
        if message.role == "state":
            blocks += set_message_number(
                [state_snapshot_block(key, message.name or "", message.content)], number
            )
            continue
        if message.role == "other":
            blocks += set_message_number([other_role_block(key, message, options)], number)
            continue
        if options.full_dialogue:
            rows = FULL_DIALOGUE_ROWS
        elif message.role == "user":
            rows = USER_ROWS
        else:
            rows = NAMED_MESSAGE_ROWS if message.name else UNNAMED_MESSAGE_ROWS
        style = "" if message.role == "user" else "dim"
        title = f"turn {turn + 1} {message.name or message.role}"
        label = _sender_label(message)
        block = text_block(
            key, label, message.content, options, folded_rows=rows, title=title, style=style
        )
        blocks += set_message_number(
            [block], number, stops_cursor=message.role in ("user", "assistant")
        )
    return blocks


def has_question(item: Item) -> bool:
    """Whether the item contains the question or a message before the model's first step."""
    return bool(item.question) or any(
        message.content.strip()
        for message in item.messages
        if message.step < 0 and message.role != "state"
    )


def _sender_label(message: Message) -> str:
    name = message.name or message.role
    return name if len(name) < LABEL_CELLS or message.role == "user" else message.role


def _is_opening_message_shown(
    indexed: IndexedItem, turn: int, message_index: int, message: Message, options: DisplayOptions
) -> bool:
    if is_task_message(indexed.item, message):
        return False  # A section of the task shows the message.
    if options.full_dialogue or message.role in ("user", "other"):
        return True
    if message.role == "state":  # Several snapshots are shown in the full dialogue only.
        return sum(m.role == "state" and m.step < 0 for m in indexed.item.messages) == 1
    if message.role == "assistant":
        return indexed.is_trajectory or is_before_user_message(indexed, turn, message_index)
    return message.role == "system" and bool(message.name)


def is_before_user_message(indexed: IndexedItem, turn: int, message_index: int) -> bool:
    """Whether a user message follows this message before the model's first step in the turn."""
    return any(m.role == "user" and m.step < 0 for m in indexed.messages[turn][message_index + 1 :])


EARLIER_DIALOGUE_KEY = "before"
MAX_UNFOLDED_CHARS = 400
MAX_UNFOLDED_MESSAGES = 5


def earlier_dialogue_blocks(indexed: IndexedItem, options: DisplayOptions) -> list[Block]:
    """Return the blocks of the turns before the judged turn.

    A long dialogue is folded to one line with its size.
    """
    last = indexed.n_turns - 1
    messages = [
        m for turn in range(last) for m in indexed.messages.get(turn, []) if m.role != "log"
    ]
    if not messages:
        return []
    text = "".join(message.content for message in messages)
    long = len(text) > MAX_UNFOLDED_CHARS or len(messages) > MAX_UNFOLDED_MESSAGES
    folded = options.is_folded(EARLIER_DIALOGUE_KEY, long)

    def heading_lines(cells: int) -> list[Line]:
        turns = "turn 1" if last == 1 else f"turns 1-{last}"
        size = f" · {turns} · {format_count(len(messages), 'message')}, {format_size(text)}"
        parts: list[StyledText] = [("earlier dialogue", "strong"), (size, "")]
        parts += [(f" · folded, {options.unfold_hint}", "dim")] if folded else []
        return [rule_line(tuple(parts), cells)]

    head = Block(
        EARLIER_DIALOGUE_KEY,
        heading_lines,
        foldable=True,
        folded=folded,
        title="earlier dialogue",
        full_text=lambda: text,
    )
    content: list[Block] = []
    for turn in range(0 if folded else last):
        content += opening_message_blocks(indexed, turn, options)
        content += turn_event_blocks(indexed, turn, options)
    return [head, *set_parent_block(content, EARLIER_DIALOGUE_KEY)]


FIELD_PATH_SHARE = 0.5


def state_difference_blocks(indexed: IndexedItem, turn: int) -> list[Block]:
    """Return the blocks of the environment's fields that differ from the golden state. They are
    hidden in blind review, and shown at the failing turn or, if that is unknown, at the last turn.
    """
    end_turn = indexed.n_turns - 1 if indexed.failing_turn is None else indexed.failing_turn
    differences = indexed.item.extra.state_differences or {}
    if not differences or turn != end_turn or indexed.hide_verdicts:
        return []
    rows = [_state_row(path, difference) for path, difference in differences.items()]
    key = f"{turn_address(turn)}/end"
    title = f"turn {turn + 1} · state after the turn" if indexed.n_turns > 1 else "final state"
    widths = cache(partial(compute_argument_columns, rows, name_share=FIELD_PATH_SHARE))

    def heading_lines(cells: int) -> list[Line]:
        return [rule_line(((title, ""),), cells), column_headings(widths(cells), "field")]

    head = Block(key, heading_lines, is_heading=True, differs=True, title=title)
    return [
        head,
        *(
            argument_block(f"{key}/arg:{row.path}", row, widths, f"{title} · {row.path}")
            for row in rows
        ),
    ]


def _state_row(path: str, difference: StateDifference) -> ArgumentRow:
    state: DiffState = (
        "-" if difference.predicted == ABSENT else "+" if difference.golden == ABSENT else "!"
    )
    golden, predicted = (
        value if isinstance(value, str) else to_json_text(value)
        for value in (difference.golden, difference.predicted)
    )
    return ArgumentRow(path, depth=0, state=state, golden=golden, predicted=predicted, reason=None)


MAX_OPEN_MESSAGES = 12


def dialogue_blocks(indexed: IndexedItem, options: DisplayOptions) -> list[Block]:
    if not indexed.is_trajectory:
        return [
            *opening_message_blocks(indexed, 0, options),
            *single_turn_pair_blocks(indexed, options),
            *_single_turn_reasoning_blocks(indexed, options),
            *_single_turn_reply_blocks(indexed, options),
        ]
    if indexed.only_last_turn_judged:
        last_turn = turn_blocks(indexed, indexed.n_turns - 1, options, unfolded_by_default=True)
        return [*earlier_dialogue_blocks(indexed, options), *last_turn]
    unfolded = _turns_unfolded_by_default(indexed)
    turns = (
        turn_blocks(indexed, turn, options, unfolded_by_default=turn in unfolded)
        for turn in range(indexed.n_turns)
    )
    return [block for blocks in turns for block in blocks]


def _turns_unfolded_by_default(indexed: IndexedItem) -> set[int]:
    """Return all turns of a short trajectory, else the failing and the decisive turn, else the
    first turn with a difference, else the only or the first turn with calls, else the last turn.
    """
    if sum(len(messages) for messages in indexed.messages.values()) <= MAX_OPEN_MESSAGES:
        return set(range(indexed.n_turns))
    decisive = set() if indexed.decisive_turn is None else {indexed.decisive_turn}
    if indexed.failing_turn is not None:
        return {indexed.failing_turn} | decisive
    differing = indexed.turns_with_differences()
    if differing or decisive:
        return {*differing[:1]} | decisive
    with_calls = indexed.turns_with_calls()
    return {0} if len(with_calls) > 1 else {with_calls[0] if with_calls else indexed.n_turns - 1}


def turn_blocks(
    indexed: IndexedItem, turn: int, options: DisplayOptions, *, unfolded_by_default: bool
) -> list[Block]:
    """Return the heading of a turn and, if the turn is unfolded, its content."""
    key = turn_address(turn)
    folded = options.is_folded(key, not unfolded_by_default)
    head = Block(
        key,
        lambda cells: turn_heading_lines(indexed, turn, folded, cells),
        target=key,
        differs=turn == indexed.failing_turn,
        foldable=True,
        folded=folded,
        title=f"turn {turn + 1}",
    )
    if folded:
        return [head]
    has_calls = indexed.pairs.get(turn) or indexed.calls_of_unpaired_turn(turn)
    has_no_content = not has_calls and indexed.item.extra.golden_reply is None
    content = [
        *opening_message_blocks(indexed, turn, options),
        *([no_calls_block(indexed, turn)] if has_no_content else []),
        *turn_event_blocks(indexed, turn, options),
        *state_difference_blocks(indexed, turn),
        *target_verdict_and_review_blocks(indexed, key, automatic_sources=("judge",)),
    ]
    return [head, *set_parent_block(content, key)]


def turn_heading_lines(indexed: IndexedItem, turn: int, folded: bool, cells: int) -> list[Line]:
    """Render `── turn 2 of 4 · calls: 2 golden, 3 predicted · =1 !1 · FAILS HERE ──`. A folded turn
    also shows the user's request.
    """
    pairs = indexed.pairs.get(turn, [])
    parts: list[StyledText] = [(f"turn {turn + 1} of {indexed.n_turns}", "strong")]
    parts += [(" · judged", "strong")] if indexed.only_last_turn_judged else []
    calls = indexed.calls_of_unpaired_turn(turn)
    if calls:
        steps = len({call.step for call in calls})
        parts.append(
            (f" · {format_count(len(calls), 'call')} in {format_count(steps, 'step')}", "")
        )
    elif pairs or indexed.item.extra.golden_reply is None:
        golden = sum(pair.golden is not None for pair in pairs)
        predicted = sum(pair.predicted is not None for pair in pairs)
        parts.append((f" · calls: {golden} golden, {predicted} predicted", ""))
    counts = [
        f"{state}{n}" for state in "=~!-+" if (n := sum(pair.state == state for pair in pairs))
    ]
    parts.append((f" · {' '.join(counts)}" if counts else "", "dim"))
    if turn == indexed.failing_turn:
        parts.append((" · FAILS HERE", "bad"))
    if folded:
        parts.append((" · folded", "dim"))
    lines = [rule_line(tuple(parts), cells)]
    request = next((m.content for m in indexed.messages.get(turn, []) if m.role == "user"), None)
    if folded and request is not None:
        text = clip(sanitize(request[: cells * 2]), cells - LABEL_CELLS)
        lines.append(((pad_label("user"), "dim"), (text, "")))
    return lines


def _single_turn_reasoning_blocks(indexed: IndexedItem, options: DisplayOptions) -> list[Block]:
    """Return the model's reasoning under a heading of its own, because it is not a part of the
    reply.
    """
    messages = indexed.messages.get(0, [])
    texts = [
        message.content
        for message in messages
        if message.role == "assistant" and message.name == REASONING
    ]
    if not texts:
        return []
    heading = Block(
        REASONING, lambda cells: [rule_line(((REASONING, "strong"),), cells)], title=REASONING
    )
    text = text_block(
        f"{REASONING}/text",
        "",
        "\n".join(texts),
        options,
        folded_rows=REASONING_ROWS,
        style="dim",
        title=REASONING,
    )
    return [heading, text]


def _single_turn_reply_blocks(indexed: IndexedItem, options: DisplayOptions) -> list[Block]:
    messages = indexed.messages.get(0, [])
    replies = [
        message.content
        for at, message in enumerate(messages)
        if message.role == "assistant"
        and message.name != REASONING
        and (message.step >= 0 or not is_before_user_message(indexed, 0, at))
    ]
    golden_reply = indexed.item.extra.golden_reply
    if not replies:
        return final_reply_blocks(indexed, None, options) if golden_reply is not None else []
    text = "\n".join(replies)
    if not indexed.predicted_calls:
        return final_reply_blocks(indexed, text, options)
    if _is_reply_with_calls_shown(indexed, text, options):
        is_text_of_calls = bool(indexed.pairs) or is_only_call_text(
            text, list(indexed.predicted_calls.values())
        )
        return final_reply_blocks(indexed, text, options, "raw" if is_text_of_calls else "")
    return []


def _is_reply_with_calls_shown(indexed: IndexedItem, text: str, options: DisplayOptions) -> bool:
    """Whether the text of a reply with calls is shown.

    It is omitted if it is only the raw form of shown calls.
    """
    if indexed.item.extra.golden_reply is not None or options.full_dialogue:
        return True
    if indexed.calls_of_unpaired_turn(0):
        return not is_only_call_text(text, list(indexed.predicted_calls.values()))
    return _has_call_missing_all_arguments(indexed)


def _has_call_missing_all_arguments(indexed: IndexedItem) -> bool:
    calls = [indexed.golden_and_predicted_call(pair) for pair in indexed.pairs.get(0, [])]
    return any(
        golden and golden.arguments and predicted and predicted.arguments == {}
        for golden, predicted in calls
    )
