"""Render the events of a turn in the order in which they happened: calls with results, messages,
and the final reply.

A golden call that the model did not make is shown after the predicted call that matches the
previous golden call. Consecutive equal calls or messages are folded to one line.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Literal

from fcreview.matching.conversation import is_only_call_text, is_same_call, parse_quoted_calls
from fcreview.matching.first_difference import ArgumentRow
from fcreview.model.address import RESPONSE, turn_address
from fcreview.model.item import (
    GOLDEN_CALL,
    UNKNOWN_PARTS,
    Call,
    CallPair,
    DiffState,
    Item,
    Message,
    Verdict,
)
from fcreview.model.sanitize import sanitize
from fcreview.tui.item_view.blocks import (
    MAX_INLINE_CHARS,
    UNLIMITED_ROWS,
    Block,
    DisplayOptions,
    IndexedItem,
    group_by,
    is_longer_than,
    one_line_block,
    other_role_block,
    pad_label,
    set_message_number,
    state_snapshot_block,
    text_block,
)
from fcreview.tui.item_view.call_diff import Columns, column_headings, format_call
from fcreview.tui.item_view.call_pairs import argument_block, pair_blocks, unpaired_call_blocks
from fcreview.tui.item_view.verdicts import (
    find_judge_label_verdict,
    judge_blocks,
    target_verdict_and_review_blocks,
)
from fcreview.tui.text.lines import (
    Line,
    LineBuilder,
    fit_line,
    format_size,
    make_line,
    rule_line,
    wrap_first_rows,
)

NO_POSITION = -1
NO_STEP = -1


@dataclass(frozen=True, slots=True)
class TimelineEvent:
    """A predicted call with its result, a golden call that was not made, or a message."""

    kind: Literal["call", "missing", "message"]
    step: int
    """Index of the step, from 0. It is -1 for a golden call that was not made."""
    key: str
    """Last part of the block key, unique within the turn, such as `step:2/assistant:0`."""
    position: int = NO_POSITION
    """Index of the call pair in the turn. `NO_POSITION` if the event is not a call or the call
    has no pair.
    """
    pair: CallPair | None = None
    call: Call | None = None
    observation: Message | None = None
    message: Message | None = None
    is_context: bool = False
    """Whether the message is from the benchmark, not from the judged model."""


class _TurnIndex:
    """Messages, calls and call pairs of a turn, by step."""

    def __init__(self, indexed: IndexedItem, turn: int) -> None:
        # Messages before the model's first step have a negative step. They are the opening
        # messages.
        messages = [each for each in indexed.messages.get(turn, []) if each.step >= 0]
        calls = sorted(indexed.calls_of_turn(turn), key=lambda call: call.index)
        self._messages_by_step = group_by(messages, lambda message: message.step)
        self._calls_by_step = group_by(calls, lambda call: call.step)
        self._pairs = indexed.pairs.get(turn, [])
        self._position_by_call: dict[int, int] = {}
        """Index of a predicted call -> index of its pair."""
        for position, pair in enumerate(self._pairs):
            if pair.predicted is not None:
                self._position_by_call[pair.predicted] = position

    @property
    def steps(self) -> list[int]:
        return sorted(self._messages_by_step.keys() | self._calls_by_step.keys())

    def list_step_events(self, step: int, *, is_context: bool) -> list[TimelineEvent]:
        """Return the events of a step, which is one reply of the model and what follows it.

        The order is: the model's messages, its calls, the other messages. The event of a call
        contains the result of the call. Only results without a call have an event of their own.
        `is_context`: whether the benchmark supplied the step, so that the model is not judged by
        it.
        """
        messages = self._messages_by_step.get(step, [])
        call_events = self._list_call_events(step)
        names = _name_message_events(messages, n_calls=len(call_events))

        message_events = []
        for message, name in zip(messages, names, strict=True):
            if name is None:
                # The event of a call contains this result.
                continue
            event = TimelineEvent(
                "message",
                step=step,
                key=f"{_step_key(step)}/{name}",
                message=message,
                is_context=is_context,
            )
            message_events.append(event)

        # No result is among these messages, so each of them has an event.
        n_before_calls = _count_first_replies(messages)
        before_calls = message_events[:n_before_calls]
        after_calls = message_events[n_before_calls:]
        return [*before_calls, *call_events, *after_calls]

    def _list_call_events(self, step: int) -> list[TimelineEvent]:
        """Return the calls of a step with their results.

        The results are tool messages in the order of the calls. There may be fewer results than
        calls.
        """
        messages = self._messages_by_step.get(step, [])
        results = [message for message in messages if message.role == "tool"]
        events = []
        for index, call in enumerate(self._calls_by_step.get(step, [])):
            # The pair has the golden call that is compared with this call. Not every call has a
            # pair.
            position = self._position_by_call.get(call.index, NO_POSITION)
            event = TimelineEvent(
                "call",
                step=step,
                key=f"{_step_key(step)}/tool:{index + 1}",
                position=position,
                pair=None if position == NO_POSITION else self._pairs[position],
                call=call,
                observation=results[index] if index < len(results) else None,
            )
            events.append(event)
        return events


def _step_key(step: int) -> str:
    return f"step:{step + 1}"


def _name_message_events(messages: Sequence[Message], n_calls: int) -> list[str | None]:
    """Return a name such as `assistant:0` for each message of a step. It becomes a part of a key.

    The name has the index of the message. Results of tools are named by their own numbers:

    - The first results belong to the calls of the step, and have no name.
    - Further results than calls are `tool:more0`, `tool:more1` and so on.
    - In a step without calls, the results are `tool:1`, `tool:2` and so on.
    """
    names: list[str | None] = []
    n_results = 0
    for index, message in enumerate(messages):
        if message.role != "tool":
            names.append(f"{message.role}:{index}")
            continue

        n_results += 1
        if n_results <= n_calls:
            names.append(None)
        elif n_calls:
            names.append(f"tool:more{n_results - n_calls - 1}")
        else:
            names.append(f"tool:{n_results}")
    return names


def _count_first_replies(messages: Sequence[Message]) -> int:
    """Return the number of messages at the beginning that are by the model."""
    for index, message in enumerate(messages):
        if message.role != "assistant":
            return index
    return len(messages)


def list_turn_events(indexed: IndexedItem, turn: int) -> list[TimelineEvent]:
    """Return the events of a turn in the order of time, after its opening messages.

    A golden call that the model did not make has no time. It follows the call that is before it in
    the order of the golden answer.
    """
    content = _TurnIndex(indexed, turn)
    missing_calls = _missing_calls_by_predecessor(indexed, turn)
    first_judged_step = _find_first_judged_step(indexed, turn)

    events: list[TimelineEvent] = []
    # An event is removed from `missing_calls` when it has a place.
    for step in content.steps:
        is_context = step < first_judged_step
        # The key None has the golden calls that come before all predicted calls. They are missing
        # in the first step that is judged.
        if not is_context:
            events += missing_calls.pop(None, [])
        for event in content.list_step_events(step, is_context=is_context):
            events.append(event)
            if event.call is not None:
                events += missing_calls.pop(event.call.index, [])

    # Golden calls whose predecessor is not shown come last.
    for remaining in missing_calls.values():
        events += remaining
    return events


def _find_first_judged_step(indexed: IndexedItem, turn: int) -> int | float:
    """Return the index of the judged model's first step. It is infinite if the benchmark
    supplied the whole turn.
    """
    if indexed.is_earlier_dialogue(turn):
        return float("inf")
    # The steps up to the last golden call are supplied by the benchmark.
    last_golden_step = -1
    for message in indexed.messages.get(turn, []):
        if message.name == GOLDEN_CALL:
            last_golden_step = max(last_golden_step, message.step)
    return last_golden_step + 1


def _missing_calls_by_predecessor(
    indexed: IndexedItem, turn: int
) -> dict[int | None, list[TimelineEvent]]:
    """Return the golden calls that the model did not make, by where they are shown.

    A key is the index of the predicted call after which the golden calls are shown. The key is None
    for those before the first predicted call.
    """
    missing: dict[int | None, list[TimelineEvent]] = {}
    predecessor: int | None = None
    for position, pair in enumerate(indexed.pairs.get(turn, [])):
        # An extra call, which is no place for a golden call.
        if pair.golden is None:
            continue
        if pair.predicted is not None:
            predecessor = pair.predicted
            continue
        event = TimelineEvent(
            "missing", step=-1, key=f"call:{position + 1}", position=position, pair=pair
        )
        missing.setdefault(predecessor, []).append(event)
    return missing


MIN_REPEATS = 3


def _group_repeats(events: Sequence[TimelineEvent]) -> list[Sequence[TimelineEvent]]:
    """Group successive events that are equal, so that the screen shows them on one line.

    At least `MIN_REPEATS` equal events form a group. Each other event is a group of its own.
    """
    groups: list[Sequence[TimelineEvent]] = []
    start = 0
    while start < len(events):
        # Find the end of the events that are equal to the one at `start`.
        end = start + 1
        while end < len(events) and _is_repeat(events[start], events[end]):
            end += 1

        if end - start >= MIN_REPEATS:
            groups.append(events[start:end])
        else:
            groups += [[event] for event in events[start:end]]
        start = end
    return groups


def _is_repeat(first: TimelineEvent, second: TimelineEvent) -> bool:
    """Whether two events are the same extra call (a call without a golden call), or the same
    reply.
    """
    if first.call is not None and second.call is not None:
        are_extra = _are_extra_calls(first.pair, second.pair)
        return are_extra and is_same_call(first.call, second.call)
    if first.message is not None and second.message is not None:
        are_replies = first.message.role == second.message.role == "assistant"
        return are_replies and first.message.content == second.message.content
    return False


def _are_extra_calls(first: CallPair | None, second: CallPair | None) -> bool:
    """Whether two pairs are extra calls of the same state: `+`, or a blank if they are allowed."""
    if first is None or second is None:
        return False
    return first.state == second.state and first.state in {"+", " "}


REPLY_ROWS = 10
"""Number of rows that a folded reply shows."""
SIDE_BY_SIDE_REPLY_ROWS = REPLY_ROWS // 2
"""Number of rows, as wide as the screen, that fill `REPLY_ROWS` of a column half as wide."""
NO_REPLY = "(no reply: the model made a call)"
REPLY_LABEL_CELLS = 6
SIZES_INDENT = " " * (REPLY_LABEL_CELLS + 4)
"""Indent of the line with the sizes of two replies: below the beginning of the golden one."""


def final_reply_blocks(
    indexed: IndexedItem, reply: str | None, options: DisplayOptions, step: str = ""
) -> list[Block]:
    """Return the section with the model's final reply, beside the golden reply if there is one.

    Judge verdicts and reviews of the reply follow. `reply` is None if the model made a call
    instead. `step`: label of the step for the heading.
    """
    golden = indexed.item.extra.golden_reply
    blocks = [_reply_heading(indexed, reply, step)]
    if golden is not None:
        blocks += _response_label_blocks(indexed)
        blocks.append(_two_replies_block(golden, reply, options))
    else:
        blocks.append(_single_reply_block(reply or "", options))
    blocks += judge_blocks(indexed, RESPONSE)
    blocks += target_verdict_and_review_blocks(indexed, RESPONSE, automatic_sources=())
    return blocks


def _reply_heading(indexed: IndexedItem, reply: str | None, step: str) -> Block:
    """Return the heading of the section: `response · step 3 · judged`, and titles of the columns if
    there are two replies.
    """
    has_golden_reply = indexed.item.extra.golden_reply is not None
    facts = f" · {step}" if step else ""
    if indexed.is_trajectory and has_golden_reply:
        facts += " · judged"

    def render_lines(cells: int) -> list[Line]:
        lines = [rule_line((("response", "strong"), (facts, "dim")), cells)]
        if has_golden_reply:
            lines.append(column_headings(_reply_columns(cells), ""))
        return lines

    return Block(
        RESPONSE,
        render_lines,
        target=RESPONSE,
        is_heading=True,
        is_judged=has_golden_reply,
        title="response",
        copied_value=lambda: reply,
    )


REPLY_TEXT_KEY = f"{RESPONSE}/text"


def _single_reply_block(reply: str, options: DisplayOptions) -> Block:
    """Return the text of the only reply. It can be folded."""
    if not reply:
        return Block(REPLY_TEXT_KEY, lambda _: [make_line("  (empty)", "dim")])
    return text_block(
        REPLY_TEXT_KEY,
        "",
        reply,
        options,
        folded_rows=REPLY_ROWS,
        title=RESPONSE,
        style="predicted",
    )


MIN_REPLY_CELLS = 8


def _reply_columns(cells: int) -> Columns:
    without_values = Columns(name=REPLY_LABEL_CELLS, golden=0, predicted=0)
    half = max((cells - without_values.total_cells) // 2, MIN_REPLY_CELLS)
    return replace(without_values, golden=half, predicted=half)


def _response_label_blocks(indexed: IndexedItem) -> list[Block]:
    """Return the row that compares the golden labels of the response with the labels from a judge.
    Empty if the benchmark has no golden labels.
    """
    golden_labels = indexed.item.extra.golden_labels
    if golden_labels is None:
        return []
    verdict = None if indexed.hide_verdicts else find_judge_label_verdict(indexed.item)
    if verdict is None:
        return [_unjudged_labels_block(golden_labels, is_hidden=indexed.hide_verdicts)]
    row = _judged_labels_row(indexed.item, golden_labels, verdict)
    return [_labels_block(row)]


def _labels_block(row: ArgumentRow) -> Block:
    return argument_block(
        f"{RESPONSE}/labels", row, _reply_columns, title="labels", target=RESPONSE
    )


def _judged_labels_row(item: Item, golden_labels: Sequence[str], verdict: Verdict) -> ArgumentRow:
    """Compare the golden labels of a reply with the labels that a judge gave to the model's reply.

    The labels, such as dialogue acts, are shown like a golden and a predicted argument.
    """
    predicted = [str(label) for label in verdict.value]

    # `=`: equal labels, `~`: other labels that pass nevertheless, `!`: other labels that fail.
    state: DiffState = "!"
    passes = item.rule if item.official is None else item.official
    if set(predicted) == set(golden_labels):
        state = "="
    elif passes:
        state = "~"

    reason = None
    if state != "=":
        reason = f"labels from judge {verdict.by or ''}".rstrip()
    return ArgumentRow(
        "labels",
        depth=0,
        state=state,
        golden=", ".join(golden_labels),
        predicted=", ".join(predicted) or "(none)",
        reason=reason,
    )


def _unjudged_labels_block(golden_labels: Sequence[str], *, is_hidden: bool) -> Block:
    """Return the golden labels of a reply that has no judge verdict, or a hidden one.

    They have no state symbol, because they are compared with nothing.
    """
    row = ArgumentRow(
        "labels",
        depth=0,
        state="=",
        golden=", ".join(golden_labels),
        predicted="(hidden)" if is_hidden else "(not judged)",
        reason=None,
    )
    block = _labels_block(row)

    def render_without_state_symbol(cells: int) -> list[Line]:
        # The first part of the first line is the state symbol.
        first, *others = block.lines(cells)
        return [(("  ", ""), *first[1:]), *others]

    return replace(block, lines=render_without_state_symbol, copied_value=None)


def _describe_reply(reply: str | None) -> str:
    """Return the model's reply, or a remark if it is empty or if the model made a call (None)."""
    if reply is None:
        return NO_REPLY
    return reply or "(empty)"


