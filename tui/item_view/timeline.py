"""Render the events of a turn in the order in which they happened: calls with results, messages, and the final reply.

A golden call that the model did not make is shown after the predicted call that matches the previous golden call.
Consecutive equal calls or messages are folded to one line.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import zip_longest
from typing import Literal

from fcreview.matching.conversation import is_same_call, parse_quoted_calls
from fcreview.matching.first_difference import ArgumentRow
from fcreview.model.address import RESPONSE, turn_address
from fcreview.model.item import GOLDEN_CALL, Call, CallPair, DiffState, Message, Verdict
from fcreview.model.sanitize import sanitize
from fcreview.tui.item_view.blocks import (
    MAX_INLINE_CHARS,
    UNLIMITED_ROWS,
    Block,
    DisplayOptions,
    IndexedItem,
    LineRenderer,
    is_long,
    one_line_block,
    pad_label,
    set_message_number,
    state_snapshot_block,
    text_block,
)
from fcreview.tui.item_view.call_diff import Columns, column_headings, format_call
from fcreview.tui.item_view.call_pairs import argument_block, pair_blocks
from fcreview.tui.item_view.verdicts import find_judge_label_verdict, judge_blocks, target_verdict_and_review_blocks
from fcreview.tui.text.lines import Line, fit_line, format_size, make_line, pad_text, rule_line, wrap_first_rows


@dataclass(frozen=True, slots=True)
class TimelineEvent:
    """A predicted call with its result, a golden call that was not made, or a message."""

    kind: Literal["call", "missing", "message"]
    step: int
    """Index of the step, from 0. It is -1 for a golden call that was not made."""
    key: str
    """Last part of the block key, unique within the turn, such as `step:2/assistant:0`."""
    position: int = -1
    """Index of the call pair in the turn. It is -1 if the event is not a call or the call has no pair."""
    pair: CallPair | None = None
    call: Call | None = None
    observation: Message | None = None
    message: Message | None = None
    is_context: bool = False
    """Whether the message is dialogue that the benchmark supplied, and not from the judged model."""


def turn_events(indexed: IndexedItem, turn: int) -> list[TimelineEvent]:
    """Return the events of a turn after its opening messages."""
    calls: defaultdict[int, list[Call]] = defaultdict(list)
    for (call_turn, _), call in sorted(indexed.predicted_calls.items()):
        if call_turn == turn:
            calls[call.step].append(call)
    messages: defaultdict[int, list[Message]] = defaultdict(list)
    for message in indexed.messages.get(turn, []):
        if message.step >= 0:
            messages[message.step].append(message)
    missing = _missing_calls_by_predecessor(indexed, turn)
    first_judged = _first_judged_step(indexed, turn)
    events: list[TimelineEvent] = []
    for step in sorted(messages.keys() | calls.keys()):
        is_context = step < first_judged
        if not is_context:
            events += missing.pop(None, [])
        events += _step_events(indexed, turn, step, messages[step], calls[step], missing, is_context=is_context)
    return events + [event for remaining in missing.values() for event in remaining]


def _first_judged_step(indexed: IndexedItem, turn: int) -> int | float:
    """Return the index of the evaluated model's first step. It is infinite if the benchmark supplied the whole turn."""
    if indexed.is_earlier_dialogue(turn):
        return float("inf")
    return max((m.step + 1 for m in indexed.messages.get(turn, []) if m.name == GOLDEN_CALL), default=0)


