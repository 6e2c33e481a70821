"""The trajectory as blocks: per turn the user's words, golden beside predicted calls, then what was done."""

from __future__ import annotations

from dataclasses import replace

from fcreview.model import Call, Message
from fcreview.sanitise import clip, visible
from fcreview.targets import turn_address
from fcreview.text.words import count_of
from fcreview.tui.document.blocks import Block, Options
from fcreview.tui.document.calls import call_text
from fcreview.tui.document.pairs import pair_blocks
from fcreview.tui.document.scene import Scene
from fcreview.tui.document.state import state_blocks
from fcreview.tui.document.texts import LABEL, label, note_block, snapshot_block, text_block
from fcreview.tui.text.lines import Line, Part, line, rule

FEW_MESSAGES = 12
"""A trajectory with no more messages than this is shown unfolded."""
USER_ROWS = 6


def turn_blocks(of: Scene, options: Options) -> list[Block]:
    if not of.long:
        return [*_opening(of, 0, options, None), *pair_blocks(of, 0, options), *_response(of, options)]
    shown = _open_by_default(of)
    blocks: list[Block] = []
    for turn in range(of.turns):
        blocks += _turn(of, turn, options, turn in shown)
    return blocks


def _open_by_default(of: Scene) -> set[int]:
    if sum(len(each) for each in of.messages.values()) <= FEW_MESSAGES:
        return set(range(of.turns))
    if of.failing is not None:
        return {of.failing}
    differing = of.differing()
    if differing:
        return {differing[0]}
    busy = of.busy()
    return {0} if len(busy) > 1 else {busy[0] if busy else of.turns - 1}


def _turn(of: Scene, turn: int, options: Options, shown: bool) -> list[Block]:
    key = turn_address(turn)
    folded = options.folded(key, not shown)
    head = Block(
        key,
        lambda cells: turn_heading(of, turn, folded, options.hidden, cells),
        target=key,
        stop=True,
        differs=turn == of.failing and not options.hidden,
        foldable=True,
        folded=folded,
        title=f"turn {turn + 1}",
    )
    if folded:
        return [head]
    return [
        head,
        *_opening(of, turn, options, key),
        *pair_blocks(of, turn, options),
        *state_blocks(of, turn),
        *_steps(of, turn, options),
    ]


def turn_heading(of: Scene, turn: int, folded: bool, hidden: bool, cells: int) -> list[Line]:
    """`── turn 2 of 4 · golden 2, predicted 3 · ✗ fails here ── folded ──`, and the user's first words if folded."""
    pairs = of.pairs.get(turn, [])
    golden = sum(pair.golden is not None for pair in pairs)
    predicted = sum(pair.predicted is not None for pair in pairs)
    parts: list[Part] = [(f"turn {turn + 1} of {of.turns}", "strong")]
    alone = of.alone(turn)
    if alone:
        steps = len({call.step for call in alone})
        parts.append((f" · {count_of(len(alone), 'call')} in {count_of(steps, 'step')}", ""))
    elif not of.context(turn):
        parts.append((f" · calls: {golden} golden, {predicted} predicted", ""))
    counts = [f"{state}{n}" for state in "=~!-+" if (n := sum(pair.state == state for pair in pairs))]
    parts.append((f" · {' '.join(counts)}" if counts else "", "dim"))
    if turn == of.failing and not hidden:
        parts.append((" · FAILS HERE", "bad"))
    if folded:
        parts.append((" · folded", "dim"))
    lines = [rule(tuple(parts), cells)]
    said = next((m.content for m in of.messages.get(turn, []) if m.role == "user"), None)
    if folded and said is not None:
        lines.append(((label("user"), "dim"), (clip(visible(said[: cells * 2]), cells - LABEL), "")))
    return lines


def _opening(of: Scene, turn: int, options: Options, parent: str | None) -> list[Block]:
    """What was said before the model's first step. System messages only in the full dialogue."""
    blocks: list[Block] = []
    for at, message in enumerate(of.messages.get(turn, [])):
        if message.step >= 0 or (message.role not in ("user", "assistant") and not options.dialogue):
            continue
        key = f"{turn_address(turn)}/opening:{at}"
        if message.role == "state":
            blocks.append(snapshot_block(key, "state", message.name or "", message.content, parent=parent))
            continue
        if message.role == "assistant" and not options.dialogue and not of.long and not _was_asked(of, turn, at):
            continue
        rows = USER_ROWS if message.role == "user" and not options.dialogue else 4 if not options.dialogue else 40
        word = message.name or message.role
        style = "" if message.role == "user" else "dim"
        made = text_block(key, word, message.content, options, rows=rows, title=f"turn {turn + 1} {word}", style=style)
        blocks.append(replace(made, parent=parent))
    return blocks


def _was_asked(of: Scene, turn: int, at: int) -> bool:
    """Whether an assistant's message belongs to the question (a user speaks after it)."""
    return any(m.role == "user" and m.step < 0 for m in of.messages[turn][at + 1 :])


