"""What was said before the model's first step of a turn: the request, and what the model or its user was told."""

from __future__ import annotations

from dataclasses import replace

from fcreview.model import Item, Message
from fcreview.targets import turn_address
from fcreview.tui.document.blocks import Block, Options
from fcreview.tui.document.scene import Scene
from fcreview.tui.document.texts import note_block, snapshot_block, text_block

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
