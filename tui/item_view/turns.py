"""Build the blocks of an item's turns: the overview, opening messages, events, final state, and the
list of items of the conversation.

An item that is not a trajectory has a single turn without a heading.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

from fcreview.matching.conversation import REASONING, is_only_call_text
from fcreview.matching.first_difference import ArgumentRow
from fcreview.model.address import turn_address
from fcreview.model.item import ABSENT, DiffState, Item, Message, StateDifference
from fcreview.model.json_value import to_json_text
from fcreview.model.sanitize import clip, sanitize
from fcreview.model.wording import format_count
from fcreview.store.rows import Sibling
from fcreview.tui.item_view.blocks import (
    DIFFERING_STATES,
    EARLIER_DIALOGUE_KEY,
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
from fcreview.tui.text.lines import (
    BLANK_LINE,
    Line,
    LineBuilder,
    StyledText,
    format_size,
    line_width,
    make_line,
    rule_line,
)
from fcreview.tui.text.styles import STATE_STYLES, get_verdict_style, symbols

STATES_BY_SEVERITY = "!-+~="
OVERVIEW_ROWS = 3


def turn_overview_blocks(indexed: IndexedItem) -> list[Block]:
    """Return a line with the turns and their differences: `turns 1 = 2 = 3 -+ fails here`.

    Empty if the benchmark judges only one turn.
    """
    if indexed.n_turns < 2 or indexed.only_last_turn_judged:
        return []
    entries = [_turn_overview_entry(indexed, turn) for turn in range(indexed.n_turns)]
    # If the line is too narrow for all turns, it shows those around the one that matters most.
    important_turn = indexed.failing_turn
    if important_turn is None:
        important_turn = indexed.decisive_turn or 0

    def render_lines(cells: int) -> list[Line]:
        return wrap_entries_around("turns  ", entries, important_turn, cells)

    return [Block("turns", render_lines, title="turns")]


def _turn_overview_entry(indexed: IndexedItem, turn: int) -> Line:
    """Return the entry of a turn in the overview, such as `3 -+ fails here`.

    It has the number of the turn, the states of its calls that differ, and the reviews of the turn.
    """
    fails = turn == indexed.failing_turn
    entry = LineBuilder()
    entry.add(f"{turn + 1} ", "bad" if fails else "dim")
    states = _overview_states(indexed, turn)
    for state in states:
        entry.add(symbols().state_symbol(state), STATE_STYLES[state])
    if not states:
        entry.add(symbols().none, "dim")
    if fails:
        entry.add(" fails here", "bad")
    entry.add(format_review_marks(indexed, turn_address(turn)), "strong")
    return entry.build()


def _overview_states(indexed: IndexedItem, turn: int) -> Sequence[str]:
    """Return the states of differing calls, the most severe first. Without a difference, return the
    most severe state.
    """
    states = {pair.state for pair in indexed.pairs.get(turn, [])}
    by_severity = [state for state in STATES_BY_SEVERITY if state in states]
    differing = [state for state in by_severity if state in DIFFERING_STATES]
    return differing or by_severity[:1]


def wrap_entries_around(
    label: str, entries: Sequence[Line], important: int, cells: int
) -> list[Line]:
    """Lay out entries after a label on at most `OVERVIEW_ROWS` rows.

    If there are too many entries, only the rows around the entry at index `important` are shown. An
    ellipsis stands where entries are omitted.
    """
    all_rows = wrap_entries(label, entries, cells)
    if len(all_rows) <= OVERVIEW_ROWS:
        return all_rows

    # Shorter rows leave room for the ellipses.
    ellipsis = f"{symbols().ellipsis} "
    row_cells = cells - len(ellipsis)
    rows = wrap_entries(label, entries, row_cells)
    rows_until_important = wrap_entries(label, entries[: important + 1], row_cells)
    shown = _choose_shown_rows(len(rows), important_row=len(rows_until_important) - 1)
    return _cut_rows(label, rows, shown)


def _cut_rows(label: str, rows: Sequence[Line], shown: range) -> list[Line]:
    """Return the rows in `shown`. The first one has the label. An ellipsis stands where rows are
    omitted.
    """
    shown_rows = list(rows[shown.start : shown.stop])
    if shown.start > 0:
        # The indentation of the row, which is its first part, makes room for the label.
        _, *entry_parts = shown_rows[0]
        shown_rows[0] = ((label, "dim"), (f"{symbols().ellipsis} ", "dim"), *entry_parts)
    if shown.stop < len(rows):
        shown_rows[-1] = (*shown_rows[-1], (symbols().ellipsis, "dim"))
    return shown_rows


def _choose_shown_rows(n_rows: int, important_row: int) -> range:
    """Return the indexes of `OVERVIEW_ROWS` of the rows.

    They begin with the row before the important one, or earlier if too few rows follow.
    """
    last_start = n_rows - OVERVIEW_ROWS
    start = min(max(important_row - 1, 0), last_start)
    return range(start, start + OVERVIEW_ROWS)


def wrap_entries(label: str, entries: Sequence[Line], cells: int) -> list[Line]:
    """Lay out entries on as many rows as they need, with two blanks between entries.

    The label stands before the first row, and the others are indented by its width.
    """
    gap = "  "
    rows: list[Line] = []
    row = LineBuilder()
    row.add(label, "dim")
    for entry in entries:
        # An entry that is wider than a row gets a row of its own.
        has_entry = row.width > len(label)
        is_full = row.width + line_width(entry) + len(gap) > cells
        if has_entry and is_full:
            rows.append(row.build())
            row = LineBuilder()
            row.add(" " * len(label))
        row.add_line(entry)
        row.add(gap)
    rows.append(row.build())
    return rows


def conversation_items_blocks(
    siblings: Sequence[Sibling], displayed_item: int, key_hint: str
) -> list[Block]:
    """Return the line `group 1 ✓ 2 ✗ [3 ✗] 4 ·` with the items of the same conversation.

    The displayed item is in brackets. Some benchmarks make an item of each turn of a conversation.
    `key_hint`: the keys that go to the other items.
    """
    if len(siblings) < 2:
        return []

    displayed_index = 0
    for index, sibling in enumerate(siblings):
        if sibling.item == displayed_item:
            displayed_index = index
            break

    def render_lines(cells: int) -> list[Line]:
        return [_conversation_items_line(siblings, displayed_index, key_hint, cells)]

    return [Block("group", render_lines, title="group")]


CONVERSATION_LABEL = "group  "


def _conversation_items_line(
    siblings: Sequence[Sibling], displayed_index: int, key_hint: str, cells: int
) -> Line:
    """Return the displayed item with as many of its neighbours as fit into the line."""
    ending = make_line(f" {key_hint}", "dim") if key_hint else BLANK_LINE
    room = cells - line_width(ending) - len(CONVERSATION_LABEL) - 1

    shown = _ShownSiblings(siblings, displayed_index, first=displayed_index, last=displayed_index)
    # Begin with the displayed item alone. Add a neighbour at the left or at the right, as long as
    # one fits, so that the displayed item stays in the middle.
    while True:
        fitting = [wider for wider in shown.list_wider() if line_width(wider.build_line()) <= room]
        if not fitting:
            break
        shown = min(fitting, key=lambda wider: wider.imbalance)
    return ((CONVERSATION_LABEL, "dim"), *shown.build_line(), *ending)


@dataclass(frozen=True, slots=True)
class _ShownSiblings:
    """Range of items of one conversation, which are shown on a line around the displayed item.

    `displayed`, `first` and `last` are indexes in `siblings`. The index of the first sibling is 0.
    """

    siblings: Sequence[Sibling]
    displayed: int
    first: int
    last: int

    @property
    def imbalance(self) -> int:
        """How many more items are on one side of the displayed item than on the other."""
        return abs((self.displayed - self.first) - (self.last - self.displayed))

    def list_wider(self) -> list[_ShownSiblings]:
        """Return the ranges with one more item on the left and on the right."""
        wider = []
        if self.first > 0:
            wider.append(replace(self, first=self.first - 1))
        if self.last + 1 < len(self.siblings):
            wider.append(replace(self, last=self.last + 1))
        return wider

    def build_line(self) -> Line:
        """Return the shown items with their verdicts. An ellipsis stands for items that are not
        shown.
        """
        line = LineBuilder()
        if self.first > 0:
            line.add("… ", "dim")
        for index in range(self.first, self.last + 1):
            line.add_line(self._format_item(index))
            line.add("  ")
        if self.last < len(self.siblings) - 1:
            line.add("…", "dim")
        return line.build()

    def _format_item(self, index: int) -> Line:
        """Return `3 ✓`, or `[3 ✓]` for the displayed item."""
        verdict = self.siblings[index].mark
        symbol: StyledText = (symbols().verdict_symbol(verdict), get_verdict_style(verdict))
        if index == self.displayed:
            return ((f"[{index + 1} ", "strong"), symbol, ("]", "strong"))
        return ((f"{index + 1} ", "dim"), symbol)


UNKNOWN_QUESTION = "question unknown: not found in any dataset"
NAMED_MESSAGE_ROWS = 1
UNNAMED_MESSAGE_ROWS = 4
FULL_DIALOGUE_ROWS = 40
REASONING_ROWS = 4


def opening_message_blocks(indexed: IndexedItem, turn: int, options: DisplayOptions) -> list[Block]:
    """Return the blocks of the messages before the model's first step in a turn.

    These are the user's request, instructions, and snapshots of the environment's state. If the
    run's files contain no question, a line says so.
    """
    blocks: list[Block] = []
    lacks_question = turn == 0 and not has_question(indexed.item)
    if lacks_question:
        key = f"{turn_address(turn)}/opening"
        blocks.append(one_line_block(key, "user", UNKNOWN_QUESTION))

    for index, message in enumerate(indexed.messages.get(turn, [])):
        # Opening messages have a negative step.
        if message.step >= 0 or not _is_opening_message_shown(indexed, turn, index, options):
            continue
        # The line about the unknown question replaces an empty message.
        if lacks_question and not message.content.strip():
            continue
        key = f"{turn_address(turn)}/opening:{index}"
        block = _opening_message_block(key, message, options)
        number = indexed.message_number(message)
        is_text = message.role in ("user", "assistant")
        blocks += set_message_number([block], number, stops_cursor=is_text)
    return blocks


def _opening_message_block(key: str, message: Message, options: DisplayOptions) -> Block:
    """Return the block of a message before the model's first step. Only the user's text is
    not dim.
    """
    if message.role == "state":
        return state_snapshot_block(key, message.name or "", message.content)
    if message.role == "other":
        return other_role_block(key, message, options)
    return text_block(
        key,
        _sender_label(message),
        message.content,
        options,
        folded_rows=_choose_opening_rows(message, options),
        title=f"turn {message.turn + 1} {message.name or message.role}",
        style="" if message.role == "user" else "dim",
    )


def _choose_opening_rows(message: Message, options: DisplayOptions) -> int:
    """Return the number of rows to which a message is folded. Named messages, such as instructions,
    are known by their name.
    """
    if options.full_dialogue:
        return FULL_DIALOGUE_ROWS
    if message.role == "user":
        return USER_ROWS
    return NAMED_MESSAGE_ROWS if message.name else UNNAMED_MESSAGE_ROWS


def has_question(item: Item) -> bool:
    """Whether the item contains the question or a message before the model's first step."""
    if item.question:
        return True
    for message in item.messages:
        is_opening_message = message.step < 0 and message.role != "state"
        if is_opening_message and message.content.strip():
            return True
    return False


