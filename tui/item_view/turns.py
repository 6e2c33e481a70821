"""The trajectory as blocks: per turn what opened it, what happened in its order, and where the environment ended up.

All turns of a trajectory on a line, with what came of each; and the items of a conversation beside each other.

What was said before the model's first step of a turn: the request, and what the model or its user was told.

What was said before the turn that is judged: whole if it is short, else one line with its length.

Where the environment ended up otherwise than with the golden calls: a row an attribute, golden beside predicted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial

from fcreview.matching.first_difference import ArgumentRow
from fcreview.model.address import turn_address
from fcreview.model.item import ABSENT, Item, Message, State, StateDifference
from fcreview.model.json_value import to_json_text
from fcreview.model.sanitize import clip, visible
from fcreview.model.wording import count_of
from fcreview.store.rows import Sibling
from fcreview.tui.item_view.blocks import LABEL, Block, Options, Scene, label, note_block, snapshot_block, text_block
from fcreview.tui.item_view.call_diff import Columns, argument_lines, columns, heading_row
from fcreview.tui.item_view.call_pairs import no_calls, pair_blocks
from fcreview.tui.item_view.timeline import happened, reply_blocks
from fcreview.tui.item_view.verdicts import mark_of, opinions_on, said_block
from fcreview.tui.text.lines import Line, Part, line_width, rule, size_text
from fcreview.tui.text.theme import STATE_STYLES, symbols, verdict_style

WORST = "!-+~="
ROWS = 3
"""Rows of the map at most: of very many turns those around the first that fails are left."""


def turn_map(of: Scene) -> list[Block]:
    """` turns  1 =  2 =  3 -+ fails here`: nothing where only one turn is judged."""
    if of.turns < 2 or of.snapshot:
        return []
    entries = [_turn(of, turn) for turn in range(of.turns)]
    return [Block("turns", lambda cells: flow("turns  ", entries, cells)[:ROWS], title="turns")]


def _turn(of: Scene, turn: int) -> Line:
    states = {pair.state for pair in of.pairs.get(turn, [])}
    wrong = [state for state in WORST if state in states and state in "!-+"]
    marks = wrong or [state for state in WORST if state in states][:1]
    fails = turn == of.failing
    parts: list[Part] = [(f"{turn + 1} ", "bad" if fails else "dim")]
    parts += [(state, STATE_STYLES[state]) for state in marks] or [(symbols().none, "dim")]
    parts += [(" fails here", "bad")] if fails else []
    parts += [(mark_of(of, turn_address(turn)), "strong")] if opinions_on(of, turn_address(turn)) else []
    return tuple(parts)


def flow(head: str, entries: Sequence[Line], cells: int) -> list[Line]:
    """The entries behind each other, with two blanks between, over as many rows as they need."""
    rows: list[Line] = []
    row: Line = ((head, "dim"),)
    for entry in entries:
        if line_width(row) + line_width(entry) + 2 > cells and line_width(row) > len(head):
            rows.append(row)
            row = ((" " * len(head), ""),)
        row = (*row, *entry, ("  ", ""))
    return [*rows, row]


def group_strip(siblings: Sequence[Sibling], item: int, keys: str) -> list[Block]:
    """`group  1 ✓  2 ✗  [3 ✗]  4 ·`: the items of the conversation, this one in brackets; `keys` lead to the others."""
    if len(siblings) < 2:
        return []
    at = next((n for n, one in enumerate(siblings) if one.item == item), 0)
    return [Block("group", lambda cells: [_strip(siblings, at, keys, cells)], title="group")]


def _strip(siblings: Sequence[Sibling], at: int, keys: str, cells: int) -> Line:
    ending: Line = ((f" {keys}", "dim"),) if keys else ()
    room = cells - line_width(ending) - 8
    first = last = at
    while True:  # as many as there is room for, this one in the middle
        wider = [(a, b) for a, b in ((first - 1, last), (first, last + 1)) if a >= 0 and b < len(siblings)]
        fits = [(a, b) for a, b in wider if line_width(_members(siblings, a, b, at)) <= room]
        if not fits:
            break
        first, last = min(fits, key=lambda ends: abs((at - ends[0]) - (ends[1] - at)))
    return (("group  ", "dim"), *_members(siblings, first, last, at), *ending)


def _members(siblings: Sequence[Sibling], first: int, last: int, at: int) -> Line:
    parts: list[Part] = [("… ", "dim")] if first > 0 else []
    for n in range(first, last + 1):
        one = siblings[n]
        mark: Part = (symbols().verdict(one.mark), verdict_style(one.mark))
        here: list[Part] = [(f"[{n + 1} ", "strong"), mark, ("]", "strong")]
        parts += here if n == at else [(f"{n + 1} ", "dim"), mark]
        parts.append(("  ", ""))
    return (*parts, *([("…", "dim")] if last < len(siblings) - 1 else []))


UNKNOWN = "the question is not known: no dataset has it"
USER_ROWS = 6
TOLD_ROWS = 1
"""Rows of what has a name of its own: a profile, the instruction to a simulated user."""


def opening_blocks(of: Scene, turn: int, options: Options, parent: str | None) -> list[Block]:
    """Nameless system messages only in the full dialogue."""
    blocks: list[Block] = []
    unknown = turn == 0 and not is_known(of.item)
    if unknown:
        blocks.append(note_block(f"{turn_address(turn)}/opening", "user", UNKNOWN, parent=parent))
    for at, message in enumerate(of.messages.get(turn, [])):
        if message.step >= 0 or not _shown(of, turn, at, message, options):
            continue
        if unknown and not message.content.strip():
            continue
        key = f"{turn_address(turn)}/opening:{at}"
        if message.role == "state":
            blocks.append(snapshot_block(key, "state", message.name or "", message.content, parent=parent))
            continue
        rows = 40 if options.dialogue else USER_ROWS if message.role == "user" else TOLD_ROWS if message.name else 4
        word = _word(message)
        style = "" if message.role == "user" else "dim"
        title = f"turn {turn + 1} {message.name or message.role}"
        made = text_block(key, word, message.content, options, rows=rows, title=title, style=style)
        blocks.append(replace(made, parent=parent))
    return blocks


def is_known(item: Item) -> bool:
    """Whether anything is there of what the model was asked."""
    return bool(item.question) or any(
        message.content.strip() for message in item.messages if message.step < 0 and message.role != "state"
    )


def _word(message: Message) -> str:
    """What stands in front of it; a name that has no room there is left to the title."""
    named = message.name or message.role
    return named if len(named) < 8 or message.role == "user" else message.role


def _shown(of: Scene, turn: int, at: int, message: Message, options: Options) -> bool:
    if options.dialogue or message.role == "user":
        return True
    if message.role == "state":  # one line; several are for the full dialogue
        return sum(m.role == "state" and m.step < 0 for m in of.item.messages) == 1
    if message.role == "assistant":
        return of.long or was_asked(of, turn, at)
    return message.role == "system" and bool(message.name)


def was_asked(of: Scene, turn: int, at: int) -> bool:
    """Whether an assistant's message belongs to the question (a user speaks after it)."""
    return any(m.role == "user" and m.step < 0 for m in of.messages[turn][at + 1 :])