def _two_replies_block(golden: str, reply: str | None, options: DisplayOptions) -> Block:
    """Return the golden reply and the model's reply side by side.

    Long replies are folded at first. Very long ones do not unfold in place, but open in the pager.
    `reply` is None if the model made a call instead.
    """
    replies = _TwoReplies(golden, _describe_reply(reply), "predicted" if reply else "dim")
    needs_pager = replies.needs_pager
    is_long = replies.is_long
    folded = is_long and (needs_pager or options.is_folded(REPLY_TEXT_KEY, by_default=True))
    max_rows = REPLY_ROWS if folded else UNLIMITED_ROWS
    return Block(
        REPLY_TEXT_KEY,
        lambda cells: replies.build_lines(cells, max_rows, options.unfold_hint),
        target=RESPONSE,
        foldable=is_long,
        folded=folded,
        opens_pager=needs_pager,
        title="reply",
        full_text=lambda: f"golden\n{replies.golden}\n\npredicted\n{replies.predicted}",
    )


@dataclass(frozen=True, slots=True)
class _TwoReplies:
    """The golden reply, and the model's reply beside it."""

    golden: str
    predicted: str
    predicted_style: str

    @property
    def is_long(self) -> bool:
        """Whether a reply may need more rows than a folded reply has."""
        return is_longer_than(self.golden, SIDE_BY_SIDE_REPLY_ROWS) or is_longer_than(
            self.predicted, SIDE_BY_SIDE_REPLY_ROWS
        )

    @property
    def needs_pager(self) -> bool:
        return max(len(self.golden), len(self.predicted)) > MAX_INLINE_CHARS

    def build_lines(self, cells: int, max_rows: int, unfold_hint: str) -> list[Line]:
        """Return the first rows of both replies. If a row is missing, their sizes follow."""
        columns = _reply_columns(cells)
        golden = wrap_first_rows(self.golden, columns.golden, max_rows)
        predicted = wrap_first_rows(self.predicted, columns.predicted, max_rows)
        lines = _two_replies_lines(golden.rows, predicted.rows, columns, self.predicted_style)
        if golden.has_more or predicted.has_more:
            sizes = f"{format_size(self.golden)} and {format_size(self.predicted)}"
            lines.append(make_line(f"{SIZES_INDENT}… {sizes}, {unfold_hint}", "dim"))
        return lines