def _sender_label(message: Message) -> str:
    """Return the name of the sender. If it does not fit into the label column, return the role."""
    name = message.name or message.role
    fits = len(name) < LABEL_CELLS
    return name if fits or message.role == "user" else message.role


def _is_opening_message_shown(
    indexed: IndexedItem, turn: int, message_index: int, options: DisplayOptions
) -> bool:
    """Whether a message is shown that comes before the model's first step.

    The full dialogue has all these messages, except those that the task section shows. Otherwise,
    messages that do not matter for most reviews are omitted too.
    """
    message = indexed.messages[turn][message_index]
    if is_task_message(indexed.item, message):
        # A section of the task shows the message.
        return False
    if options.full_dialogue or message.role in ("user", "other"):
        return True
    if message.role == "state":
        # Several snapshots are shown in the full dialogue only.
        return _count_opening_snapshots(indexed.item) == 1
    if message.role == "assistant":
        # The benchmark supplied this reply, as a part of an earlier dialogue.
        return indexed.is_trajectory or is_before_user_message(indexed, turn, message_index)
    # A system message with a name is an instruction of the benchmark.
    return message.role == "system" and bool(message.name)


def _count_opening_snapshots(item: Item) -> int:
    return sum(message.role == "state" and message.step < 0 for message in item.messages)


