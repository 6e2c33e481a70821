"""Collect the evidence for a corrected golden answer: runs, judges, annotators, suspicious
differences and sibling questions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from fcreview.exporters.base import ExportSource
from fcreview.exporters.golden_patch import (
    RESOLUTION_TEXTS,
    ResolvedFix,
    get_official_or_recomputed_verdict,
    list_fix_authors,
)
from fcreview.golden_audit.score import Suspect, rank_suspects
from fcreview.golden_audit.siblings import SiblingQuestion, group_siblings
from fcreview.model.golden_fix import find_question_key
from fcreview.model.review import ItemKey, QuestionKey
from fcreview.store.golden_fix_effect import RunEffect, measure_run_effects
from fcreview.store.rows import QueueRow, View
from fcreview.store.siblings import fetch_sibling_questions

JUDGE = "judge"
MAX_REASONS = 4


@dataclass(frozen=True, slots=True)
class JudgeCount:
    judge: str
    n_passing: int
    n_answers: int


@dataclass(frozen=True, slots=True)
class Annotation:
    """What an annotator recorded about the item."""

    annotator: str
    verdict: str
    fault: str
    texts: Sequence[str]
    """Notes and reasons."""


@dataclass(frozen=True, slots=True)
class UpstreamEvidence:
    n_runs: int
    n_passing_before: int
    newly_passing: Sequence[str] = ()
    """Runs that fail with the current golden answer and pass with the corrected one."""
    newly_failing: Sequence[str] = ()
    n_rescored: int = 0
    """Number of runs whose verdict with the corrected golden answer is known."""
    judges: Sequence[JudgeCount] = ()
    annotations: Sequence[Annotation] = ()
    resolution: str = ""
    """How the annotators decided: `adjudicated`."""
    authors: Sequence[str] = ()
    suspect_reasons: Sequence[str] = ()
    """Why the current golden answer looks wrong, such as equivalent values."""
    alternative: str = ""
    """Answer that models gave instead."""
    siblings: Sequence[SiblingQuestion] = field(default_factory=tuple)
    """Other questions that ask for the same."""


class EvidenceReader:
    """Reads the evidence for corrected golden answers of a store."""

    def __init__(self, source: ExportSource) -> None:
        self._source = source

    def collect(self, fixes: Sequence[ResolvedFix], *, has_trials: bool) -> UpstreamEvidence:
        """Return the evidence for the equal fixes of one record.

        With `has_trials`, the other items of the conversation are trials of the same question.
        """
        # The fixes are equal, so any of them shows what changes.
        fix = fixes[0]
        rows = self._fetch_rows(fixes, has_trials=has_trials)
        effects = self._measure_effects(fix)
        suspect = self._suspects.get(self._get_question_key(fix))
        opinions = [opinion for each in fixes for opinion in each.label["opinions"]]
        authors = {author for each in fixes for author in list_fix_authors(each.label)}
        return UpstreamEvidence(
            n_runs=len(rows),
            n_passing_before=sum(get_official_or_recomputed_verdict(row) is True for row in rows),
            newly_passing=[each.run_name for each in effects if _is_newly(each, passing=True)],
            newly_failing=[each.run_name for each in effects if _is_newly(each, passing=False)],
            n_rescored=sum(each.rescored.verdict is not None for each in effects),
            judges=self._count_judge_verdicts(rows),
            annotations=[_make_annotation(opinion) for opinion in opinions],
            resolution=RESOLUTION_TEXTS.get(fix.label["decided_by"], "all annotators agree"),
            authors=sorted(authors),
            suspect_reasons=_list_reasons(suspect),
            alternative=_describe_alternative(suspect),
            siblings=self._find_siblings(fix),
        )

    def _fetch_rows(self, fixes: Sequence[ResolvedFix], *, has_trials: bool) -> list[QueueRow]:
        """Return the rows of the question in all runs, each once."""
        rows = {row.item: row for fix in fixes for row in fix.rows}
        if has_trials:
            trials = [sibling.item for fix in fixes for sibling in fix.detail.siblings]
            rows |= {row.item: row for row in self._source.store.fetch_rows(trials)}
        return list(rows.values())

    def _measure_effects(self, fix: ResolvedFix) -> list[RunEffect]:
        rescore = self._source.benchmark_services.rescore
        if rescore is None:
            return []
        return measure_run_effects(
            self._source.store, fix.detail.row.item, fix.label["golden_fix"], rescore
        )

    def _count_judge_verdicts(self, rows: Sequence[QueueRow]) -> list[JudgeCount]:
        """Count for each judge how many of the replies in the rows it judged, and how many of them
        passed.
        """
        n_answers: Counter[str] = Counter()
        n_passing: Counter[str] = Counter()
        for row in rows:
            if row.judge is None:
                continue
            for verdict in self._source.store.read_detail(row.item).item.verdicts:
                if verdict.source == JUDGE and isinstance(verdict.value, bool):
                    judge = verdict.by or JUDGE
                    n_answers[judge] += 1
                    if verdict.value:
                        n_passing[judge] += 1
        return [JudgeCount(judge, n_passing[judge], count) for judge, count in n_answers.items()]

    @staticmethod
    def _get_question_key(fix: ResolvedFix) -> QuestionKey:
        key = ItemKey(*[fix.label[name] for name in ItemKey._fields])
        return find_question_key(key)

    @cached_property
    def _suspects(self) -> dict[QuestionKey, Suspect]:
        audit = self._source.store.analysis.fetch_audit_input(View())
        ranking = rank_suspects(audit.questions, audit.run_profiles)
        return {suspect.question.key: suspect for suspect in ranking}

    @cached_property
    def _sibling_groups(self) -> list[list[SiblingQuestion]]:
        parse = self._source.benchmark_services.parse_golden_fix
        return group_siblings(fetch_sibling_questions(self._source.store, View(), parse))

    def _find_siblings(self, fix: ResolvedFix) -> list[SiblingQuestion]:
        key = self._get_question_key(fix)
        for group in self._sibling_groups:
            if any(question.key == key for question in group):
                return [question for question in group if question.key != key]
        return []


def _is_newly(effect: RunEffect, *, passing: bool) -> bool:
    """Whether the corrected golden answer changes the verdict of a run to pass, or to fail."""
    return effect.rescored.is_changed and effect.rescored.verdict is passing


def _make_annotation(opinion: dict[str, Any]) -> Annotation:
    reason = (opinion["overrules"] or {}).get("reason")
    texts = [text for text in (opinion["note"], reason) if isinstance(text, str) and text]
    verdict = {True: "pass", False: "fail", None: ""}.get(opinion["value"], str(opinion["value"]))
    return Annotation(opinion["annotator"], verdict, opinion["fault"] or "", texts)


def _list_reasons(suspect: Suspect | None) -> list[str]:
    if suspect is None:
        return []
    # The decision of the annotators is a fact of its own.
    reasons = [reason for reason in suspect.reasons if reason.kind != "settled"]
    return [reason.full_text for reason in reasons[:MAX_REASONS]]


def _describe_alternative(suspect: Suspect | None) -> str:
    """Return the answer that models gave instead of the golden one, with the models."""
    if suspect is None or suspect.alternative is None or not suspect.alternative.models:
        return ""
    models = ", ".join(suspect.alternative.models)
    return f"{suspect.alternative.answer} ({models})"
