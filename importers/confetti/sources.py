"""Everything a CONFETTI run is made of, read once: questions, answers, scores, soft scores, judges, chains."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fcreview.importers.common.jsonl import Record, records
from fcreview.importers.confetti.chains import Link, chains
from fcreview.importers.confetti.find import ACT_JUDGE, ACTS, CALLS, HALLUCINATION, QUESTIONS, SCORES, SOFT
from fcreview.model import ImportIssue
from fcreview.plan import RunPlan

Rows = dict[str, dict[str, Any]]


@dataclass(slots=True)
class Sources:
    questions: Rows = field(default_factory=dict)
    answers: Rows = field(default_factory=dict)
    failures: dict[str, Rows | None] = field(default_factory=lambda: {CALLS: None, ACTS: None})
    """By category: failing entries by item id; None without a score file."""
    soft: Rows = field(default_factory=dict)
    hallucination: Rows = field(default_factory=dict)
    act_judge: Rows = field(default_factory=dict)
    links: dict[str, Link] = field(default_factory=dict)


def load(plan: RunPlan, issues: list[ImportIssue]) -> Sources:
    out = Sources()
    acts: list[dict[str, Any]] = []
    calls: list[dict[str, Any]] = []
    for path in plan.data:
        rows = _rows(path, issues)
        if path.parent.name == "possible_answer":
            out.answers.update(_by_id(rows))
            (calls if QUESTIONS[path.name] == CALLS else acts).extend(
                r for r in rows if isinstance(r.get("dialog_id"), str)
            )
        else:
            out.questions.update(_by_id(rows))
    out.links = chains([call for call in calls if isinstance(call.get("id"), str)], acts)
    for path in plan.scores:
        rows = _rows(path, issues)
        if path.name in SCORES:
            _scores(SCORES[path.name], path, rows, out, plan, issues)
        elif path.name == SOFT:
            out.soft = _by_id(rows)
        elif path.name == HALLUCINATION:
            out.hallucination = _by_id(rows)
        elif path.name == ACT_JUDGE:
            out.act_judge = _by_id(rows)
    return out


def _rows(path: Path, issues: list[ImportIssue]) -> list[dict[str, Any]]:
    found = []
    for row in records(path):
        if not isinstance(row, Record):
            issues.append(row)
        elif isinstance(row.value, dict):
            found.append(row.value)
        else:
            issues.append(ImportIssue(str(path), row.line, "not an object", str(row.value)[:300]))
    return found


def _by_id(rows: list[dict[str, Any]]) -> Rows:
    return {row["id"]: row for row in rows if isinstance(row.get("id"), str)}


def _scores(
    category: str, path: Path, rows: list[dict[str, Any]], out: Sources, plan: RunPlan, issues: list[ImportIssue]
) -> None:
    """Score ids are 1-based line numbers; the real id stands in the embedded prompt, and the two must agree."""
    failures: Rows = {}
    for row in rows:
        if "id" not in row:
            plan.run.official_metrics[category] = row
            continue
        position = row["id"]
        prompt = row.get("prompt")
        name = prompt.get("id") if isinstance(prompt, dict) else None
        counted = f"{category}_{position - 1}" if isinstance(position, int) else str(position)
        if name is not None and name != counted:
            text = f"score id {position} stands for {counted}, its prompt says {name}: the prompt counts"
            issues.append(ImportIssue(str(path), None, text, item=str(name)))
        failures[str(name or counted)] = row
    out.failures[category] = failures
