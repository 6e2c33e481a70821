"""What happened in a turn as blocks: every call beside its golden one where it was made, with what came of it.

What happened in a turn, in the order in which it happened. Pure.

Golden calls that were not made stand behind the call that answers the golden call before them.

Runs of the same call, made again and again: folded to one line each. Pure.

What the model answered in words: beside the golden reply where there is one, with what was said of it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from fcreview.matching.first_difference import ArgumentRow
from fcreview.matching.repeated_calls import calls_told, same_call
from fcreview.model.address import RESPONSE, turn_address
from fcreview.model.item import GOLDEN_CALL, Call, Message, Pair, State, Verdict
from fcreview.model.sanitize import clip, visible, width
from fcreview.tui.item_view.blocks import (
    INLINE,
    LABEL,
    Block,
    Options,
    Scene,
    is_long,
    label,
    note_block,
    snapshot_block,
    text_block,
)
from fcreview.tui.item_view.call_diff import Columns, argument_lines, call_text, heading_row
from fcreview.tui.item_view.call_pairs import pair_block
from fcreview.tui.item_view.verdicts import judge_blocks, label_verdict, own_block
from fcreview.tui.text.lines import Line, column, fit, fold_text, line, rule, size_text


@dataclass(frozen=True, slots=True)
class Event:
    """One call with what came of it, a golden call that was not made, or one message."""

    kind: Literal["call", "missing", "said"]
    step: int
    key: str
    """Of its block, behind the turn's: `step:2/assistant:0`."""
    position: int = -1
    """Of a call: the place of its pair among the pairs of the turn."""
    pair: Pair | None = None
    call: Call | None = None
    observation: Message | None = None
    message: Message | None = None
    given: bool = False
    """Of the dialogue that was given, not of the model that is judged."""


def events_of(of: Scene, turn: int) -> list[Event]:
    """Everything behind what opens the turn."""
    calls: defaultdict[int, list[Call]] = defaultdict(list)
    for (at, _), call in sorted(of.predicted.items()):
        if at == turn:
            calls[call.step].append(call)
    steps: defaultdict[int, list[Message]] = defaultdict(list)
    for message in of.messages.get(turn, []):
        if message.step >= 0:
            steps[message.step].append(message)
    missing = _missing(of, turn)
    first = _first_own(of, turn)
    found: list[Event] = []
    for step in sorted(steps.keys() | calls.keys()):
        if step >= first:
            found += missing.pop(None, [])
        found += _step(of, turn, step, steps[step], calls[step], missing, given=step < first)
    return found + [event for left in missing.values() for event in left]


def _first_own(of: Scene, turn: int) -> int:
    """The first step of the model that is judged: those before it are of the dialogue it was given."""
    if of.context(turn):
        return 1 << 30
    told = [message.step for message in of.messages.get(turn, []) if message.name == GOLDEN_CALL]
    return max(told) + 1 if told else 0


def _missing(of: Scene, turn: int) -> dict[int | None, list[Event]]:
    """Golden calls without a partner by the predicted call they stand behind; None: before everything."""
    found: dict[int | None, list[Event]] = {}
    last: int | None = None
    for position, pair in enumerate(of.pairs.get(turn, [])):
        if pair.golden is None:
            continue
        if pair.predicted is not None:
            last = pair.predicted
            continue
        event = Event("missing", -1, f"call:{position + 1}", position, pair)
        found.setdefault(last, []).append(event)
    return found


def _step(
    of: Scene,
    turn: int,
    step: int,
    messages: list[Message],
    calls: list[Call],
    missing: dict[int | None, list[Event]],
    *,
    given: bool,
) -> list[Event]:
    """The messages in their order; calls stand where the first of their observations is, or behind what was said."""
    places = {pair.predicted: at for at, pair in enumerate(of.pairs.get(turn, [])) if pair.predicted is not None}
    tools = [message for message in messages if message.role == "tool"]
    key = f"step:{step + 1}"
    acted: list[Event] = []
    for at, call in enumerate(calls):
        position = places.get(call.index, -1)
        pair = of.pairs[turn][position] if position >= 0 else None
        got = tools[at] if at < len(tools) else None
        acted.append(Event("call", step, f"{key}/tool:{at + 1}", position, pair, call, got))
        acted += missing.pop(call.index, [])
    found: list[Event] = []
    used = 0
    for at, message in enumerate(messages):
        if message.role == "tool":
            used += 1
            if used <= len(calls):
                found, acted = found + acted, []
                continue
            word = f"more{used - len(calls) - 1}" if calls else f"{used}"
            found.append(Event("said", step, f"{key}/tool:{word}", message=message, given=given))
            continue
        if message.role != "assistant":
            found, acted = found + acted, []
        found.append(Event("said", step, f"{key}/{message.role}:{at}", message=message, given=given))
    return found + acted