def _steps(of: Scene, turn: int, options: Options) -> list[Block]:
    steps: dict[int, list[Message]] = {}
    for message in of.messages.get(turn, []):
        if message.step >= 0:
            steps.setdefault(message.step, []).append(message)
    blocks: list[Block] = []
    calls: dict[int, list[Call]] = {}
    for (at, _), call in sorted(of.predicted.items()):
        if at == turn:
            calls.setdefault(call.step, []).append(call)
    last = max(steps, default=-1)
    acted = max((m.step for each in steps.values() for m in each if m.role == "assistant"), default=last)
    for step, messages in steps.items():
        final = step == last and turn == of.turns - 1
        blocks += _step(turn, step, messages, calls.get(step, []), options, final, ends=step >= acted)
    return blocks


def _step(
    turn: int, step: int, messages: list[Message], calls: list[Call], options: Options, final: bool, ends: bool
) -> list[Block]:
    """The model's calls each with its observation, or its words; then snapshots and the runner's notes. `ends`: the
    model does nothing more in this turn."""
    parent = turn_address(turn)
    key = f"{parent}/step:{step + 1}"
    word = f"step {step + 1}"
    tools = [m for m in messages if m.role == "tool"]
    blocks: list[Block] = []
    if calls:
        for at, call in enumerate(calls):
            blocks.append(_made_call(f"{key}/call:{at + 1}", word if at == 0 else "", call, parent))
            if at < len(tools):
                blocks.append(_observation(f"{key}/tool:{at + 1}", tools[at], call.name, options, parent))
        tools = tools[len(calls) :]
    for at, message in enumerate(messages):
        each = f"{key}/{message.role}:{at}"
        if message.role == "assistant" and (not calls or options.dialogue or message.name):
            spoken = message.name or ("raw" if calls else word)
            title = f"turn {turn + 1} {word}"
            target = "response" if final and not calls else None
            style = "dim" if calls or message.name else ""
            made = text_block(each, spoken, message.content, options, title=title, style=style)
            blocks.append(replace(made, parent=parent, target=target, stop=made.stop or bool(target)))
        elif message.role == "state":
            blocks.append(snapshot_block(each, "state", message.name or "", message.content, parent=parent))
        elif message.role in ("log", "system", "user") and (
            options.dialogue or _tells(messages, at, bool(calls), ends)
        ):
            blocks.append(note_block(each, message.role, message.content, parent=parent))
    blocks += [_observation(f"{key}/tool:more{at}", m, m.name or "", options, parent) for at, m in enumerate(tools)]
    return blocks


def _tells(messages: list[Message], at: int, called: bool, ends: bool) -> bool:
    """Whether a note of the runner tells more than is to be seen: why the turn ended behind its last observation, or
    what came of a step without call and words. That words are not a call goes without saying."""
    if called:
        return ends and at > max((n for n, each in enumerate(messages) if each.role == "tool"), default=len(messages))
    return messages[at].role != "log" or not any(m.role == "assistant" and m.content.strip() for m in messages)


def _made_call(key: str, word: str, call: Call, parent: str) -> Block:
    def lines(cells: int) -> list[Line]:
        text = clip(call_text(call.name, call), cells - LABEL)
        return [((label(word), "dim"), (text, "predicted" if call.arguments is not None else "bad"))]

    return Block(key, lines, parent=parent, title=call.name, full=lambda: call.raw or call_text(call.name, call))


def _observation(key: str, message: Message, name: str, options: Options, parent: str) -> Block:
    failed = message.content.lstrip()[:9].lower() in ('{"error":', "error dur")
    style = "bad" if failed else "dim"
    made = text_block(key, "   got", message.content, options, style=style, title=f"observation {visible(name)}")
    return replace(made, parent=parent)


def _response(of: Scene, options: Options) -> list[Block]:
    """What the model answered where it made no call, or could not be decoded; its raw reply in the full dialogue."""
    replies = [m for m in of.messages.get(0, []) if m.role == "assistant" and (m.step >= 0 or not _asked(of, m))]
    if not replies:
        return []
    called = bool(of.predicted)
    if called and not options.dialogue and not _came_to_nothing(of):
        return []
    text = "\n".join(m.content for m in replies)
    title = "raw reply" if called else "response"
    head = Block(
        "response", lambda cells: [rule(((title, "strong"),), cells)], target="response", stop=True, title=title,
        full=lambda: text, copy=lambda: text,
    )  # fmt: skip
    if not text:
        body = Block("response/text", lambda _: [line("  (empty)", "dim")])
    else:
        body = text_block("response/text", "", text, options, rows=10, title=title, style="predicted")
    return [head, body]


def _came_to_nothing(of: Scene) -> bool:
    """Whether a call was left without the arguments it may have had: only the raw reply shows what was meant."""
    sides = [of.sides(pair) for pair in of.pairs.get(0, [])]
    return any(golden and golden.arguments and predicted and predicted.arguments == {} for golden, predicted in sides)


def _asked(of: Scene, message: Message) -> bool:
    at = next(n for n, each in enumerate(of.messages[0]) if each is message)
    return _was_asked(of, 0, at)