def is_before_user_message(indexed: IndexedItem, turn: int, message_index: int) -> bool:
    """Whether a user message follows this message before the model's first step in the turn."""
    later_messages = indexed.messages[turn][message_index + 1 :]
    return any(message.role == "user" and message.step < 0 for message in later_messages)


MAX_UNFOLDED_CHARS = 400
MAX_UNFOLDED_MESSAGES = 5


def earlier_dialogue_blocks(indexed: IndexedItem, options: DisplayOptions) -> list[Block]:
    """Return the turns before the only turn that is judged, under one heading.

    The benchmark supplied these turns, so that the model continues them. A long dialogue is folded
    to one line with its size.
    """
    n_earlier_turns = indexed.n_turns - 1
    messages = []
    for turn in range(n_earlier_turns):
        messages += [each for each in indexed.messages.get(turn, []) if each.role != "log"]
    if not messages:
        return []

    head = _earlier_dialogue_heading(messages, n_earlier_turns, options)
    if head.folded:
        return [head]
    content: list[Block] = []
    for turn in range(n_earlier_turns):
        content += opening_message_blocks(indexed, turn, options)
        content += turn_event_blocks(indexed, turn, options)
    return [head, *set_parent_block(content, EARLIER_DIALOGUE_KEY)]


def _earlier_dialogue_heading(
    messages: Sequence[Message], n_turns: int, options: DisplayOptions
) -> Block:
    """Return the heading of the earlier dialogue, with the numbers of its turns and messages."""
    text = "".join(message.content for message in messages)
    is_long = len(text) > MAX_UNFOLDED_CHARS or len(messages) > MAX_UNFOLDED_MESSAGES
    folded = options.is_folded(EARLIER_DIALOGUE_KEY, is_long)

    turns = "turn 1" if n_turns == 1 else f"turns 1-{n_turns}"
    facts = f"{turns} · {format_count(len(messages), 'message')}, {format_size(text)}"

    def heading_lines(cells: int) -> list[Line]:
        heading = LineBuilder()
        heading.add("earlier dialogue", "strong")
        heading.add(f" · {facts}")
        if folded:
            heading.add(f" · folded, {options.unfold_hint}", "dim")
        return [rule_line(heading.build(), cells)]

    return Block(
        EARLIER_DIALOGUE_KEY,
        heading_lines,
        foldable=True,
        folded=folded,
        title="earlier dialogue",
        full_text=lambda: text,
    )