LEAST = 3
"""As many calls alike in a row make a run."""


@dataclass(frozen=True, slots=True)
class Run:
    """What happened again and again in a row."""

    events: tuple[Event, ...]

    @property
    def alike(self) -> bool:
        """Whether the environment answered the same every time."""
        return len({event.observation.content if event.observation else "" for event in self.events}) == 1


def runs(events: Sequence[Event]) -> list[Event | Run]:
    """The events, those that repeat each other in a row as one run."""
    found: list[Event | Run] = []
    at = 0
    while at < len(events):
        end = at + 1
        while end < len(events) and _again(events[at], events[end]):
            end += 1
        if end - at >= LEAST:
            found.append(Run(tuple(events[at:end])))
        else:
            found += events[at:end]
        at = end
    return found


def _again(one: Event, other: Event) -> bool:
    """An extra call like the one before, or the same words in place of a call."""
    if one.kind != other.kind:
        return False
    if one.kind == "call":
        extra = one.pair is not None and other.pair is not None and one.pair.state == other.pair.state == "+"
        return extra and one.call is not None and other.call is not None and same_call(one.call, other.call)
    if one.kind == "said" and one.message is not None and other.message is not None:
        return one.message.role == other.message.role == "assistant" and one.message.content == other.message.content
    return False


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


USER_ROWS = 6
BRIEF = 1
"""Rows of an observation that nothing hangs on: of a call that is equal, or of what was said before."""


def happened(of: Scene, turn: int, options: Options, parent: str) -> list[Block]:
    """`parent`: the key of the block they lie in."""
    events = [event for event in events_of(of, turn) if _shown(of, turn, event, options)]
    final = _final(of, turn, events)
    blocks: list[Block] = []
    for event in runs(events):
        if isinstance(event, Run):
            blocks += _run(of, turn, event, options, parent)
        elif event is final and event.message is not None:
            blocks += reply_blocks(of, event.message.content, options, parent, of.step(turn, event.step))
        else:
            blocks += _event(of, turn, event, options, parent)
    if final is None and turn == of.turns - 1 and of.item.extra.golden_reply is not None:
        blocks += reply_blocks(of, None, options, parent, "")
    return blocks


def _final(of: Scene, turn: int, events: Sequence[Event]) -> Event | None:
    """The model's last words, if it did nothing after them."""
    if turn != of.turns - 1:
        return None
    own = [each for each in events if not each.given and not (each.message and each.message.role in ("log", "state"))]
    last = max((each.step for each in own), default=-1)
    spoken = [each for each in own if each.step == last]
    if any(each.kind == "call" for each in spoken):
        return None
    return next((e for e in spoken if e.message and e.message.role == "assistant" and not e.message.name), None)


def _event(of: Scene, turn: int, event: Event, options: Options, parent: str) -> list[Block]:
    if event.kind == "said" and event.message is not None:
        return _said(of, turn, event, event.message, options, parent)
    if event.pair is None:  # a call that is in no pair
        return [] if event.call is None else [_plain_call(turn, event, of.step(turn, event.step), parent)]
    blocks = pair_block(of, event.pair, event.position, options, parent)
    if event.observation is not None:
        brief = event.pair.state in "=~"
        blocks.append(_observation(turn, event, event.observation, options, parent, brief=brief))
    return blocks