def _two_replies_lines(
    golden_rows: Sequence[str], predicted_rows: Sequence[str], widths: Columns, style: str
) -> list[Line]:
    """Return the rows of two replies side by side, with the label `reply` before the first ones.

    `style`: style of the model's reply.
    """
    lines = []
    row_pairs = zip_longest(golden_rows, predicted_rows, fillvalue="")
    for index, (golden_row, predicted_row) in enumerate(row_pairs):
        line = LineBuilder()
        line.add("  ")
        line.add_padded("reply" if index == 0 else "", widths.name + 2, "dim")
        line.add_padded(golden_row.rstrip(), widths.golden + 2, "golden")
        line.add(predicted_row, style)
        lines.append(line.build())
    return lines


USER_ROWS = 6
RESULT_ROWS = 4


def turn_event_blocks(indexed: IndexedItem, turn: int, options: DisplayOptions) -> list[Block]:
    """Return the blocks of what happened in a turn: messages, calls and their results.

    The final reply of the item gets a section of its own, beside the golden reply if there is one.
    """
    event_filter = _EventFilter(indexed, turn, options)
    events = [event for event in list_turn_events(indexed, turn) if event_filter.is_shown(event)]
    final_reply = _find_final_reply_event(indexed, turn, events)

    blocks: list[Block] = []
    for group in _group_repeats(events):
        event = group[0]
        if len(group) > 1:
            blocks += _repeated_event_blocks(indexed, turn, group, options)
        elif event is final_reply and event.message is not None:
            blocks += _final_reply_event_blocks(indexed, event, event.message, options)
        else:
            blocks += _single_event_blocks(indexed, turn, event, options)

    # The model gave no final reply, but the golden answer has one.
    is_last_turn = turn == indexed.n_turns - 1
    has_golden_reply = indexed.item.extra.golden_reply is not None
    if final_reply is None and is_last_turn and has_golden_reply:
        blocks += final_reply_blocks(indexed, None, options)
    return blocks


