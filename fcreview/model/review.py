"""Reviews: what an act says, how it stands in a journal, and what an annotator makes of several acts.

`Said` is the one place where a field of a review is declared: the journal checks, writes and reads it from there, the
store makes its column from there, and `opinions.fold` lays later acts over earlier ones by it. A new field is added
here, and where people give and see it.

A verdict begins the question of fault afresh: an act that carries one sets the fault of that annotator's opinion on
that target and criterion to its own, or to none. So "pass, golden is wrong" followed by "fail" is a plain fail. Tags,
notes and golden fixes stay until an act sets them, and a fault alone (no verdict) is added to what stands.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any, Literal, NamedTuple

from fcreview.model.address import ITEM
from fcreview.model.json_value import is_text_list

Act = Literal["review", "retract", "adjudicate"]
"""`review` sets whichever fields are present, `retract` takes back the event named by `retracts`, `adjudicate` is a
review that settles its target."""
ACTS: tuple[Act, ...] = ("review", "retract", "adjudicate")
Fault = Literal["model", "golden", "checker", "judge", "simulator", "question"]
"""Who is wrong."""
FAULTS: tuple[Fault, ...] = ("model", "golden", "checker", "judge", "simulator", "question")
CORRECT = "correct"
UNSURE = "unsure"
OWN = (ITEM, CORRECT)
"""The verdict on the item itself, as against its parts and other criteria."""
VERSION = 1

Kind = Literal["text", "texts", "object", "value", "flag", "count"]
"""What a field of a review is in JSON: a text, a list of texts, an object, a verdict's value, true or false, or a whole
number from 1."""


def _finite(value: Any) -> bool:
    return isinstance(value, float) and math.isfinite(value)


CHECKS: dict[Kind, Callable[[Any], bool]] = {
    "text": lambda value: isinstance(value, str),
    "texts": is_text_list,
    "object": lambda value: isinstance(value, dict),
    "value": lambda value: isinstance(value, (bool, int, str)) or _finite(value) or is_text_list(value),
    "flag": lambda value: isinstance(value, bool),
    "count": lambda value: isinstance(value, int) and not isinstance(value, bool) and value > 0,
}


def _part(kind: Kind, allowed: tuple[str, ...] = ()) -> dict[str, Any]:
    """What is to be known of a field that an act may leave out."""
    return {"kind": kind, "allowed": allowed}


class ItemKey(NamedTuple):
    """What a review is about, by content and never by row number: it survives re-import, renamed folders and merges."""

    benchmark: str
    generation: str
    language: str
    model: str
    category: str
    id: str


@dataclass(slots=True, kw_only=True)
class Said:
    """What one act says of one target on one criterion. None sets nothing; an empty note or tag list clears."""

    act: Act = "review"
    target: str = ITEM
    criterion: str = CORRECT
    verdict: Any = field(default=None, metadata=_part("value"))
    """true, false, "unsure", a finite number, a label or a list of labels."""
    fault: Fault | None = field(default=None, metadata=_part("text", FAULTS))
    tags: list[str] | None = field(default=None, metadata=_part("texts"))
    note: str | None = field(default=None, metadata=_part("text"))
    golden_fix: dict[str, Any] | None = field(default=None, metadata=_part("object"))
    overrules: dict[str, Any] | None = field(default=None, metadata=_part("object"))
    """{source, by, value}: the automatic verdict on this target and criterion that was in sight and that the verdict
    contradicts; `source` and `by` as in `model.Verdict`. The program finds it. `reason` is why, in a word or two, once
    the annotator said so: an act of its own, without a verdict."""

    @property
    def reason(self) -> str:
        """Why it overrules; empty if that was not said."""
        reason = (self.overrules or {}).get("reason")
        return reason if isinstance(reason, str) else ""


@dataclass(slots=True, kw_only=True)
class Event(Said):
    """One line of `.fcreview/reviews/<annotator>.jsonl`."""

    event: str
    """Random 128-bit hex: the union of two copies of a journal keeps each event once."""
    time: str
    """UTC, ISO 8601 with milliseconds."""
    annotator: str
    key: ItemKey
    """In the journal an object with the fields' names."""
    prediction_hash: str = ""
    golden_hash: str = ""
    retracts: str | None = field(default=None, metadata=_part("text"))
    blind: bool | None = field(default=None, metadata=_part("flag"))
    """Whether the annotator gave this without having seen what others found. A circumstance, not something said: only
    the program sets it. None is unknown: journals written before it was recorded lack it, retractions too."""
    queue: str | None = field(default=None, metadata=_part("text"))
    """The queue file that put the item before the annotator; None: it was found otherwise."""
    presentation: int | None = field(default=None, metadata=_part("count"))
    """2: said when the item came a second time. It decides nothing; it is for self-agreement. None: the first."""
    previous: str = ""
    """`hash` of the event before it in the same file; empty for the first."""
    hash: str = ""
    """blake2b-16 hex of the event's canonical JSON (sorted keys) without this field."""
    version: int = VERSION
    extra: dict[str, Any] | None = None
    """Fields of a newer version, kept as they are."""


@dataclass(slots=True, kw_only=True)
class Opinion(Said):
    """What one annotator now thinks of one target on one criterion: the fold of their acts that stand."""

    annotator: str
    time: str = ""
    blind: bool | None = None
    """Of the act that set the verdict."""
    prediction_hash: str = ""
    """Of the answer that was reviewed."""
    golden_hash: str = ""
    stale: bool = False
    """The prediction or the golden answer changed since."""

    @property
    def adjudicated(self) -> bool:
        return self.act == "adjudicate"


PARTS: tuple[str, ...] = tuple(each.name for each in fields(Said) if each.metadata)
"""What an act may say, or leave out."""
OPTIONAL: dict[str, Kind] = {each.name: each.metadata["kind"] for each in fields(Event) if each.metadata}
"""The fields that a line may leave out, `PARTS` among them, and what they are in JSON."""
ALLOWED: dict[str, tuple[str, ...]] = {each.name: each.metadata["allowed"] for each in fields(Event) if each.metadata}


def problem(name: str, value: Any) -> str | None:
    """What is wrong with the value of one of `OPTIONAL`, in a few words; None if nothing is."""
    if not CHECKS[OPTIONAL[name]](value):
        return f"{name} is of the wrong type"
    if ALLOWED[name] and value not in ALLOWED[name]:
        return f"{name} is none of {', '.join(ALLOWED[name])}"
    return None