def _run(of: Scene, turn: int, run: Run, options: Options, parent: str) -> list[Block]:
    """`+ calls 3-21 · 19x diff(...)` and what came of them; one by one if it is unfolded."""
    first, last = run.events[0], run.events[-1]
    called = first.kind == "call"
    ends = (first.position, last.position) if called else (first.step, last.step)
    shown = (ends[0] + 1, ends[1] + 1) if called else (of.steps[turn, first.step], of.steps[turn, last.step])
    named = f"{'calls' if called else 'steps'} {shown[0]}-{shown[1]}"
    key = f"{turn_address(turn)}/{first.kind}s:{ends[0] + 1}-{ends[1] + 1}"
    folded = options.folded(key, True)
    says = f"{len(run.events)}x "

    def lines(cells: int) -> list[Line]:
        if called and first.call is not None:
            text = call_text(first.call.name, first.call)
            head: Line = (("+ ", "extra"), (f"{named} · ", "dim"), (says + text, ""))
        else:
            text = visible(first.message.content[: cells * 2] if first.message else "")
            head = ((label("again"), "dim"), (f"{named} · {says}", "dim"), (text, ""))
        return [fit(head, cells)]

    head = Block(
        key,
        lines,
        stop=True,
        differs=called,
        foldable=True,
        folded=folded,
        parent=parent,
        title=f"turn {turn + 1} {named}",
    )
    if not folded:
        return [head, *(block for event in run.events for block in _event(of, turn, event, options, parent))]
    if first.observation is None:
        return [head]
    word = "all got" if run.alike else "first"
    return [head, _observation(turn, first, first.observation, options, parent, brief=True, word=word)]


def _shown(of: Scene, turn: int, event: Event, options: Options) -> bool:
    """A note of the runner, and the raw text of what stands as calls, only where it tells more than is to be seen."""
    message = event.message
    if message is None or options.dialogue:
        return True
    messages = [m for m in of.messages.get(turn, []) if m.step == event.step]
    called = any(at == turn and call.step == event.step for (at, _), call in of.predicted.items())
    if message.role == "assistant":
        return not called or bool(message.name)
    if message.role not in ("log", "system"):
        return True
    if called:
        acted = max((m.step for m in of.messages[turn] if m.role == "assistant"), default=event.step)
        last_tool = max((n for n, each in enumerate(messages) if each.role == "tool"), default=len(messages))
        return event.step >= acted and messages.index(message) > last_tool
    return message.role != "log" or not any(m.role == "assistant" and m.content.strip() for m in messages)


def _said(of: Scene, turn: int, event: Event, message: Message, options: Options, parent: str) -> list[Block]:
    key, word = f"{turn_address(turn)}/{event.key}", of.step(turn, event.step)
    if message.role == "tool":
        return [_observation(turn, event, message, options, parent, brief=event.given)]
    if message.role == "state":
        return [snapshot_block(key, "state", message.name or "", message.content, parent=parent)]
    if message.role in ("log", "system"):
        return [note_block(key, message.role, message.content, parent=parent)]
    if message.role == "user":
        return [replace(text_block(key, "user", message.content, options, rows=USER_ROWS), parent=parent)]
    if message.name == GOLDEN_CALL and (told := calls_told(message.content)):
        text = ", ".join(call_text(call.name, call) for call in told)
        return [_golden(key, f" · {word}" if of.several(turn) else "", text, message.content, parent)]
    title, style = f"turn {turn + 1} {word}", "dim" if message.name else ""
    made = text_block(key, message.name or word, message.content, options, title=title, style=style)
    return [replace(made, parent=parent)]


def _golden(key: str, step: str, text: str, raw: str, parent: str) -> Block:
    """An earlier golden call, on one line."""

    def lines(cells: int) -> list[Line]:
        return [((label("golden"), "dim"), (clip(visible(text), cells - LABEL - width(step)), "golden"), (step, "dim"))]

    return Block(key, lines, parent=parent, title="earlier golden call", full=lambda: raw)


def _plain_call(turn: int, event: Event, step: str, parent: str) -> Block:
    call = event.call

    def lines(cells: int) -> list[Line]:
        text = call_text(call.name, call) if call is not None else ""
        return [((label(step), "dim"), (clip(text, cells - LABEL), "predicted"))]

    return Block(f"{turn_address(turn)}/{event.key}/call", lines, parent=parent)


def _observation(
    turn: int, event: Event, message: Message, options: Options, parent: str, *, brief: bool, word: str = "   got"
) -> Block:
    failed = message.content.lstrip()[:9].lower() in ('{"error":', "error dur")
    name = message.name or (event.call.name if event.call is not None else "")
    made = text_block(
        f"{turn_address(turn)}/{event.key}",
        word,
        message.content,
        options,
        rows=BRIEF if brief else 4,
        style="bad" if failed else "dim",
        title=f"observation {visible(name)}",
    )
    return replace(made, parent=parent)
