"""Reviews: one act of one annotator, as it stands in the journal.

A line of `.fcreview/reviews/<annotator>.jsonl` is one `ReviewEvent` as JSON. An event sets only the fields it carries;
what an annotator now thinks of a target is the fold of their events that were not retracted, later over earlier.

A verdict begins the question of fault afresh: an event that carries one sets the fault of that annotator's opinion on
that target and criterion to its own, or to none. So "pass, golden is wrong" followed by "fail" is a plain fail. Tags,
notes and golden fixes stay until an event sets them, and a fault alone (no verdict) is added to what stands.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from fcreview.faults import FAULTS, Fault

__all__ = ["FAULTS", "Fault", "ItemKey", "ReviewEvent"]


class ItemKey(BaseModel):
    """What a review is about, by content and never by row number: it survives re-import, renamed folders and merges."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    benchmark: str
    generation: str
    language: str
    model: str
    category: str
    id: str


class ReviewEvent(BaseModel):
    """`act` is `review` (sets verdict, fault, tags, note, golden_fix, whichever are present), `retract` (takes back the
    event named by `retracts`) or `adjudicate` (a review that settles the item)."""

    model_config = ConfigDict(extra="allow")  # a newer version's fields are kept

    version: int = 1
    event: str
    """Random 128-bit hex: the union of two copies of a journal keeps each event once."""
    time: str
    """UTC, ISO 8601 with milliseconds."""
    annotator: str
    act: Literal["review", "retract", "adjudicate"]
    key: ItemKey
    prediction_hash: str = ""
    golden_hash: str = ""
    target: str = "item"
    criterion: str = "correct"
    verdict: Any = None
    """true, false, "unsure", 0-2 or a list of labels; null sets nothing."""
    fault: Fault | None = None
    """null: none, if there is a verdict; else it sets nothing."""
    tags: list[str] | None = None
    note: str | None = None
    golden_fix: dict[str, Any] | None = None
    retracts: str | None = None
    previous: str = ""
    """`hash` of the event before it in the same file; empty for the first."""
    hash: str = Field(default="")
    """blake2b-16 hex of the event's canonical JSON (sorted keys) without this field."""