FIELD_PATH_SHARE = 0.5


def state_difference_blocks(indexed: IndexedItem, turn: int) -> list[Block]:
    """Return the fields of the environment's state that differ from the golden state.

    They are shown once: at the failing turn or, if it is unknown, at the last turn. Blind review
    does not show them, because they reveal the verdict.
    """
    differences = indexed.item.extra.state_differences
    if not differences or turn != _find_turn_of_state(indexed) or indexed.hide_verdicts:
        return []
    title = "final state"
    if indexed.n_turns > 1:
        title = f"turn {turn + 1} · state after the turn"
    rows = [_state_row(path, difference) for path, difference in differences.items()]
    return _state_table_blocks(f"{turn_address(turn)}/end", title, rows)


def _find_turn_of_state(indexed: IndexedItem) -> int:
    """Return the turn that shows the state: the failing turn or, if it is unknown, the last one."""
    if indexed.failing_turn is not None:
        return indexed.failing_turn
    return indexed.n_turns - 1


def _state_table_blocks(key: str, title: str, rows: Sequence[ArgumentRow]) -> list[Block]:
    """Return a table of fields, with columns for the golden and the predicted value."""
    # Function from the width of the list to the widths of the columns.
    widths = cache(partial(compute_argument_columns, rows, name_share=FIELD_PATH_SHARE))

    def heading_lines(cells: int) -> list[Line]:
        return [rule_line(make_line(title), cells), column_headings(widths(cells), "field")]

    blocks = [Block(key, heading_lines, is_heading=True, differs=True, title=title)]
    for row in rows:
        row_key = f"{key}/arg:{row.path}"
        blocks.append(argument_block(row_key, row, widths, f"{title} · {row.path}"))
    return blocks


def _state_row(path: str, difference: StateDifference) -> ArgumentRow:
    """Return a field of the environment's state that differs from the golden state, as an argument
    row.
    """
    state: DiffState = "!"
    # The field may be missing in one of the two states.
    if difference.predicted == ABSENT:
        state = "-"
    elif difference.golden == ABSENT:
        state = "+"
    return ArgumentRow(
        path,
        depth=0,
        state=state,
        golden=_to_text(difference.golden),
        predicted=_to_text(difference.predicted),
        reason=None,
    )


