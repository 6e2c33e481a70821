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
from fcreview.model.item import GOLDEN_CALL, Call, CallPair, DiffState, Message
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
    fit_line,
    format_size,
    make_line,
    pad_text,
    rule_line,
    wrap_first_rows,
)


@dataclass(frozen=True, slots=True)
class TimelineEvent:
    """A predicted call with its result, a golden call that was not made, or a message."""

    kind: Literal["call", "missing", "message"]
    step: int
    """Index of the step, from 0. It is -1 for a golden call that was not made."""
    key: str
    """Last part of the block key, unique within the turn, such as `step:2/assistant:0`."""
    position: int = -1
    """Index of the call pair in the turn.

    It is -1 if the event is not a call or the call has no pair.
    """
    pair: CallPair | None = None
    call: Call | None = None
    observation: Message | None = None
    message: Message | None = None
    is_context: bool = False
    """Whether the message is from the benchmark, not from the judged model."""


def list_turn_events(indexed: IndexedItem, turn: int) -> list[TimelineEvent]:
    """Return the events of a turn after its opening messages."""
    turn_calls = [call for (at, _), call in sorted(indexed.predicted_calls.items()) if at == turn]
    calls = group_by(turn_calls, lambda call: call.step)
    messages = group_by(
        (m for m in indexed.messages.get(turn, []) if m.step >= 0), lambda message: message.step
    )
    missing = _missing_calls_by_predecessor(indexed, turn)
    first_judged = _find_first_judged_step(indexed, turn)
    events: list[TimelineEvent] = []
    for step in sorted(messages.keys() | calls.keys()):
        is_context = step < first_judged
        if not is_context:
            events += missing.pop(None, [])
        content = messages.get(step, []), calls.get(step, [])
        events += _step_events(indexed, turn, step, *content, missing, is_context=is_context)
    return events + [event for remaining in missing.values() for event in remaining]


def _find_first_judged_step(indexed: IndexedItem, turn: int) -> int | float:
    """Return the index of the judged model's first step.

    It is infinite if the benchmark supplied the whole turn.
    """
    if indexed.is_earlier_dialogue(turn):
        return float("inf")
    return max(
        (m.step + 1 for m in indexed.messages.get(turn, []) if m.name == GOLDEN_CALL), default=0
    )


def _missing_calls_by_predecessor(
    indexed: IndexedItem, turn: int
) -> dict[int | None, list[TimelineEvent]]:
    """Return the golden calls that the model did not make, by the index of the predicted call
    before them on screen. The key is None for missing calls before the first predicted call.
    """
    missing: dict[int | None, list[TimelineEvent]] = {}
    previous: int | None = None
    for position, pair in enumerate(indexed.pairs.get(turn, [])):
        if pair.golden is None:
            continue
        if pair.predicted is not None:
            previous = pair.predicted
        else:
            event = TimelineEvent(
                "missing", step=-1, key=f"call:{position + 1}", position=position, pair=pair
            )
            missing.setdefault(previous, []).append(event)
    return missing


def _step_events(
    indexed: IndexedItem,
    turn: int,
    step: int,
    messages: list[Message],
    calls: list[Call],
    missing_calls: dict[int | None, list[TimelineEvent]],
    *,
    is_context: bool,
) -> list[TimelineEvent]:
    """Return the events of a step. After each predicted call, insert the missing calls that follow
    it, and remove them from `missing_calls`.
    """
    pairs = indexed.pairs.get(turn, [])
    positions = {pair.predicted: at for at, pair in enumerate(pairs) if pair.predicted is not None}
    results = [message for message in messages if message.role == "tool"]
    key = f"step:{step + 1}"
    call_events: list[TimelineEvent] = []
    for at, call in enumerate(calls):
        position = positions.get(call.index, -1)
        pair = pairs[position] if position >= 0 else None
        result = results[at] if at < len(results) else None
        call_events.append(
            TimelineEvent(
                "call",
                step=step,
                key=f"{key}/tool:{at + 1}",
                position=position,
                pair=pair,
                call=call,
                observation=result,
            )
        )
        call_events += missing_calls.pop(call.index, [])
    events: list[TimelineEvent] = []
    n_results = 0
    for at, message in enumerate(messages):
        name = f"{message.role}:{at}"
        if message.role != "assistant":
            events += call_events
            call_events = []
        if message.role == "tool":
            n_results += 1
            if n_results <= len(calls):
                continue
            name = f"tool:more{n_results - len(calls) - 1}" if calls else f"tool:{n_results}"
        events.append(
            TimelineEvent(
                "message", step=step, key=f"{key}/{name}", message=message, is_context=is_context
            )
        )
    return events + call_events


MIN_REPEATS = 3


