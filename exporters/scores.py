"""Scores before and after review, computed from exported labels alone. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from fcreview.exporters.base import Label


@dataclass(slots=True)
class Rate:
    """How many passed of those with a verdict."""

    passed: int = 0
    known: int = 0

    @property
    def value(self) -> float | None:
        """0 to 1; None where nothing is known."""
        return self.passed / self.known if self.known else None

    def count(self, verdict: Any) -> None:
        if isinstance(verdict, bool):
            self.known += 1
            self.passed += verdict


@dataclass(slots=True)
class Score:
    """One category of one run (`category` None: the whole run, every item with the same weight)."""

    run: int
    model: str
    category: str | None
    items: int = 0
    official: Rate = field(default_factory=Rate)
    rule: Rate = field(default_factory=Rate)
    corrected: Rate = field(default_factory=Rate)
    """Of effective verdicts; disputed items are not known."""
    reviewed: int = 0
    """Items on which somebody has a current opinion."""
    overturned: int = 0
    """Items whose effective verdict differs from what the benchmark itself says (official, else rule, else judge)."""
    disputed: int = 0

    def as_json(self) -> dict[str, Any]:
        """{run, model, category, items, reviewed, overturned, disputed}, and of each of official, rule and corrected
        the rate (0 to 1 or null) and its counts: {official, official_passed, official_known, ...}."""
        counts = ("run", "model", "category", "items", "reviewed", "overturned", "disputed")
        row: dict[str, Any] = {name: getattr(self, name) for name in counts}
        for name in ("official", "rule", "corrected"):
            rate: Rate = getattr(self, name)
            row |= {name: rate.value, f"{name}_passed": rate.passed, f"{name}_known": rate.known}
        return row


def scores(chunks: Iterable[list[Label]]) -> list[Score]:
    """Each run's own score, then its categories, in order of first mention. Only item/correct labels are counted."""
    found: dict[tuple[int, str | None], Score] = {}
    for chunk in chunks:
        for label in chunk:
            if label["target"] == "item" and label["criterion"] == "correct":
                for category in (None, label["category"]):
                    place = (label["run"], category)
                    if place not in found:
                        found[place] = Score(label["run"], label["model"], category)
                    _count(found[place], label)
    runs = list(dict.fromkeys(run for run, _ in found))
    return [score for run in runs for (of, _), score in found.items() if of == run]


def _count(score: Score, label: Label) -> None:
    score.items += 1
    score.official.count(label["official"])
    score.rule.count(label["rule"])
    score.corrected.count(label["effective"])
    score.reviewed += bool(label["n_annotators"])
    score.disputed += label["decided_by"] == "disputed"
    own = next((label[name] for name in ("official", "rule", "judge") if label[name] is not None), None)
    effective = label["effective"]
    score.overturned += isinstance(effective, bool) and isinstance(own, bool) and effective is not own
