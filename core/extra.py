"""What an item may have besides messages, calls and verdicts.

Whatever a screen or the store looks for by name is a field here. Everything else a benchmark has goes into
`Extra.more`, which is listed and never looked into. The store keeps it as one JSON object, see `Extra.as_json`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(slots=True)
class RecordPlace:
    """Where a record stands in a file: it is read there when somebody asks for it."""

    file: str
    line: int = 0
    """From 1; 0 if it is not known."""
    offset: int = 0
    """Bytes, as `length`."""
    length: int = 0


ABSENT = "(not there)"
"""Stands for the side of a `StateDifference` that has no such attribute."""


@dataclass(slots=True)
class StateDifference:
    """An attribute of the environment that ended up otherwise than after the golden calls. Both sides are JSON."""

    golden: Any
    predicted: Any


@dataclass(slots=True)
class Automatic:
    """A verdict of the benchmark's rules on an item."""

    valid: bool | None
    error_type: str | None = None


@dataclass(slots=True)
class Erratum:
    """A correction of the item's golden answer, by errata that the run was read with."""

    who: list[str]
    """Settled it; may be empty."""
    date: str
    """Of the file of errata, ISO 8601."""
    reasons: list[str]
    old: Any = None
    """The golden answer as the dataset has it; JSON."""
    stale: str = ""
    """Why it is not applied; then the golden answer that is shown is the dataset's."""


@dataclass(slots=True)
class Extra:
    """All fields may stay as they are: a benchmark sets those it has something for."""

    failing_turn: int | None = None
    """The turn, from 0, at which the checker stopped: marked, unfolded and opened first on the item screen."""
    state_differences: dict[str, StateDifference] | None = None
    """By attribute: a table at the end of the failing turn, of the last one if none is named, golden beside
    predicted."""
    golden_reply: str | None = None
    """Where a reply is judged and no calls: the golden one, or what a reply must say. Shown beside the predicted one,
    to blind annotators too."""
    golden_labels: list[str] | None = None
    """The labels of the golden reply: beside those that a judge gave the predicted one."""
    held_against: dict[str, int] | None = None
    """Which golden call (`Call.index`) a predicted one without a partner was compared with by the benchmark, by the
    predicted one's address: both are shown."""
    accepted_answers: list[Any] | None = None
    """Where a final answer is judged and no calls: JSON values, usually texts, any one of which is right. Shown with
    `final_answer` below them, to blind annotators too."""
    final_answer: str | None = None
    """The answer that was given; None if there was none."""
    score_record: RecordPlace | None = None
    """The score file's own entry of this item: shown with the raw records."""
    needs: list[list[str]] | None = None
    """Which parts make the item right, as addresses: of every list one must be right; an empty list is never met.
    With it a person's verdict on a part rolls up by the benchmark's own rule, without it by the common one (all call
    pairs of all turns)."""
    without_errata: Automatic | None = None
    """The rule verdict by the dataset's own golden answer, where errata changed it."""
    erratum: Erratum | None = None
    """Shown below the calls: where the golden answer that is shown comes from, or that a correction does not fit."""
    redacted: bool = False
    """The item was read without third-party keys (`fcreview.text.redact`): its raw records are shown without them."""
    more: dict[str, Any] = field(default_factory=dict)
    """What only this benchmark has: name -> any JSON, a line each under *more*, in this order, hidden from blind
    annotators. The benchmark's own `figures` may read it (as `Scored.more`); nobody else looks into it by name."""

    def as_json(self) -> dict[str, Any]:
        """The fields that are set, under their own names: `{}` for most items.

        `{"failing_turn": 1, "state_differences": {"root": {"golden": "b", "predicted": "c"}},
        "golden_reply": "No tool fits.", "golden_labels": ["inform"], "held_against": {"turn:1/call:9": 5},
        "accepted_answers": ["7"], "final_answer": "8", "score_record": {"file": "a.json", "line": 2, "offset": 9,
        "length": 4}, "needs": [["turn:1/call:1"]],
        "without_errata": {"valid": false, "error_type": "value_error:string"},
        "erratum": {"who": ["alice"], "date": "2026-01-01", "reasons": [], "old": [], "stale": ""}, "redacted": true,
        "more": {"path": ["a.b"]}}`
        """
        found: dict[str, Any] = {}
        if self.failing_turn is not None:
            found["failing_turn"] = self.failing_turn
        if self.state_differences is not None:
            found["state_differences"] = {
                name: {"golden": one.golden, "predicted": one.predicted} for name, one in self.state_differences.items()
            }
        for name in ("golden_reply", "golden_labels", "held_against"):
            if (value := getattr(self, name)) is not None:
                found[name] = value
        if self.accepted_answers is not None:
            found["accepted_answers"] = self.accepted_answers
        if self.final_answer is not None:
            found["final_answer"] = self.final_answer
        if (place := self.score_record) is not None:
            found["score_record"] = {
                "file": place.file,
                "line": place.line,
                "offset": place.offset,
                "length": place.length,
            }
        if self.needs is not None:
            found["needs"] = self.needs
        if (own := self.without_errata) is not None:
            found["without_errata"] = {"valid": own.valid, "error_type": own.error_type}
        if self.erratum is not None:
            found["erratum"] = asdict(self.erratum)
        if self.redacted:
            found["redacted"] = True
        if self.more:
            found["more"] = self.more
        return found

    @classmethod
    def from_json(cls, value: Mapping[str, Any] | None) -> Extra:
        """The opposite of `as_json`. TypeError for names that are no fields."""
        given: dict[str, Any] = dict(value or {})
        if "state_differences" in given:
            differences = given["state_differences"].items()
            given["state_differences"] = {name: StateDifference(**one) for name, one in differences}
        if "score_record" in given:
            given["score_record"] = RecordPlace(**given["score_record"])
        if "without_errata" in given:
            given["without_errata"] = Automatic(**given["without_errata"])
        if "erratum" in given:
            given["erratum"] = Erratum(**given["erratum"])
        return cls(**given)