def _group_repeats(events: Sequence[TimelineEvent]) -> list[Sequence[TimelineEvent]]:
    """Group at least `MIN_REPEATS` equal events that follow each other.

    Each other event has its own group.
    """
    groups: list[Sequence[TimelineEvent]] = []
    at = 0
    while at < len(events):
        end = at + 1
        while end < len(events) and _is_repeat(events[at], events[end]):
            end += 1
        groups += (
            [events[at:end]] if end - at >= MIN_REPEATS else [[event] for event in events[at:end]]
        )
        at = end
    return groups


def _is_repeat(first: TimelineEvent, second: TimelineEvent) -> bool:
    if first.call is not None and second.call is not None:
        extra = (
            first.pair is not None
            and second.pair is not None
            and first.pair.state == second.pair.state in "+ "
        )
        return extra and is_same_call(first.call, second.call)
    one, other = first.message, second.message
    return bool(
        one and other and one.role == other.role == "assistant" and one.content == other.content
    )


REPLY_ROWS = 10
NO_REPLY = "(no reply: the model made a call)"
REPLY_LABEL_CELLS = 6


def final_reply_blocks(
    indexed: IndexedItem, reply: str | None, options: DisplayOptions, step: str = ""
) -> list[Block]:
    """Return the blocks of the final reply, beside the golden reply if there is one. `reply` is
    None if the model made a call instead. `step`: label of the step for the heading.
    """
    golden = indexed.item.extra.golden_reply
    if golden is not None:
        body = [*_response_label_blocks(indexed), _two_replies_block(golden, reply, options)]
    elif reply:
        body = [
            text_block(
                "response/text",
                "",
                reply,
                options,
                folded_rows=REPLY_ROWS,
                title=RESPONSE,
                style="predicted",
            )
        ]
    else:
        body = [Block("response/text", lambda _: [make_line("  (empty)", "dim")])]
    judged = " · judged" if indexed.is_trajectory and golden is not None else ""
    facts = f" · {step}{judged}" if step else judged

    def heading_lines(cells: int) -> list[Line]:
        lines = [rule_line((("response", "strong"), (facts, "dim")), cells)]
        return lines if golden is None else [*lines, column_headings(_reply_columns(cells), "")]

    head = Block(
        RESPONSE,
        heading_lines,
        target=RESPONSE,
        is_heading=True,
        is_judged=golden is not None,
        title="response",
        copied_value=lambda: reply,
    )
    reviews = target_verdict_and_review_blocks(indexed, RESPONSE, automatic_sources=())
    return [head, *body, *judge_blocks(indexed, RESPONSE), *reviews]