def _final_reply_event_blocks(
    indexed: IndexedItem, event: TimelineEvent, message: Message, options: DisplayOptions
) -> Sequence[Block]:
    """Return the section of the final reply, which is a message in the last turn."""
    step = indexed.step_label(indexed.n_turns - 1, event.step)
    reply = final_reply_blocks(indexed, message.content, options, step)
    return set_message_number(reply, indexed.message_number(message))


def _find_final_reply_event(
    indexed: IndexedItem, turn: int, events: Sequence[TimelineEvent]
) -> TimelineEvent | None:
    """Return the model's message in its last step, which is its final reply.

    Returns None if the model made a call in this step, and for earlier turns of the item.
    """
    if turn != indexed.n_turns - 1:
        return None
    own_events = [event for event in events if _is_of_model(event)]
    last_step = max((event.step for event in own_events), default=-1)
    last_events = [event for event in own_events if event.step == last_step]
    if any(event.kind == "call" for event in last_events):
        return None

    for event in last_events:
        message = event.message
        # A message with a name is no reply, but for example reasoning.
        if message is not None and message.role == "assistant" and not message.name:
            return event
    return None


def _is_of_model(event: TimelineEvent) -> bool:
    """Whether the event is from the dialogue of the judged model, not a log or a snapshot."""
    if event.is_context:
        return False
    return event.message is None or event.message.role not in ("log", "state")


