"""The question of an ACEBench record as turns: a transcript whose lines start with `user:` or `system:` (the
assistant)."""

from __future__ import annotations

import re

from fcreview.model import Message

_START = re.compile(r"^(user|system):[ ]?", re.MULTILINE)


def messages(question: str, *, time: str = "", profile: str = "") -> list[Message]:
    """One turn a user line; a text may itself hold line feeds. Time and profile stand first, as the model was told
    them."""
    found: list[Message] = []
    if time:
        found.append(Message(0, -1, "system", time, "time"))
    if profile:
        found.append(Message(0, -1, "system", profile, "profile"))
    starts = list(_START.finditer(question))
    if not starts:
        return [*found, Message(0, -1, "user", question.strip())]
    turn, step = -1, 0
    for position, start in enumerate(starts):
        end = starts[position + 1].start() if position + 1 < len(starts) else len(question)
        text = question[start.end() : end].rstrip("\n")
        if start[1] == "user":
            turn, step = turn + 1, 0
            found.append(Message(turn, -1, "user", text))
        else:
            found.append(Message(max(turn, 0), step, "assistant", text))
            step += 1
    return found
