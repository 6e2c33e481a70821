"""Decide which automatic verdicts can be trusted as rewards in training.

The reward of an item is its automatic verdict. Reviews can show that it is wrong, or that nobody
knows: then the row says so, and why.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import orjson

from fcreview.model.address import ITEM
from fcreview.model.effective_verdict import (
    DISPUTED,
    SCORING_ORDER,
    is_same_verdict,
    select_automatic_verdict,
)
from fcreview.model.review import ITEM_CORRECT

if TYPE_CHECKING:
    from fcreview.exporters.base import ExportSource, Label
    from fcreview.model.item import SourceName
    from fcreview.store.rows import ItemDetail

RewardProblem = Literal[
    "no_verdict", "incident", "overridden", "golden_wrong", "disputed", "other_fault"
]
AnswerKey = tuple[str, ...]
"""(benchmark, version, language, category, item id, hash of the golden answer)."""
ANSWER_KEY_FIELDS = ("benchmark", "generation", "language", "category", "id", "golden_hash")
OTHER_FAULTS = ("checker", "judge", "simulator", "question")
"""Faults with which a verdict says nothing about the model, besides that of the golden answer."""


@dataclass(frozen=True, slots=True)
class Reward:
    """The automatic verdict on an item as a reward, and why it cannot be trusted."""

    verdict: bool | None
    source: str | None
    """`official`, `rule` or `judge`; None without an automatic verdict."""
    problems: tuple[RewardProblem, ...] = ()
    effective: bool | None = None
    """Verdict after reviews and corrected golden answers; None if it is unknown."""

    @property
    def is_valid(self) -> bool:
        return not self.problems

    def to_json(self) -> dict[str, Any]:
        return {
            "value": _convert_to_number(self.verdict),
            "source": self.source,
            "valid": self.is_valid,
            "problems": list(self.problems),
            "corrected": _convert_to_number(self.effective),
        }


def _convert_to_number(verdict: bool | None) -> float | None:
    return None if verdict is None else float(verdict)


@dataclass(slots=True)
class RewardCounts:
    """Numbers of items by the validity of their rewards."""

    valid: int = 0
    invalid: int = 0
    problems: Counter[str] = field(default_factory=Counter)
    """An item can have several problems."""

    def add(self, reward: Reward) -> None:
        if reward.is_valid:
            self.valid += 1
        else:
            self.invalid += 1
        self.problems.update(reward.problems)

    def to_json(self) -> dict[str, Any]:
        return {
            "items": self.valid + self.invalid,
            "valid": self.valid,
            "invalid": self.invalid,
            "problems": dict(sorted(self.problems.items())),
        }


class RewardMask:
    """Assesses the rewards of items from the reviews of all runs of the workspace."""

    def __init__(self, source: ExportSource) -> None:
        self._wrong_goldens = _collect_wrong_goldens(source)

    def assess(self, detail: ItemDetail, *, has_correction: bool) -> Reward:
        """Return the reward of an item.

        `has_correction`: whether the golden answer of its question was corrected.
        """
        row = detail.row
        verdicts: dict[SourceName, bool | None] = {
            "official": row.official,
            "rule": row.rule,
            "judge": row.judge,
        }
        verdict = select_automatic_verdict(verdicts)
        source = None
        if verdict is not None:
            source = next(name for name in SCORING_ORDER if verdicts[name] is not None)

        is_golden_wrong = has_correction or _make_answer_key(detail) in self._wrong_goldens
        uses_wrong_golden = is_golden_wrong and not _uses_erratum(detail, source)
        problems = _list_problems(detail, verdict, uses_wrong_golden=uses_wrong_golden)
        # On a disagreement, the effective verdict is the automatic one, which nobody confirmed.
        effective = None if row.human == DISPUTED else row.effective
        return Reward(verdict, source, problems=tuple(problems), effective=effective)


def _uses_erratum(detail: ItemDetail, source: SourceName | None) -> bool:
    """Whether the verdict of a source already uses the corrected golden answer of an erratum: that
    is so for recomputed verdicts, if the erratum was applied.
    """
    erratum = detail.item.extra.erratum
    return source == "rule" and erratum is not None and not erratum.stale


def _list_problems(
    detail: ItemDetail, verdict: bool | None, *, uses_wrong_golden: bool
) -> list[RewardProblem]:
    """List why the automatic verdict on an item cannot be trusted. Empty if it can."""
    row = detail.row
    problems: list[RewardProblem] = []
    if verdict is None:
        problems.append("no_verdict")
    if row.is_incident:
        problems.append("incident")
    if row.human == DISPUTED:
        problems.append("disputed")
    is_decided = isinstance(row.human, bool) and verdict is not None
    if is_decided and not is_same_verdict(row.human, verdict):
        problems.append("overridden")
    if uses_wrong_golden:
        problems.append("golden_wrong")
    if _has_fault(detail, OTHER_FAULTS):
        problems.append("other_fault")
    return problems


def _has_fault(detail: ItemDetail, faults: Collection[str]) -> bool:
    """Whether an annotator names one of the faults in a review of the whole item."""
    for opinion in detail.opinions:
        if opinion.target == ITEM and not opinion.stale and opinion.fault in faults:
            return True
    return False


def _make_answer_key(detail: ItemDetail) -> AnswerKey:
    """Return what identifies the golden answer of an item in all runs."""
    run = detail.run
    item = detail.item
    return (
        run.benchmark,
        run.generation,
        run.language,
        item.category,
        item.id,
        item.golden_hash or "",
    )


def _collect_wrong_goldens(source: ExportSource) -> set[AnswerKey]:
    """Return the golden answers that annotators found wrong in a review of any run.

    The answer is the same in all runs of a question, so its fault concerns all their verdicts.
    """
    from fcreview.store.label_fields import LabelSelection
    from fcreview.store.rows import View

    keys = set()
    for lines in source.store.iter_label_batches(View(), LabelSelection("reviewed")):
        for line in lines:
            # Most labels have no such fault. This test costs less than parsing them.
            if '"fault":"golden"' not in line:
                continue
            label = orjson.loads(line)
            if _says_that_golden_is_wrong(label):
                keys.add(tuple(str(label[name] or "") for name in ANSWER_KEY_FIELDS))
    return keys


def _says_that_golden_is_wrong(label: Label) -> bool:
    """Whether annotators agree that the golden answer of an item is wrong."""
    is_on_item = (label["target"], label["criterion"]) == ITEM_CORRECT
    return is_on_item and label["fault"] == "golden" and not label["stale"]