def _reply_columns(cells: int) -> Columns:
    half = max((cells - REPLY_LABEL_CELLS - 6) // 2, 8)
    return Columns(REPLY_LABEL_CELLS, golden=half, predicted=half)


def _response_label_blocks(indexed: IndexedItem) -> list[Block]:
    """Return the row that compares the golden labels of the response with the labels from a judge.
    Empty if the benchmark has no golden labels.
    """
    golden = indexed.item.extra.golden_labels
    if golden is None:
        return []
    verdict = None if indexed.hide_verdicts else find_judge_label_verdict(indexed.item)
    row = ArgumentRow(
        "labels",
        depth=0,
        state="=",
        golden=", ".join(golden),
        predicted="(hidden)" if indexed.hide_verdicts else "(not judged)",
        reason=None,
    )
    if verdict is not None:
        predicted = [str(label) for label in verdict.value]
        passes = indexed.item.rule if indexed.item.official is None else indexed.item.official
        state: DiffState = "=" if set(predicted) == set(golden) else "~" if passes else "!"
        reason = None if state == "=" else f"labels from judge {verdict.by or ''}".rstrip()
        row = replace(row, state=state, predicted=", ".join(predicted) or "(none)", reason=reason)
    block = argument_block("response/labels", row, _reply_columns, "labels", RESPONSE)
    if verdict is not None:
        return [block]

    def render_without_state_symbol(cells: int) -> list[Line]:
        first, *rest = block.lines(cells)
        return [(("  ", ""), *first[1:]), *rest]

    return [replace(block, lines=render_without_state_symbol, copied_value=None)]


def _two_replies_block(golden: str, reply: str | None, options: DisplayOptions) -> Block:
    predicted = NO_REPLY if reply is None else reply or "(empty)"
    key = "response/text"
    long = is_longer_than(golden, REPLY_ROWS // 2) or is_longer_than(predicted, REPLY_ROWS // 2)
    exceeds_inline = max(len(golden), len(predicted)) > MAX_INLINE_CHARS
    folded = long and (options.is_folded(key, True) or exceeds_inline)

    def render_lines(cells: int) -> list[Line]:
        limit = REPLY_ROWS if folded else UNLIMITED_ROWS
        widths = _reply_columns(cells)
        left, left_has_more = wrap_first_rows(golden, widths.golden, limit)
        right, right_has_more = wrap_first_rows(predicted, widths.predicted, limit)
        rendered: list[Line] = []
        for at, (golden_row, predicted_row) in enumerate(zip_longest(left, right, fillvalue="")):
            label = pad_text("reply" if at == 0 else "", widths.name + 2, "dim")
            golden_part = pad_text(golden_row.rstrip(), widths.golden + 2, "golden")
            rendered.append(
                (("  ", ""), label, golden_part, (predicted_row, "predicted" if reply else "dim"))
            )
        if left_has_more or right_has_more:
            hint = f"… {format_size(golden)} and {format_size(predicted)}, {options.unfold_hint}"
            rendered.append(make_line(" " * (REPLY_LABEL_CELLS + 4) + hint, "dim"))
        return rendered

    return Block(
        key,
        render_lines,
        target=RESPONSE,
        foldable=long,
        folded=folded,
        opens_pager=exceeds_inline,
        title="reply",
        full_text=lambda: f"golden\n{golden}\n\npredicted\n{predicted}",
    )


USER_ROWS = 6
RESULT_ROWS = 4


def turn_event_blocks(indexed: IndexedItem, turn: int, options: DisplayOptions) -> list[Block]:
    events = [
        event
        for event in list_turn_events(indexed, turn)
        if _is_event_shown(indexed, turn, event, options)
    ]
    final_reply = _find_final_reply_event(indexed, turn, events)
    blocks: list[Block] = []
    for group in _group_repeats(events):
        event = group[0]
        if len(group) > 1:
            blocks += _repeated_event_blocks(indexed, turn, group, options)
        elif event is final_reply and event.message is not None:
            step = indexed.step_label(turn, event.step)
            reply = final_reply_blocks(indexed, event.message.content, options, step)
            blocks += set_message_number(reply, indexed.message_number(event.message))
        else:
            blocks += _single_event_blocks(indexed, turn, event, options)
    if (
        final_reply is None
        and turn == indexed.n_turns - 1
        and indexed.item.extra.golden_reply is not None
    ):
        blocks += final_reply_blocks(indexed, None, options)
    return blocks


def _find_final_reply_event(
    indexed: IndexedItem, turn: int, events: Sequence[TimelineEvent]
) -> TimelineEvent | None:
    if turn != indexed.n_turns - 1:
        return None
    own = [
        e
        for e in events
        if not e.is_context and (e.message is None or e.message.role not in ("log", "state"))
    ]
    last_step = max((event.step for event in own), default=-1)
    last_events = [event for event in own if event.step == last_step]
    if any(event.kind == "call" for event in last_events):
        return None
    return next(
        (
            e
            for e in last_events
            if e.message and e.message.role == "assistant" and not e.message.name
        ),
        None,
    )


def _single_event_blocks(
    indexed: IndexedItem, turn: int, event: TimelineEvent, options: DisplayOptions
) -> list[Block]:
    if event.message is not None:
        number, is_text = (
            indexed.message_number(event.message),
            event.message.role in ("user", "assistant"),
        )
        block = _message_block(indexed, turn, event, event.message, options)
        return [*set_message_number([block], number, stops_cursor=is_text)]

    number = indexed.message_number(event.call)
    blocks: list[Block] = []
    if event.pair is not None:
        blocks += set_message_number(
            pair_blocks(indexed, event.pair, event.position, options), number
        )
    elif event.call is not None:
        key = f"{turn_address(turn)}/{event.key}/call"
        call = unpaired_call_blocks(key, indexed.step_label(turn, event.step), event.call, options)
        blocks += set_message_number(call, number, stops_cursor=True)

    if event.observation is not None:
        is_equal = event.pair is not None and event.pair.state in "=~"
        result = _result_block(turn, event, event.observation, options, is_brief=is_equal)
        blocks += set_message_number([result], indexed.message_number(event.observation))
    return blocks


def _repeated_event_blocks(
    indexed: IndexedItem, turn: int, repeated: Sequence[TimelineEvent], options: DisplayOptions
) -> list[Block]:
    """Return one line for several equal events and, if the reader has unfolded it, the blocks of
    each event.
    """
    first, last = repeated[0], repeated[-1]
    is_call = first.kind == "call"
    start, end = (first.position, last.position) if is_call else (first.step, last.step)
    shown = (
        (start + 1, end + 1)
        if is_call
        else (indexed.step_numbers[turn, start], indexed.step_numbers[turn, end])
    )
    name = f"{'calls' if is_call else 'steps'} {shown[0]}-{shown[1]}"
    key = f"{turn_address(turn)}/{first.kind}s:{start + 1}-{end + 1}"
    folded = options.is_folded(key, True)
    times = f"{len(repeated)}x "

    def render_lines(cells: int) -> list[Line]:
        if first.call is not None:
            text = format_call(first.call)
            return [fit_line((("+ ", "extra"), (f"{name} · ", "dim"), (times + text, "")), cells)]
        text = sanitize(first.message.content[: cells * 2] if first.message else "")
        return [
            fit_line(
                ((pad_label("repeats"), "dim"), (f"{name} · {times}", "dim"), (text, "")), cells
            )
        ]

    head = Block(
        key,
        render_lines,
        differs=is_call,
        foldable=True,
        folded=folded,
        title=f"turn {turn + 1} {name}",
    )
    head.message_number = indexed.message_number(first.call or first.message)
    if not folded:
        return [
            head,
            *(
                block
                for event in repeated
                for block in _single_event_blocks(indexed, turn, event, options)
            ),
        ]
    if first.observation is None:
        return [head]
    results = {event.observation.content if event.observation else "" for event in repeated}
    label = "all" if len(results) == 1 else "first"
    return [
        head,
        _result_block(turn, first, first.observation, options, is_brief=True, label=label),
    ]


def _is_event_shown(
    indexed: IndexedItem, turn: int, event: TimelineEvent, options: DisplayOptions
) -> bool:
    """Whether an event is shown. Without full dialogue, a raw reply is omitted if its calls are
    shown. Some logs and system messages are omitted too.
    """
    message = event.message
    if message is None or options.full_dialogue:
        return True

    calls = [
        call
        for (at, _), call in indexed.predicted_calls.items()
        if at == turn and call.step == event.step
    ]
    if message.role == "assistant":
        return _is_reply_shown(indexed, turn, message, calls)
    if message.role not in ("log", "system"):
        return True

    messages = [m for m in indexed.messages.get(turn, []) if m.step == event.step]
    if calls:
        last_reply = max(
            (m.step for m in indexed.messages[turn] if m.role == "assistant"), default=event.step
        )
        last_result = max(
            (n for n, m in enumerate(messages) if m.role == "tool"), default=len(messages)
        )
        return event.step >= last_reply and messages.index(message) > last_result
    return message.role != "log" or not any(
        m.role == "assistant" and m.content.strip() for m in messages
    )


def _is_reply_shown(
    indexed: IndexedItem, turn: int, message: Message, calls: Sequence[Call]
) -> bool:
    """Whether the text of a reply is shown beside its calls.

    If a benchmark compares the calls of the turn, a reply with calls is usually their raw text. If
    it does not, the text belongs to a conversation, unless it is only the raw form of the calls.
    """
    if not calls or message.name:
        return True
    return not indexed.pairs.get(turn) and not is_only_call_text(message.content, calls)


def _message_block(
    indexed: IndexedItem, turn: int, event: TimelineEvent, message: Message, options: DisplayOptions
) -> Block:
    key, step_label = f"{turn_address(turn)}/{event.key}", indexed.step_label(turn, event.step)
    if message.role == "tool":
        return _result_block(turn, event, message, options, is_brief=event.is_context)
    if message.role == "state":
        return state_snapshot_block(key, message.name or "", message.content)
    if message.role in ("log", "system"):
        return one_line_block(key, message.role, message.content)
    if message.role == "other":
        return other_role_block(key, message, options)
    if message.role == "user":
        return text_block(key, "user", message.content, options, folded_rows=USER_ROWS)
    if message.name == GOLDEN_CALL and (calls := parse_quoted_calls(message.content)):
        text = ", ".join(format_call(call) for call in calls)
        suffix = f" · {step_label}" if indexed.has_several_steps(turn) else ""
        block = one_line_block(
            key, "golden", text, style="golden", suffix=suffix, title="earlier golden call"
        )
        return replace(block, full_text=lambda: message.content)
    title, style = f"turn {turn + 1} {step_label}", "dim" if message.name else ""
    return text_block(
        key, message.name or step_label, message.content, options, title=title, style=style
    )


def _result_block(
    turn: int,
    event: TimelineEvent,
    result: Message,
    options: DisplayOptions,
    *,
    is_brief: bool,
    label: str = "result",
) -> Block:
    is_error = (
        result.content.lstrip()[:20].lower().startswith(('{"error":', "error during", "error ("))
    )
    return text_block(
        f"{turn_address(turn)}/{event.key}",
        label,
        result.content,
        options,
        folded_rows=1 if is_brief else RESULT_ROWS,
        style="bad" if is_error else "dim",
        title=f"result {sanitize(result.name or (event.call.name if event.call else ''))}",
    )