def _single_event_blocks(
    indexed: IndexedItem, turn: int, event: TimelineEvent, options: DisplayOptions
) -> list[Block]:
    """Return the blocks of an event: a message, or a call with its result."""
    if event.message is not None:
        block = _message_block(indexed, turn, event, event.message, options)
        number = indexed.message_number(event.message)
        is_text = event.message.role in ("user", "assistant")
        return [*set_message_number([block], number, stops_cursor=is_text)]

    blocks = _call_event_blocks(indexed, turn, event, options)
    if event.observation is not None:
        # The result of a call that is right (`=` or `~`) is cut to one line.
        is_equal = event.pair is not None and event.pair.state in "=~"
        result = _result_block(turn, event, event.observation, options, is_brief=is_equal)
        blocks += set_message_number([result], indexed.message_number(event.observation))
    return blocks


def _call_event_blocks(
    indexed: IndexedItem, turn: int, event: TimelineEvent, options: DisplayOptions
) -> list[Block]:
    """Return the blocks of a call, beside the golden call that the benchmark compares with it, if
    any.
    """
    number = indexed.message_number(event.call)
    if event.pair is not None:
        pair = pair_blocks(indexed, event.pair, event.position, options)
        return [*set_message_number(pair, number)]
    if event.call is None:
        return []
    key = f"{turn_address(turn)}/{event.key}/call"
    step = indexed.step_label(turn, event.step)
    call = unpaired_call_blocks(key, step, event.call, options)
    return [*set_message_number(call, number, stops_cursor=True)]