KEY = "before"
SHORT = 400
"""Characters of a dialogue that is shown unfolded."""
FEW = 5
"""Messages of one."""


def before_blocks(of: Scene, options: Options) -> list[Block]:
    last = of.turns - 1
    messages = [m for turn in range(last) for m in of.messages.get(turn, []) if m.role != "log"]
    if not messages:
        return []
    text = "".join(message.content for message in messages)
    folded = options.folded(KEY, len(text) > SHORT or len(messages) > FEW)

    def heading(cells: int) -> list[Line]:
        turns = "turn 1" if last == 1 else f"turns 1-{last}"
        said = f" · {turns} · {count_of(len(messages), 'message')}, {size_text(text)}"
        parts: list[Part] = [("said before", "strong"), (said, "")]
        parts += [(f" · folded, {options.opens('to read it')}", "dim")] if folded else []
        return [rule(tuple(parts), cells)]

    head = Block(KEY, heading, stop=True, foldable=True, folded=folded, title="said before", full=lambda: text)
    if folded:
        return [head]
    blocks = [head]
    for turn in range(last):
        blocks += opening_blocks(of, turn, options, KEY)
        blocks += happened(of, turn, options, KEY)
    return blocks


NAMES = 0.5
"""Share of the width that the fields' paths may take: they say where it is."""


def state_blocks(of: Scene, turn: int) -> list[Block]:
    """A heading and a row each for the attributes that differ after the failing turn, or after the last one if none is
    named; nothing for other turns, nor while verdicts are hidden."""
    ends = of.turns - 1 if of.failing is None else of.failing
    rows = state_rows(of.item.extra.state_differences or {}) if turn == ends and not of.hidden else []
    if not rows:
        return []
    parent = turn_address(turn)
    title = f"turn {turn + 1} · state after the turn" if of.turns > 1 else "state at the end"

    widths = cache(partial(columns, rows, names=NAMES))

    def heading(cells: int) -> list[Line]:
        return [rule(((title, ""),), cells), heading_row(widths(cells), "field")]

    head = Block(f"{parent}/end", heading, stop=True, differs=True, parent=parent, title=title)
    return [head, *(_attribute(row, widths, parent, title) for row in rows)]


def state_rows(differences: Mapping[str, StateDifference]) -> list[ArgumentRow]:
    return [_row(name, both) for name, both in differences.items()]


def _row(name: str, both: StateDifference) -> ArgumentRow:
    """`-` where only the golden state has it, `+` where only the predicted one does."""
    state: State = "-" if both.predicted == ABSENT else "+" if both.golden == ABSENT else "!"
    return ArgumentRow(name, 0, state, _text(both.golden), _text(both.predicted), None)


def _text(value: object) -> str:
    return value if isinstance(value, str) else to_json_text(value)


def _attribute(row: ArgumentRow, widths: Callable[[int], Columns], parent: str, title: str) -> Block:
    return Block(
        f"{parent}/end/arg:{row.path}",
        lambda cells: argument_lines(row, widths(cells)),
        argument=True,
        differs=True,
        parent=parent,
        title=f"{title} · {row.path}",
        full=lambda: f"golden\n{row.golden}\n\npredicted\n{row.predicted}",
        copy=lambda: {"attribute": row.path, "golden": row.golden, "predicted": row.predicted},
    )


FEW_MESSAGES = 12
"""A trajectory with no more messages than this is shown unfolded."""


def turn_blocks(of: Scene, options: Options) -> list[Block]:
    if not of.long:
        return [*opening_blocks(of, 0, options, None), *pair_blocks(of, 0, options), *_response(of, options)]
    if of.snapshot:
        return [*before_blocks(of, options), *_turns_turn(of, of.turns - 1, options, shown=True)]
    shown = _open_by_default(of)
    return [block for turn in range(of.turns) for block in _turns_turn(of, turn, options, shown=turn in shown)]


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


def _turns_turn(of: Scene, turn: int, options: Options, *, shown: bool) -> list[Block]:
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
