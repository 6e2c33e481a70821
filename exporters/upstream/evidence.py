"""Collect the evidence for a corrected golden answer: runs, judges, annotators, suspicious
differences and sibling questions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from fcreview.exporters.base import ExportSource
from fcreview.exporters.golden_patch import (
    RESOLUTION_TEXTS,
    UNANIMOUS_TEXT,
    ResolvedFix,
    get_official_or_recomputed_verdict,
    list_fix_authors,
)
from fcreview.golden_audit.score import Suspect, rank_suspects
from fcreview.golden_audit.siblings import SiblingQuestion, group_siblings
from fcreview.model.golden_fix import find_question_key
from fcreview.model.item import Verdict
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
        """Return the evidence for a corrected golden answer of one record.

        `fixes` are the same correction in several runs. With `has_trials`, the other items of the
        conversation are trials of the same question.
        """
        rows = self._fetch_rows(fixes, has_trials=has_trials)
        passing_rows = [row for row in rows if get_official_or_recomputed_verdict(row) is True]

        # The fixes are equal, so any of them shows what changes.
        fix = fixes[0]
        effects = self._measure_effects(fix)
        suspect = self._suspects.get(self._get_question_key(fix))
        return UpstreamEvidence(
            n_runs=len(rows),
            n_passing_before=len(passing_rows),
            newly_passing=_list_newly_judged_runs(effects, passing=True),
            newly_failing=_list_newly_judged_runs(effects, passing=False),
            n_rescored=sum(effect.rescored.verdict is not None for effect in effects),
            judges=self._count_judge_verdicts(rows),
            annotations=_list_annotations(fixes),
            resolution=RESOLUTION_TEXTS.get(fix.label["decided_by"], UNANIMOUS_TEXT),
            authors=_list_authors(fixes),
            suspect_reasons=_list_reasons(suspect),
            alternative=_describe_alternative(suspect),
            siblings=self._find_siblings(fix),
        )

    def _fetch_rows(self, fixes: Sequence[ResolvedFix], *, has_trials: bool) -> list[QueueRow]:
        """Return the rows of the question in all runs, each once."""
        rows: dict[int, QueueRow] = {}
        trials: list[int] = []
        for fix in fixes:
            rows |= {row.item: row for row in fix.rows}
            trials += [sibling.item for sibling in fix.detail.siblings]
        if has_trials:
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
        """Return for each judge the number of replies in the rows on which it has a verdict, and
        the number of those that it passed.
        """
        n_answers: Counter[str] = Counter()
        n_passing: Counter[str] = Counter()
        for verdict in self._read_judge_verdicts(rows):
            judge = verdict.by or JUDGE
            n_answers[judge] += 1
            if verdict.value:
                n_passing[judge] += 1
        return [JudgeCount(judge, n_passing[judge], count) for judge, count in n_answers.items()]

    def _read_judge_verdicts(self, rows: Sequence[QueueRow]) -> Iterator[Verdict]:
        """Read the verdicts of judges on pass or fail."""
        for row in rows:
            # Only the items that a judge has judged are read completely.
            if row.judge is None:
                continue
            for verdict in self._source.store.read_detail(row.item).item.verdicts:
                if verdict.source == JUDGE and isinstance(verdict.value, bool):
                    yield verdict

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


def _list_annotations(fixes: Sequence[ResolvedFix]) -> list[Annotation]:
    """Return what each annotator recorded about the items of the fixes."""
    annotations = []
    for fix in fixes:
        for opinion in fix.label["opinions"]:
            annotations.append(_make_annotation(opinion))
    return annotations


def _list_authors(fixes: Sequence[ResolvedFix]) -> list[str]:
    """Return the names of all authors of the fixes, each once."""
    authors: set[str] = set()
    for fix in fixes:
        authors.update(list_fix_authors(fix.label))
    return sorted(authors)


def _list_newly_judged_runs(effects: Sequence[RunEffect], *, passing: bool) -> list[str]:
    """Name the runs whose verdict the corrected golden answer changes to pass, or to fail."""
    names = []
    for effect in effects:
        rescored = effect.rescored
        if rescored.is_changed and rescored.verdict is passing:
            names.append(effect.run_name)
    return names


def _make_annotation(opinion: dict[str, Any]) -> Annotation:
    """Return what an annotator recorded. The texts are the note, and the reason of an override."""
    override = opinion["overrules"] or {}
    texts = []
    for text in (opinion["note"], override.get("reason")):
        if isinstance(text, str) and text:
            texts.append(text)
    verdict = _format_verdict(opinion["value"])
    return Annotation(opinion["annotator"], verdict, opinion["fault"] or "", texts)


def _format_verdict(value: Any) -> str:
    """Format the value of a verdict: pass, fail, or another value such as a score. Empty for
    none.
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return "pass" if value else "fail"
    return str(value)


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
