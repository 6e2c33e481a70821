"""What a reply to a case comes to. Models repeat each other: what they say alike is decoded, judged and laid against
the golden calls once, whichever run it is of."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import orjson

from fcreview.importers.bfcl.case import Case
from fcreview.importers.bfcl.check.evaluate import LARGE, REMEMBERED, Evaluation, evaluate
from fcreview.importers.bfcl.check.pairing import paired
from fcreview.importers.bfcl.dataset import content_hash, text_of
from fcreview.importers.bfcl.decode.decoder import Decoder
from fcreview.importers.bfcl.trajectory import single_messages
from fcreview.model import Call, Item, Message, Pair, Repeated


@dataclass(frozen=True, slots=True)
class Reading:
    """How replies are read and judged."""

    generation: str
    """Whose rules are applied, "V1" to "V4"."""
    category: str
    decoder: Decoder
    config: str | None = None
    """The configuration part of a format-sensitivity id."""


@dataclass(slots=True)
class Reply:
    """Shared by all items that are the same reply to the same case: never changed."""

    hash: str
    """Of the raw result."""
    found: Evaluation
    messages: list[Message]
    predicted: list[Call]
    pairs: list[Pair]
    kept: bool = False
    """Whether it will be seen again."""
    items: dict[tuple[str, str, bool | None], Item] = field(default_factory=dict)
    """For the caller: what it made of it, by id, score file and official verdict."""


def reply_to(case: Case, record: dict[str, Any], opening: list[Message], reading: Reading) -> Reply:
    """The reply in a result record, behind the messages that open the case's turns."""
    key = _key(record, reading)
    reply = case.replies.get(key) if key is not None else None
    if reply is None:
        reply = _made(case, record, opening, reading)
        if key is not None and len(case.replies) < REMEMBERED:
            if reply.messages is not opening:
                reply.messages = Repeated(reply.messages)
            reply.kept = True
            case.replies[key] = reply
    return reply


def _key(record: dict[str, Any], reading: Reading) -> tuple[str, bool, Any] | None:
    """The same for replies that are the same. None for what is not kept: the large, those with reasoning, which is
    never the same, and those of several configurations."""
    result = record["result"]
    if record.get("reasoning_content") or reading.config is not None:
        return None
    if type(result) is not str:
        try:
            result = bytes(memoryview(orjson.dumps(result)))  # as orjson has it, it holds on to kilobytes
        except TypeError:
            return None
        if b"null" in result:  # or NaN, which is written so
            return None
    if len(result) > LARGE:
        return None
    return reading.decoder.name, reading.decoder.as_text, result


def _made(case: Case, record: dict[str, Any], opening: list[Message], reading: Reading) -> Reply:
    result = record["result"]
    found = evaluate(
        result,
        case,
        generation=reading.generation,
        category=reading.category,
        config=reading.config,
        decoder=reading.decoder,
    )
    if found.predicted is None:
        found.predicted = Repeated(_predicted(found, result, case))
        if case.golden or found.predicted:
            failed, v1 = found.valid is False, reading.generation == "V1"
            found.pairs = Repeated(paired(case, found.predicted, reading.category, v1, failed=failed))
    return Reply(content_hash(result), found, single_messages(record, opening), found.predicted, found.pairs)


def _predicted(found: Evaluation, result: Any, case: Case) -> list[Call]:
    if found.calls:
        return [
            Call("predicted", name, arguments, 0, 0, index, None, None if arguments is not None else found.decode_error)
            for index, (name, arguments) in enumerate(found.calls)
        ]
    if found.calls is None and _attempted(result, case):
        return [Call("predicted", "", None, 0, 0, 0, text_of(result), found.decode_error)]
    return []


def _attempted(result: Any, case: Case) -> bool:
    """Whether a text that could not be decoded names a function on offer, or a list was not prose."""
    if isinstance(result, str):
        return any(
            name in result or name.replace(".", "_") in result
            for name in (document.get("name") for document in case.functions)
            if isinstance(name, str) and name
        )
    return isinstance(result, (list, dict)) and bool(result) and not all(isinstance(part, str) for part in result)
