"""Reviews that come from a file: what one is, and what makes it none. Which item it is about is found by `placing`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from fcreview.agreement.disputes import SETTLING, settles
from fcreview.errors import FcreviewError
from fcreview.review import CORRECT, PARTS, ItemKey, Said, problem
from fcreview.store.labels.fields import VALUE
from fcreview.targets import FORMS, ITEM, is_address
from fcreview.text.answers import answered, off_scale
from fcreview.text.words import count_of

TOLD = 10
"""Mistakes of one file that are told."""


class IncomingError(FcreviewError):
    """A file that was not taken in; nothing of it was written."""


@dataclass(frozen=True, slots=True)
class Mistake:
    """What is wrong at one place of the file."""

    line: int
    what: str


@dataclass(frozen=True, slots=True)
class Incoming:
    """What somebody said, as a file has it."""

    line: int
    """Of the file, from 1; in Label Studio's the number of the task."""
    key: dict[str, str]
    """Of `ItemKey` what the file says: `id`, and as much more as tells the item from others."""
    said: Said
    annotator: str | None = None
    """None: whoever takes the file in."""
    time: str | None = None
    """UTC, ISO 8601 with milliseconds; None: now."""
    blind: bool | None = None
    """False of what is said here and now too, see `as_said_here`."""
    prediction_hash: str = ""
    """Of the answer that was reviewed; empty: the present one. So `golden_hash`."""
    golden_hash: str = ""


def incoming(line: int, label: Mapping[str, Any], opinion: Mapping[str, Any], *, written: bool = False) -> Incoming:
    """From the fields of a label (`id`, `target` ...) and of an opinion (`value`, `fault` ...), see `labels.fields`;
    only `id` and something said are needed. `written` by hand, a value must be on the criterion's scale; what comes
    from a journal was taken once. A value may also be a word of the criterion's scale. ValueError for what is
    no review."""
    for name in (*ItemKey._fields, "target", "criterion"):
        if not isinstance(label.get(name, ""), str):
            raise ValueError(f"{name} is not text")
    if not label.get("id"):
        raise ValueError("no id")
    target, criterion = label.get("target", ITEM), label.get("criterion", CORRECT)
    if not is_address(target):
        raise ValueError(f"no target {target!r}: {FORMS}")
    parts = {name: opinion.get(VALUE if name == "verdict" else name) for name in PARTS}
    if written and isinstance(parts["verdict"], str) and off_scale(criterion, parts["verdict"]):
        parts["verdict"] = answered(criterion, parts["verdict"])
    for name, value in parts.items():
        wrong = None if value is None else problem(name, value)
        if wrong or (written and name == "verdict" and value is not None and (wrong := off_scale(criterion, value))):
            raise ValueError(wrong.replace("verdict is", f"{VALUE} is"))
    act = opinion.get("act", "review")
    if act not in ("review", "adjudicate"):
        raise ValueError(f"no act {act!r}: there are review and adjudicate")
    return Incoming(
        line,
        {name: label[name] for name in ItemKey._fields if label.get(name)},
        Said(act=act, target=target, criterion=criterion, **parts),
        _text(opinion, "annotator") or None,
        utc(_text(opinion, "time")),
        opinion.get("blind") if isinstance(opinion.get("blind"), bool) else None,
        _text(opinion, "prediction_hash") or _text(label, "prediction_hash"),
        _text(opinion, "golden_hash") or _text(label, "golden_hash"),
    )


def as_adjudication(said: Incoming | Mistake) -> Incoming | Mistake:
    """The same as an act that settles its target; a mistake if it would settle nothing."""
    if isinstance(said, Mistake):
        return said
    if not settles(said.said):
        return Mistake(said.line, f"settles nothing: {SETTLING}")
    return replace(said, said=replace(said.said, act="adjudicate"))


def as_said_here(said: Incoming | Mistake) -> Incoming | Mistake:
    """The same as said now, of items that are shown as they are; what the file gives a time was said at that time."""
    if isinstance(said, Mistake) or said.time is not None or said.blind is not None:
        return said
    return replace(said, blind=False)


def utc(text: str) -> str | None:
    """A time as events have it; None for an empty text. ValueError if it is no time."""
    if not text:
        return None
    time = datetime.fromisoformat(text)
    time = time.astimezone(UTC) if time.tzinfo else time.replace(tzinfo=UTC)
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def refuse(file: str, mistakes: list[Mistake], unit: str) -> None:
    """IncomingError, if there are mistakes."""
    if mistakes:
        told = [f"{file} {unit} {each.line}: {each.what}" for each in mistakes[:TOLD]]
        more = [f"and {count_of(len(mistakes) - TOLD, 'more mistake')}"] if len(mistakes) > TOLD else []
        raise IncomingError("\n".join([*told, *more, "nothing was written"]))


def _text(fields: Mapping[str, Any], name: str) -> str:
    value = fields.get(name)
    if value is not None and not isinstance(value, str):
        raise ValueError(f"{name} is not text")
    return value or ""