def _to_text(value: Any) -> str:
    return value if isinstance(value, str) else to_json_text(value)


MAX_OPEN_MESSAGES = 12


def dialogue_blocks(indexed: IndexedItem, options: DisplayOptions) -> list[Block]:
    """Return the blocks of all turns, with their messages and calls.

    Turns that matter less are folded to one line.
    """
    if not indexed.is_trajectory:
        return _single_turn_blocks(indexed, options)
    # The benchmark supplied the earlier turns, so the last turn is what the reader reviews.
    if indexed.only_last_turn_judged:
        last_turn = indexed.n_turns - 1
        blocks = earlier_dialogue_blocks(indexed, options)
        return blocks + turn_blocks(indexed, last_turn, options, unfolded_by_default=True)

    unfolded_turns = _turns_unfolded_by_default(indexed)
    blocks = []
    for turn in range(indexed.n_turns):
        is_unfolded = turn in unfolded_turns
        blocks += turn_blocks(indexed, turn, options, unfolded_by_default=is_unfolded)
    return blocks


def _single_turn_blocks(indexed: IndexedItem, options: DisplayOptions) -> list[Block]:
    """Return the blocks of an item with one turn: question, calls, reasoning and reply."""
    return [
        *opening_message_blocks(indexed, 0, options),
        *single_turn_pair_blocks(indexed, options),
        *_single_turn_reasoning_blocks(indexed, options),
        *_single_turn_reply_blocks(indexed, options),
    ]


def _turns_unfolded_by_default(indexed: IndexedItem) -> set[int]:
    """Return the turns that are unfolded at first, so that the reader sees where the model failed.

    A short trajectory is unfolded as a whole. In a long one, these are the turn of the decisive
    step and the failing turn or, if that is unknown, the first turn with a difference.
    """
    n_messages = sum(len(messages) for messages in indexed.messages.values())
    if n_messages <= MAX_OPEN_MESSAGES:
        return set(range(indexed.n_turns))

    turns = set()
    if indexed.decisive_turn is not None:
        turns.add(indexed.decisive_turn)
    if indexed.failing_turn is not None:
        turns.add(indexed.failing_turn)
    else:
        first_difference = indexed.turns_with_differences()[:1]
        turns.update(first_difference)
    return turns or {_choose_turn_without_failure(indexed)}


def _choose_turn_without_failure(indexed: IndexedItem) -> int:
    """Return the turn at which the reader begins if the model did not fail.

    It is the only turn with calls. If there is none, it is the last turn, and if there are several,
    the first turn of the item.
    """
    turns_with_calls = indexed.turns_with_calls()
    if not turns_with_calls:
        return indexed.n_turns - 1
    if len(turns_with_calls) == 1:
        return turns_with_calls[0]
    return 0


def turn_blocks(
    indexed: IndexedItem, turn: int, options: DisplayOptions, *, unfolded_by_default: bool
) -> list[Block]:
    """Return the heading of a turn and, if the turn is unfolded, its content.

    The content is in the order of time: opening messages, messages and calls, state, verdicts.
    """
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

    content = opening_message_blocks(indexed, turn, options)
    # If the benchmark compares a reply, a turn without calls is nothing special.
    has_calls = indexed.pairs.get(turn) or indexed.calls_of_unpaired_turn(turn)
    if not has_calls and indexed.item.extra.golden_reply is None:
        content.append(no_calls_block(indexed, turn))
    content += turn_event_blocks(indexed, turn, options)
    content += state_difference_blocks(indexed, turn)
    content += target_verdict_and_review_blocks(indexed, key, automatic_sources=("judge",))
    return [head, *set_parent_block(content, key)]


def turn_heading_lines(indexed: IndexedItem, turn: int, folded: bool, cells: int) -> list[Line]:
    """Render `── turn 2 of 4 · calls: 2 golden, 3 predicted · =1 !1 · FAILS HERE ──`.

    `=1 !1` counts the calls by state. A folded turn also shows the user's request, on a second
    line.
    """
    heading = LineBuilder()
    heading.add(f"turn {turn + 1} of {indexed.n_turns}", "strong")
    if indexed.only_last_turn_judged:
        heading.add(" · judged", "strong")
    heading.add(_format_call_counts(indexed, turn))
    heading.add(_format_state_counts(indexed, turn), "dim")
    if turn == indexed.failing_turn:
        heading.add(" · FAILS HERE", "bad")
    if folded:
        heading.add(" · folded", "dim")
    lines = [rule_line(heading.build(), cells)]

    request = _find_request(indexed, turn)
    if folded and request is not None:
        text = clip(sanitize(request[: cells * 2]), cells - LABEL_CELLS)
        lines.append(((pad_label("user"), "dim"), (text, "")))
    return lines