def _repeated_event_blocks(
    indexed: IndexedItem, turn: int, repeated: Sequence[TimelineEvent], options: DisplayOptions
) -> list[Block]:
    """Return one line for several equal events, such as a call that the model repeats.

    Below it is the first result or, if the reader has unfolded the line, all events.
    """
    first = repeated[0]
    head = _repeated_events_head(indexed, turn, repeated, options)
    if not head.folded:
        blocks = [head]
        for event in repeated:
            blocks += _single_event_blocks(indexed, turn, event, options)
        return blocks
    if first.observation is None:
        return [head]
    label = "all" if _have_same_result(repeated) else "first"
    result = _result_block(turn, first, first.observation, options, is_brief=True, label=label)
    return [head, result]


def _repeated_events_head(
    indexed: IndexedItem, turn: int, repeated: Sequence[TimelineEvent], options: DisplayOptions
) -> Block:
    """Return the line that stands for equal events. It is folded at first."""
    first = repeated[0]
    key = _repeated_events_key(turn, repeated)
    name = _name_repeated_events(indexed, turn, repeated)
    head = Block(
        key,
        lambda cells: [_repeated_events_line(repeated, name, cells)],
        differs=first.kind == "call",
        foldable=True,
        folded=options.is_folded(key, by_default=True),
        title=f"turn {turn + 1} {name}",
    )
    head.message_number = indexed.message_number(first.call or first.message)
    return head


