"""What happened in a turn as blocks: every call beside its golden one where it was made, with what came of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from fcreview.calls.told import calls_told
from fcreview.model import GOLDEN_CALL, Message
from fcreview.sanitise import clip, visible, width
from fcreview.targets import turn_address
from fcreview.tui.document.blocks import Block, Options
from fcreview.tui.document.calls import call_text
from fcreview.tui.document.pairs import pair_block
from fcreview.tui.document.scene import Scene
from fcreview.tui.document.texts import LABEL, label, note_block, snapshot_block, text_block
from fcreview.tui.document.told.events import Event, events_of
from fcreview.tui.document.told.repeats import Run, runs
from fcreview.tui.document.told.reply import reply_blocks
from fcreview.tui.text.lines import Line, fit

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
