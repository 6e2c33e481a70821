"""Read `verifier/rubric_breakdown.json`: the judge's verdicts on the criteria of a rubric.

Verifiers with a judge write it beside the reward. MCP-Atlas's converted tasks have `results` with
`score`, `result` and `justification` (`convert_tasks_to_harbor.py`, commit 5b6220c). Others have
`per_criterion` with `satisfied` instead.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fcreview.importers.common.incidents import add_failed_verdict
from fcreview.importers.common.json_file import read_json
from fcreview.importers.common.records import is_number
from fcreview.model.address import RESPONSE
from fcreview.model.item import ImportIssue, Item, TaskSection, Verdict

RUBRIC_FILE = "rubric_breakdown.json"
JUDGE = "rubric judge"
CRITERION_PREFIX = "rubric "
LIST_FIELDS = ("results", "per_criterion")
TEXT_FIELDS = ("title", "criterion", "description", "text", "id")
"""Fields with the text of a criterion, in order of preference."""
MAX_CRITERIA = 2_000


@dataclass(frozen=True, slots=True)
class RubricCriterion:
    text: str
    value: bool | float | None
    """Pass or fail, or a score between; None if it was not read."""
    reason: str


@dataclass(frozen=True, slots=True)
class Rubric:
    criteria: Sequence[RubricCriterion]
    error: str | None = None
    """Why the judge failed. The reward is then 0 all the same."""


def read_rubric(path: Path, issues: list[ImportIssue]) -> Rubric | None:
    """Read the file with a judge's grades for each criterion of a rubric.

    Returns None if the file is no JSON object. Criteria that cannot be read are added to `issues`.
    """
    value = read_json(path, issues, dict)
    if value is None:
        return None

    entries = _list_criteria(value, path, issues)
    criteria = [_read_criterion(entry) for entry in entries]
    for number, criterion in enumerate(criteria, 1):
        issues.extend(_report_incomplete_criterion(path, number, criterion))
    error = value.get("error")
    return Rubric(criteria, error=error if isinstance(error, str) and error else None)


def _list_criteria(value: dict[str, Any], path: Path, issues: list[ImportIssue]) -> list[Any]:
    """Return the entries with criteria. A missing list, and entries above the limit, are added to
    `issues`.
    """
    entries = _find_criteria(value)
    if entries is None:
        what = "the file has no list of criteria (results or per_criterion), so none has a verdict"
        issues.append(ImportIssue(str(path), line=1, what=what))
        return []
    if len(entries) > MAX_CRITERIA:
        what = f"the rubric has more than {MAX_CRITERIA:,} criteria. The others are omitted"
        issues.append(ImportIssue(str(path), line=1, what=what))
    return entries[:MAX_CRITERIA]


def _report_incomplete_criterion(
    path: Path, number: int, criterion: RubricCriterion
) -> Iterator[ImportIssue]:
    """Yield an issue for a criterion without a verdict, and one for a criterion without a text."""
    if criterion.value is None:
        what = f"criterion {number} has no verdict that can be read"
        yield ImportIssue(str(path), line=1, what=what)
    if not criterion.text:
        yield ImportIssue(str(path), line=1, what=f"criterion {number} has no text")


def _find_criteria(value: dict[str, Any]) -> list[Any] | None:
    for name in LIST_FIELDS:
        if isinstance(value.get(name), list):
            return list(value[name])
    return None


def _read_criterion(fields: Any) -> RubricCriterion:
    """Read a criterion of a rubric, with the judge's verdict and reason."""
    if not isinstance(fields, dict):
        return RubricCriterion("", value=None, reason="")
    reason = fields.get("justification")
    return RubricCriterion(
        _find_text(fields),
        value=_read_value(fields),
        reason=reason if isinstance(reason, str) else "",
    )


def _find_text(fields: dict[str, Any]) -> str:
    for name in TEXT_FIELDS:
        text = fields.get(name)
        if isinstance(text, str) and text:
            return f"must not hold: {text}" if _is_negative(fields) else text
    return ""


def _is_negative(fields: dict[str, Any]) -> bool:
    """Whether a criterion describes a mistake, which must not be satisfied."""
    return fields.get("is_positive") is False


def _read_value(fields: dict[str, Any]) -> bool | float | None:
    """Return whether a criterion is met, or its score if that is neither 0 nor 1.

    If the field `satisfied` exists, the field `score` is the weight of the criterion.
    """
    satisfied = fields.get("satisfied")
    if isinstance(satisfied, bool):
        # A negative criterion describes something that must not occur.
        return not satisfied if _is_negative(fields) else satisfied
    score = fields.get("score")
    if is_number(score):
        return bool(score) if score in (0, 1) else float(score)
    if isinstance(fields.get("result"), bool):
        return bool(fields["result"])
    return None


def add_rubric_verdicts(item: Item, rubric: Rubric) -> None:
    """Add the verdicts of a judge that graded the answer by a rubric, a list of criteria.

    Each criterion becomes a verdict on the response. The rubric also becomes a section of the task,
    so that reviewers can read it.
    """
    for number, criterion in enumerate(rubric.criteria, 1):
        if criterion.value is not None:
            item.verdicts.append(_make_verdict(number, criterion))
    # The judge itself failed.
    if rubric.error is not None:
        add_failed_verdict(item, "judge", failure=rubric.error, by=JUDGE, target=RESPONSE)

    if rubric.criteria:
        lines = [f"{number}. {each.text}" for number, each in enumerate(rubric.criteria, 1)]
        item.task_sections.append(TaskSection("Rubric", "\n".join(lines)))


def _make_verdict(number: int, criterion: RubricCriterion) -> Verdict:
    """Make the verdict on a criterion. The criterion is shown below the reason."""
    rationale_parts = [criterion.reason, f"criterion: {criterion.text}"]
    return Verdict(
        "judge",
        criterion.value,
        target=RESPONSE,
        criterion=f"{CRITERION_PREFIX}{number}",
        rationale="\n".join(part for part in rationale_parts if part),
        by=JUDGE,
    )