def _repeated_events_key(turn: int, repeated: Sequence[TimelineEvent]) -> str:
    """Return a key such as `turn:1/calls:2-5`."""
    first = repeated[0]
    last = repeated[-1]
    if first.kind == "call":
        numbers = f"{first.position + 1}-{last.position + 1}"
    else:
        numbers = f"{first.step + 1}-{last.step + 1}"
    return f"{turn_address(turn)}/{first.kind}s:{numbers}"


def _name_repeated_events(
    indexed: IndexedItem, turn: int, repeated: Sequence[TimelineEvent]
) -> str:
    """Return a name such as `calls 2-5` or `steps 3-7`."""
    first = repeated[0]
    last = repeated[-1]
    if first.kind == "call":
        return f"calls {first.position + 1}-{last.position + 1}"
    first_number = indexed.step_numbers[turn, first.step]
    last_number = indexed.step_numbers[turn, last.step]
    return f"steps {first_number}-{last_number}"


def _repeated_events_line(repeated: Sequence[TimelineEvent], name: str, cells: int) -> Line:
    """Return one line for equal calls or messages in a row, with their number.

    An example is `+ call 3-7 · 5x get_weather(city="Rome")`.
    """
    first = repeated[0]
    times = f"{len(repeated)}x "
    line = LineBuilder()
    if first.call is not None:
        line.add("+ ", "extra")
        line.add(f"{name} · ", "dim")
        line.add(times + format_call(first.call))
    else:
        content = first.message.content if first.message is not None else ""
        line.add(pad_label("repeats"), "dim")
        line.add(f"{name} · {times}", "dim")
        line.add(sanitize(content[: cells * 2]))
    return fit_line(line.build(), cells)


def _have_same_result(events: Sequence[TimelineEvent]) -> bool:
    contents = {event.observation.content if event.observation else "" for event in events}
    return len(contents) == 1


class _EventFilter:
    """Selects the events of a turn to show. It indexes the turn once, because a turn can have
    thousands of steps.
    """

    def __init__(self, indexed: IndexedItem, turn: int, options: DisplayOptions) -> None:
        """Collect what decides whether an event of a turn is shown."""
        self._full_dialogue = options.full_dialogue
        """Whether the reader chose to see all messages."""
        self._has_pairs = bool(indexed.pairs.get(turn))
        """Whether the calls of the turn are shown beside golden calls."""
        self._calls_by_step = group_by(indexed.calls_of_turn(turn), lambda call: call.step)

        messages = indexed.messages.get(turn, [])
        replies = [message for message in messages if message.role == "assistant"]
        self._steps_with_text = {reply.step for reply in replies if reply.content.strip()}
        """Steps in which the model wrote text."""
        self._last_reply_step = max((reply.step for reply in replies), default=NO_STEP)
        self._ids_after_results = _find_messages_after_results(messages)

    def is_shown(self, event: TimelineEvent) -> bool:
        """Whether an event is shown. Without full dialogue, a raw reply is omitted if its calls are
        shown. Some logs and system messages are omitted too.
        """
        message = event.message
        if message is None or self._full_dialogue:
            return True
        if message.role == "assistant":
            return self._is_reply_shown(message)
        if message.role in ("log", "system"):
            return self._is_log_shown(message)
        return True

    def _is_reply_shown(self, message: Message) -> bool:
        """Whether the text of a model's reply is shown beside the calls of the reply.

        The text of a reply without calls is always shown. In a turn whose calls the benchmark
        compares with golden ones, the text is omitted, because it is usually the raw form of the
        calls. In other turns, it is omitted only if it says nothing but the calls.
        """
        calls = self._calls_by_step.get(message.step, [])
        if not calls or message.name:
            return True
        return not self._has_pairs and not is_only_call_text(message.content, calls)

    def _is_log_shown(self, message: Message) -> bool:
        """Whether a log message or a system message is shown.

        In a step without calls, system messages are shown. Logs are shown there only if the model
        wrote no text. In a step with calls, a message is shown only after the last tool result, and
        only if the model wrote no reply in a later step.
        """
        # An unknown part may be a call or a text, so it is never omitted.
        if message.name == UNKNOWN_PARTS:
            return True
        has_calls = message.step in self._calls_by_step
        if not has_calls:
            return message.role == "system" or message.step not in self._steps_with_text

        is_in_last_steps = message.step >= self._last_reply_step
        return is_in_last_steps and id(message) in self._ids_after_results


