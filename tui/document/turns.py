"""The trajectory as blocks: per turn what opened it, what happened in its order, and where the environment ended up."""

from __future__ import annotations

from fcreview.model import Message
from fcreview.sanitise import clip, visible
from fcreview.targets import turn_address
from fcreview.text.words import count_of
from fcreview.tui.document.blocks import Block, Options
from fcreview.tui.document.pairs import no_calls, pair_blocks
from fcreview.tui.document.said.target import said_block
from fcreview.tui.document.scene import Scene
from fcreview.tui.document.texts import LABEL, label
from fcreview.tui.document.told.before import before_blocks
from fcreview.tui.document.told.opening import opening_blocks, was_asked
from fcreview.tui.document.told.reply import reply_blocks
from fcreview.tui.document.told.state import state_blocks
from fcreview.tui.document.told.timeline import happened
from fcreview.tui.text.lines import Line, Part, rule

FEW_MESSAGES = 12
"""A trajectory with no more messages than this is shown unfolded."""


def turn_blocks(of: Scene, options: Options) -> list[Block]:
    if not of.long:
        return [*opening_blocks(of, 0, options, None), *pair_blocks(of, 0, options), *_response(of, options)]
    if of.snapshot:
        return [*before_blocks(of, options), *_turn(of, of.turns - 1, options, shown=True)]
    shown = _open_by_default(of)
    return [block for turn in range(of.turns) for block in _turn(of, turn, options, shown=turn in shown)]


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


def _turn(of: Scene, turn: int, options: Options, *, shown: bool) -> list[Block]:
    key = turn_address(turn)
    folded = options.folded(key, not shown)
    head = Block(
        key,
        lambda cells: turn_heading(of, turn, folded, cells),
        target=key,
        stop=True,
        differs=turn == of.failing,
        foldable=True,
        folded=folded,
        title=f"turn {turn + 1}",
    )
    if folded:
        return [head]
    idle = not of.pairs.get(turn) and of.item.extra.golden_reply is None and not of.alone(turn)
    return [
        head,
        *opening_blocks(of, turn, options, key),
        *([no_calls(of, turn, key)] if idle else []),
        *happened(of, turn, options, key),
        *state_blocks(of, turn),
        *said_block(of, key, key, spoken=("judge",)),
    ]


def turn_heading(of: Scene, turn: int, folded: bool, cells: int) -> list[Line]:
    """`── turn 2 of 4 · calls: 2 golden, 3 predicted · =1 !1 · FAILS HERE ──`, and the user's words if folded."""
    pairs = of.pairs.get(turn, [])
    golden = sum(pair.golden is not None for pair in pairs)
    predicted = sum(pair.predicted is not None for pair in pairs)
    parts: list[Part] = [(f"turn {turn + 1} of {of.turns}", "strong")]
    parts += [(" · judged", "strong")] if of.snapshot else []
    alone = of.alone(turn)
    if alone:
        steps = len({call.step for call in alone})
        parts.append((f" · {count_of(len(alone), 'call')} in {count_of(steps, 'step')}", ""))
    elif pairs or of.item.extra.golden_reply is None:
        parts.append((f" · calls: {golden} golden, {predicted} predicted", ""))
    counts = [f"{state}{n}" for state in "=~!-+" if (n := sum(pair.state == state for pair in pairs))]
    parts.append((f" · {' '.join(counts)}" if counts else "", "dim"))
    if turn == of.failing:
        parts.append((" · FAILS HERE", "bad"))
    if folded:
        parts.append((" · folded", "dim"))
    lines = [rule(tuple(parts), cells)]
    said = next((m.content for m in of.messages.get(turn, []) if m.role == "user"), None)
    if folded and said is not None:
        lines.append(((label("user"), "dim"), (clip(visible(said[: cells * 2]), cells - LABEL), "")))
    return lines


def _response(of: Scene, options: Options) -> list[Block]:
    """What the model answered where it made no call, or could not be decoded; its raw reply in the full dialogue."""
    replies = [m for m in of.messages.get(0, []) if m.role == "assistant" and (m.step >= 0 or not _asked(of, m))]
    called, golden = bool(of.predicted), of.item.extra.golden_reply
    if not replies:
        return reply_blocks(of, None, options, None, "") if golden is not None else []
    if called and golden is None and not options.dialogue and not _came_to_nothing(of):
        return []
    text = "\n".join(m.content for m in replies)
    return reply_blocks(of, text, options, None, "raw" if called else "")


def _came_to_nothing(of: Scene) -> bool:
    """Whether a call was left without the arguments it may have had: only the raw reply shows what was meant."""
    sides = [of.sides(pair) for pair in of.pairs.get(0, [])]
    return any(golden and golden.arguments and predicted and predicted.arguments == {} for golden, predicted in sides)


def _asked(of: Scene, message: Message) -> bool:
    at = next(n for n, each in enumerate(of.messages[0]) if each is message)
    return was_asked(of, 0, at)
