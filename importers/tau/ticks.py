"""Convert the ticks of a voice run of tau2-bench to messages.

A tick is a short period of time with a chunk of speech from each side. Chunks with the same utterance id, or without a
pause between them, are one message. Within a tick, the user's calls come before the agent's.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from fcreview.importers.tau.conversation import list_objects, spoken_text

SPEAKERS = (("user", "user_chunk"), ("assistant", "agent_chunk"))
TOOL_FIELDS = (
    ("user", "user_tool_calls", "user_tool_results"),
    ("assistant", "agent_tool_calls", "agent_tool_results"),
)


@dataclass(slots=True)
class _Utterance:
    role: str
    ids: set[str]
    first_tick: int
    last_tick: int
    texts: list[str] = field(default_factory=list)


def ticks_to_messages(ticks: Any) -> tuple[list[dict[str, Any]], dict[int, int]]:
    """Convert ticks to messages in the form of a text run.

    Returns the messages, and {tick number: index of the last message that began in this tick or an earlier one}.
    """
    entries: list[_Utterance | dict[str, Any]] = []
    open_utterances: dict[str, _Utterance] = {}
    entry_of_tick: dict[int, int] = {}
    for at, tick in enumerate(list_objects(ticks)):
        number = tick.get("tick_id")
        number = number if isinstance(number, int) and not isinstance(number, bool) else at
        for role, name in SPEAKERS:
            _add_chunk(tick.get(name), role, number, entries, open_utterances)
        for role, calls_name, results_name in TOOL_FIELDS:
            if calls := list_objects(tick.get(calls_name)):
                entries.append({"role": role, "content": None, "tool_calls": calls})
                open_utterances.clear()
            entries += [{"role": "tool", **result} for result in list_objects(tick.get(results_name))]
        entry_of_tick[number] = len(entries) - 1
    messages = [_to_message(entry) if isinstance(entry, _Utterance) else entry for entry in entries]
    return messages, entry_of_tick


def _add_chunk(
    chunk: Any,
    role: str,
    tick: int,
    entries: list[_Utterance | dict[str, Any]],
    open_utterances: dict[str, _Utterance],
) -> None:
    if not isinstance(chunk, dict):
        return
    text = spoken_text(chunk)
    if not text and not chunk.get("contains_speech"):
        open_utterances.pop(role, None)
        return
    ids = {str(each) for each in chunk.get("utterance_ids") or ()}
    current = open_utterances.get(role)
    if current is None or (ids and current.ids and not ids & current.ids):
        current = next(
            (each for each in entries if isinstance(each, _Utterance) and each.role == role and each.ids & ids), None
        )
        if current is None:
            current = _Utterance(role, ids, tick, tick)
            entries.append(current)
        open_utterances[role] = current
    current.ids |= ids
    current.last_tick = tick
    if text:
        current.texts.append(text)


def _to_message(utterance: _Utterance) -> dict[str, Any]:
    text = (
        "".join(utterance.texts) or f"(speech without a transcript, ticks {utterance.first_tick}-{utterance.last_tick})"
    )
    return {"role": utterance.role, "content": text}