def _missing_calls_by_predecessor(indexed: IndexedItem, turn: int) -> dict[int | None, list[TimelineEvent]]:
    """Return the golden calls that the model did not make, by the index of the predicted call that they follow on
    screen. The key None holds the missing calls before the first predicted call."""
    missing: dict[int | None, list[TimelineEvent]] = {}
    previous: int | None = None
    for position, pair in enumerate(indexed.pairs.get(turn, [])):
        if pair.golden is None:
            continue
        if pair.predicted is not None:
            previous = pair.predicted
        else:
            event = TimelineEvent("missing", -1, f"call:{position + 1}", position, pair)
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
    """Return the events of a step. The missing golden calls of a predicted call are removed from `missing_calls` and
    follow this call."""
    pairs = indexed.pairs.get(turn, [])
    positions = {pair.predicted: at for at, pair in enumerate(pairs) if pair.predicted is not None}
    results = [message for message in messages if message.role == "tool"]
    key = f"step:{step + 1}"
    call_events: list[TimelineEvent] = []
    for at, call in enumerate(calls):
        position = positions.get(call.index, -1)
        pair = pairs[position] if position >= 0 else None
        result = results[at] if at < len(results) else None
        call_events.append(TimelineEvent("call", step, f"{key}/tool:{at + 1}", position, pair, call, result))
        call_events += missing_calls.pop(call.index, [])
    events: list[TimelineEvent] = []
    n_results = 0
    for at, message in enumerate(messages):
        name = f"{message.role}:{at}"
        if message.role != "assistant":
            events, call_events = events + call_events, []
        if message.role == "tool":
            n_results += 1
            if n_results <= len(calls):
                continue
            name = f"tool:more{n_results - len(calls) - 1}" if calls else f"tool:{n_results}"
        events.append(TimelineEvent("message", step, f"{key}/{name}", message=message, is_context=is_context))
    return events + call_events


MIN_REPEATS = 3


@dataclass(frozen=True, slots=True)
class RepeatedEvents:
    """Equal events that follow each other, shown as one folded line."""

    events: tuple[TimelineEvent, ...]

    @property
    def has_equal_results(self) -> bool:
        return len({event.observation.content if event.observation else "" for event in self.events}) == 1


def group_repeats(events: Sequence[TimelineEvent]) -> list[TimelineEvent | RepeatedEvents]:
    grouped: list[TimelineEvent | RepeatedEvents] = []
    at = 0
    while at < len(events):
        end = at + 1
        while end < len(events) and _is_repeat(events[at], events[end]):
            end += 1
        if end - at >= MIN_REPEATS:
            grouped.append(RepeatedEvents(tuple(events[at:end])))
        else:
            grouped += events[at:end]
        at = end
    return grouped


def _is_repeat(first: TimelineEvent, second: TimelineEvent) -> bool:
    if first.call is not None and second.call is not None:
        extra = first.pair is not None and second.pair is not None and first.pair.state == second.pair.state in "+ "
        return extra and is_same_call(first.call, second.call)
    if first.message is not None and second.message is not None:
        one, other = first.message, second.message
        return one.role == other.role == "assistant" and one.content == other.content
    return False


REPLY_ROWS = 10
NO_REPLY = "(no reply: the model made a call)"
REPLY_LABEL_CELLS = 6


def final_reply_blocks(
    indexed: IndexedItem, reply: str | None, options: DisplayOptions, step_label: str = ""
) -> list[Block]:
    """Return the blocks of the final reply, with the golden reply beside it if there is one. `reply` is None if the
    model made a call instead."""
    golden = indexed.item.extra.golden_reply
    if golden is None:
        body = [_reply_block(reply or "", options)]
    else:
        body = [*_response_label_blocks(indexed), _two_replies_block(golden, reply, options)]
    judged = " · judged" if indexed.is_trajectory and golden is not None else ""
    step = f" · {step_label}" if step_label else ""

    def heading_lines(cells: int) -> list[Line]:
        lines = [rule_line((("response", "strong"), (step + judged, "dim")), cells)]
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
    reviews = target_verdict_and_review_blocks(indexed, RESPONSE, sources=())
    return [head, *body, *judge_blocks(indexed, RESPONSE), *reviews]