def _format_call_counts(indexed: IndexedItem, turn: int) -> str:
    """Return the number of calls in a turn, such as ` · calls: 2 golden, 3 predicted`.

    If the benchmark compares no calls of the turn, there are only predicted ones: ` · 5 calls in 3
    steps`. Empty if it compares only the reply.
    """
    calls = indexed.calls_of_unpaired_turn(turn)
    if calls:
        n_steps = len({call.step for call in calls})
        return f" · {format_count(len(calls), 'call')} in {format_count(n_steps, 'step')}"

    pairs = indexed.pairs.get(turn, [])
    if not pairs and indexed.item.extra.golden_reply is not None:
        return ""
    n_golden = sum(pair.golden is not None for pair in pairs)
    n_predicted = sum(pair.predicted is not None for pair in pairs)
    return f" · calls: {n_golden} golden, {n_predicted} predicted"


def _format_state_counts(indexed: IndexedItem, turn: int) -> str:
    """Return the number of call pairs in each state: ` · =1 !1`. Empty if there are no pairs."""
    counts: Counter[str] = Counter(pair.state for pair in indexed.pairs.get(turn, []))
    texts = [f"{state}{counts[state]}" for state in "=~!-+" if counts[state]]
    return f" · {' '.join(texts)}" if texts else ""


def _find_request(indexed: IndexedItem, turn: int) -> str | None:
    for message in indexed.messages.get(turn, []):
        if message.role == "user":
            return message.content
    return None


def _single_turn_reasoning_blocks(indexed: IndexedItem, options: DisplayOptions) -> list[Block]:
    """Return the model's reasoning under its own heading, because it is no part of the reply.

    Empty if the run's files contain no reasoning.
    """
    texts = [
        message.content
        for message in indexed.messages.get(0, [])
        if message.role == "assistant" and message.name == REASONING
    ]
    if not texts:
        return []

    def heading_lines(cells: int) -> list[Line]:
        return [rule_line(make_line(REASONING, "strong"), cells)]

    text = text_block(
        f"{REASONING}/text",
        "",
        "\n".join(texts),
        options,
        folded_rows=REASONING_ROWS,
        style="dim",
        title=REASONING,
    )
    return [Block(REASONING, heading_lines, title=REASONING), text]


def _single_turn_reply_blocks(indexed: IndexedItem, options: DisplayOptions) -> list[Block]:
    """Return the model's reply to an item with one turn, beside the golden reply if there is one.

    A reply without calls is shown. A reply with calls is shown only if it says more than the calls.
    """
    reply = _join_replies(indexed)
    if reply is None:
        has_golden_reply = indexed.item.extra.golden_reply is not None
        return final_reply_blocks(indexed, None, options) if has_golden_reply else []
    if not indexed.predicted_calls:
        return final_reply_blocks(indexed, reply, options)
    if not _is_reply_with_calls_shown(indexed, reply, options):
        return []

    calls = list(indexed.predicted_calls.values())
    # The label tells text of the model from the raw form of its calls. A benchmark that compares
    # calls decodes them from the reply.
    is_text_of_calls = bool(indexed.pairs) or is_only_call_text(reply, calls)
    return final_reply_blocks(indexed, reply, options, "raw" if is_text_of_calls else "")


def _join_replies(indexed: IndexedItem) -> str | None:
    """Return the text of the model's replies in an item with one turn. None if there is none."""
    only_turn = 0
    replies = []
    for index, message in enumerate(indexed.messages.get(only_turn, [])):
        if message.role != "assistant" or message.name == REASONING:
            continue
        # An assistant's message before a user message is a part of the question.
        if message.step >= 0 or not is_before_user_message(indexed, only_turn, index):
            replies.append(message.content)
    return "\n".join(replies) if replies else None


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
    """Whether the model made a call without any argument, although the golden call has
    arguments.
    """
    for pair in indexed.pairs.get(0, []):
        golden, predicted = indexed.golden_and_predicted_call(pair)
        if golden is None or predicted is None:
            continue
        if golden.arguments and predicted.arguments == {}:
            return True
    return False