def _find_messages_after_results(messages: Sequence[Message]) -> set[int]:
    """Return the messages after the last tool result of their step, as object ids.

    A message has no key of its own, so it is identified by its object. In a step without results,
    no message counts.
    """
    last_results: dict[int, int] = {}
    for position, message in enumerate(messages):
        if message.role == "tool":
            last_results[message.step] = position

    ids = set()
    for position, message in enumerate(messages):
        last_result = last_results.get(message.step)
        if last_result is not None and position > last_result:
            ids.add(id(message))
    return ids


def _message_block(
    indexed: IndexedItem, turn: int, event: TimelineEvent, message: Message, options: DisplayOptions
) -> Block:
    """Return the block of a message. Its layout depends on its role, which says who wrote it.

    Besides the user, the model and a tool, this can be the benchmark, which records the state of
    the environment and log lines. The name says more about the author: the environment of a state,
    or the speaker. Parts that the importer does not know have a name of their own, in any role.
    """
    key = f"{turn_address(turn)}/{event.key}"
    if message.role == "tool":
        return _result_block(turn, event, message, options, is_brief=event.is_context)
    if message.role == "state":
        return state_snapshot_block(key, message.name or "", message.content)
    if message.name == UNKNOWN_PARTS:
        return one_line_block(key, "unknown", message.content, style="warn", title=UNKNOWN_PARTS)
    if message.role in ("log", "system"):
        return one_line_block(key, message.role, message.content)
    if message.role == "other":
        return other_role_block(key, message, options)
    if message.role == "user":
        return text_block(key, "user", message.content, options, folded_rows=USER_ROWS)
    return _model_message_block(indexed, turn, event, message, options)


def _model_message_block(
    indexed: IndexedItem, turn: int, event: TimelineEvent, message: Message, options: DisplayOptions
) -> Block:
    """Return the block of a message in the role of the model. Without a name, it is the model's
    reply. With one, it is something else, such as reasoning or a golden call of the benchmark.
    """
    key = f"{turn_address(turn)}/{event.key}"
    step_label = indexed.step_label(turn, event.step)
    if message.name == GOLDEN_CALL:
        calls = parse_quoted_calls(message.content)
        if calls:
            suffix = f" · {step_label}" if indexed.has_several_steps(turn) else ""
            return _earlier_golden_call_block(key, calls, message, suffix)

    return text_block(
        key,
        message.name or step_label,
        message.content,
        options,
        title=f"turn {turn + 1} {step_label}",
        style="dim" if message.name else "",
    )


def _earlier_golden_call_block(
    key: str, calls: Sequence[Call], message: Message, suffix: str
) -> Block:
    """Return the block of golden calls that the benchmark supplied as a message of the dialogue."""
    text = ", ".join(format_call(call) for call in calls)
    block = one_line_block(
        key, "golden", text, style="golden", suffix=suffix, title="earlier golden call"
    )
    return replace(block, full_text=lambda: message.content)


ERROR_BEGINNINGS = ('{"error":', "error during", "error (")
"""Beginnings of tool results that report an error, in lower case."""


def _result_block(
    turn: int,
    event: TimelineEvent,
    result: Message,
    options: DisplayOptions,
    *,
    is_brief: bool,
    label: str = "result",
) -> Block:
    """Return the block of a tool result. A result that reports an error stands out.

    `is_brief`: whether to fold it to one row.
    """
    longest = max(len(beginning) for beginning in ERROR_BEGINNINGS)
    beginning = result.content.lstrip()[:longest].lower()
    is_error = beginning.startswith(ERROR_BEGINNINGS)
    function_name = result.name or (event.call.name if event.call else "")
    return text_block(
        f"{turn_address(turn)}/{event.key}",
        label,
        result.content,
        options,
        folded_rows=1 if is_brief else RESULT_ROWS,
        style="bad" if is_error else "dim",
        title=f"result {sanitize(function_name)}",
    )