def _reply_columns(cells: int) -> Columns:
    half = max((cells - REPLY_LABEL_CELLS - 6) // 2, 8)
    return Columns(REPLY_LABEL_CELLS, half, half)


def _reply_block(reply: str, options: DisplayOptions) -> Block:
    if not reply:
        return Block("response/text", lambda _: [make_line("  (empty)", "dim")])
    return text_block("response/text", "", reply, options, folded_rows=REPLY_ROWS, title=RESPONSE, style="predicted")


def _response_label_blocks(indexed: IndexedItem) -> list[Block]:
    golden = indexed.item.extra.golden_labels
    if golden is None:
        return []
    verdict = None if indexed.hide_verdicts else find_judge_label_verdict(indexed.item)
    if verdict is not None:
        row = _response_label_row(indexed, golden, verdict)
        return [argument_block("response/labels", row, _reply_columns, "labels", RESPONSE)]
    no_labels = "(hidden)" if indexed.hide_verdicts else "(not judged)"
    unjudged = ArgumentRow("labels", 0, "=", ", ".join(golden), no_labels, None)
    block = argument_block("response/labels", unjudged, _reply_columns, "labels", RESPONSE)
    return [replace(block, lines=partial(_without_state_symbol, block.lines), copied_value=None)]


def _without_state_symbol(render: LineRenderer, cells: int) -> list[Line]:
    first, *rest = render(cells)
    return [(("  ", ""), *first[1:]), *rest]


def _response_label_row(indexed: IndexedItem, golden: list[str], verdict: Verdict) -> ArgumentRow:
    predicted = [str(label) for label in verdict.value]
    passes = indexed.item.official if indexed.item.official is not None else indexed.item.rule
    state: DiffState = "=" if set(predicted) == set(golden) else "~" if passes else "!"
    reason = None if state == "=" else f"labels from judge {verdict.by or ''}".rstrip()
    return ArgumentRow("labels", 0, state, ", ".join(golden), ", ".join(predicted) or "(none)", reason)


def _two_replies_block(golden: str, reply: str | None, options: DisplayOptions) -> Block:
    predicted = NO_REPLY if reply is None else reply or "(empty)"
    key = "response/text"
    long = is_long(golden, REPLY_ROWS // 2) or is_long(predicted, REPLY_ROWS // 2)
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
            rendered.append((("  ", ""), label, golden_part, (predicted_row, "predicted" if reply else "dim")))
        if left_has_more or right_has_more:
            sizes = f"{format_size(golden)} and {format_size(predicted)}"
            rendered.append(make_line(f"{' ' * (REPLY_LABEL_CELLS + 4)}… {sizes}, {options.unfold_hint}", "dim"))
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
BRIEF_RESULT_ROWS = 1


def event_blocks(indexed: IndexedItem, turn: int, options: DisplayOptions) -> list[Block]:
    events = [event for event in turn_events(indexed, turn) if _is_event_shown(indexed, turn, event, options)]
    final_reply = _find_final_reply_event(indexed, turn, events)
    blocks: list[Block] = []
    for event in group_repeats(events):
        if isinstance(event, RepeatedEvents):
            blocks += _repeated_event_blocks(indexed, turn, event, options)
        elif event is final_reply and event.message is not None:
            step_label = indexed.step_label(turn, event.step)
            reply = final_reply_blocks(indexed, event.message.content, options, step_label)
            blocks += set_message_number(reply, indexed.message_number(event.message))
        else:
            blocks += _single_event_blocks(indexed, turn, event, options)
    if final_reply is None and turn == indexed.n_turns - 1 and indexed.item.extra.golden_reply is not None:
        blocks += final_reply_blocks(indexed, None, options)
    return blocks


def _find_final_reply_event(indexed: IndexedItem, turn: int, events: Sequence[TimelineEvent]) -> TimelineEvent | None:
    if turn != indexed.n_turns - 1:
        return None
    own = [e for e in events if not e.is_context and not (e.message and e.message.role in ("log", "state"))]
    last_step = max((event.step for event in own), default=-1)
    last_events = [event for event in own if event.step == last_step]
    if any(event.kind == "call" for event in last_events):
        return None
    return next((e for e in last_events if e.message and e.message.role == "assistant" and not e.message.name), None)


def _single_event_blocks(indexed: IndexedItem, turn: int, event: TimelineEvent, options: DisplayOptions) -> list[Block]:
    if event.message is not None:
        number, is_text = indexed.message_number(event.message), event.message.role in ("user", "assistant")
        block = _message_block(indexed, turn, event, event.message, options)
        return [*set_message_number([block], number, stops_cursor=is_text)]
    number = indexed.message_number(event.call)
    if event.pair is None and event.call is not None:  # The benchmark defines no golden calls for the turn.
        step_label = indexed.step_label(turn, event.step)
        text = format_call(event.call)
        block = one_line_block(f"{turn_address(turn)}/{event.key}/call", step_label, text, style="predicted")
        return [*set_message_number([block], number, stops_cursor=True)]
    blocks = [] if event.pair is None else pair_blocks(indexed, event.pair, event.position, options)
    set_message_number(blocks, number)
    if event.pair is not None and event.observation is not None:
        result = _result_block(turn, event, event.observation, options, is_brief=event.pair.state in "=~")
        blocks += set_message_number([result], indexed.message_number(event.observation))
    return blocks


def _repeated_event_blocks(
    indexed: IndexedItem, turn: int, repeated: RepeatedEvents, options: DisplayOptions
) -> list[Block]:
    first, last = repeated.events[0], repeated.events[-1]
    is_call = first.kind == "call"
    start, end = (first.position, last.position) if is_call else (first.step, last.step)
    numbers = indexed.step_numbers
    shown = (start + 1, end + 1) if is_call else (numbers[turn, start], numbers[turn, end])
    name = f"{'calls' if is_call else 'steps'} {shown[0]}-{shown[1]}"
    key = f"{turn_address(turn)}/{first.kind}s:{start + 1}-{end + 1}"
    folded = options.is_folded(key, True)
    times = f"{len(repeated.events)}x "

    def render_lines(cells: int) -> list[Line]:
        if first.call is not None:
            text = format_call(first.call)
            return [fit_line((("+ ", "extra"), (f"{name} · ", "dim"), (times + text, "")), cells)]
        text = sanitize(first.message.content[: cells * 2] if first.message else "")
        return [fit_line(((pad_label("repeats"), "dim"), (f"{name} · {times}", "dim"), (text, "")), cells)]

    title = f"turn {turn + 1} {name}"
    head = Block(key, render_lines, differs=is_call, foldable=True, folded=folded, title=title)
    head.message_number = indexed.message_number(first.call or first.message)
    if not folded:
        single = (_single_event_blocks(indexed, turn, event, options) for event in repeated.events)
        return [head, *(block for blocks in single for block in blocks)]
    if first.observation is None:
        return [head]
    label = "all" if repeated.has_equal_results else "first"
    return [head, _result_block(turn, first, first.observation, options, is_brief=True, label=label)]


def _is_event_shown(indexed: IndexedItem, turn: int, event: TimelineEvent, options: DisplayOptions) -> bool:
    """Whether an event is shown. Without full dialogue, a raw reply is omitted if its calls are shown. Some logs and
    system messages are omitted too."""
    message = event.message
    if message is None or options.full_dialogue:
        return True
    messages = [m for m in indexed.messages.get(turn, []) if m.step == event.step]
    has_calls = any(at == turn and call.step == event.step for (at, _), call in indexed.predicted_calls.items())
    if message.role == "assistant":
        return not has_calls or bool(message.name)
    if message.role not in ("log", "system"):
        return True
    if has_calls:
        last_reply = max((m.step for m in indexed.messages[turn] if m.role == "assistant"), default=event.step)
        last_result = max((n for n, m in enumerate(messages) if m.role == "tool"), default=len(messages))
        return event.step >= last_reply and messages.index(message) > last_result
    return message.role != "log" or not any(m.role == "assistant" and m.content.strip() for m in messages)


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
    if message.role == "user":
        return text_block(key, "user", message.content, options, folded_rows=USER_ROWS)
    if message.name == GOLDEN_CALL and (calls := parse_quoted_calls(message.content)):
        text = ", ".join(format_call(call) for call in calls)
        suffix = f" · {step_label}" if indexed.has_several_steps(turn) else ""
        block = one_line_block(key, "golden", text, style="golden", suffix=suffix, title="earlier golden call")
        return replace(block, full_text=lambda: message.content)
    title, style = f"turn {turn + 1} {step_label}", "dim" if message.name else ""
    return text_block(key, message.name or step_label, message.content, options, title=title, style=style)


def _result_block(
    turn: int, event: TimelineEvent, result: Message, options: DisplayOptions, *, is_brief: bool, label: str = "result"
) -> Block:
    is_error = result.content.lstrip()[:20].lower().startswith(('{"error":', "error during"))
    name = result.name or (event.call.name if event.call is not None else "")
    return text_block(
        f"{turn_address(turn)}/{event.key}",
        label,
        result.content,
        options,
        folded_rows=BRIEF_RESULT_ROWS if is_brief else RESULT_ROWS,
        style="bad" if is_error else "dim",
        title=f"result {sanitize(name)}",
    )
