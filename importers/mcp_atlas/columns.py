"""Columns of MCP-Atlas's CSV files, and what a file is by its columns.

The names are those of `services/scoring/score_claims.py` and
`services/diagnostics/single_model_diagnostic.py` (commit 5b6220c, July 2026).
"""

from __future__ import annotations

from collections.abc import Collection, Container, Mapping
from typing import Literal

TASK = "TASK"
TASK_ID = "task_id"
PROMPT = "PROMPT"
TOOLS = "ENABLED_TOOLS"
TRAJECTORY = "TRAJECTORY"
ANSWER = "GTFA"
CLAIMS = "GTFA_CLAIMS"
SPLIT = "SPLIT"
CONVERSATION = "raw_conversation_history"
OLD_TRAJECTORY = "agent_trajectory"
RESPONSES = ("script_model_response", "response")
COVERAGE = "coverage_score"
DETAILS = "coverage_details_json"
FULLY = "fully_covered_claims"
PARTIALLY = "partially_covered_claims"
TOTAL = "total_claims"
ERRORS = "errors"
DIAGNOSIS = "diagnosis_primary_mode"
DIAGNOSIS_PREFIX = "diagnosis_"
READ_COLUMNS = frozenset(
    {
        TASK,
        TASK_ID,
        PROMPT,
        TOOLS,
        TRAJECTORY,
        ANSWER,
        CLAIMS,
        SPLIT,
        CONVERSATION,
        OLD_TRAJECTORY,
        *RESPONSES,
        COVERAGE,
        DETAILS,
        FULLY,
        PARTIALLY,
        TOTAL,
    }
)
"""Columns that do not become metadata, because an item has a place for them."""

FileKind = Literal["scored", "outputs", "tasks"]


def find_kind(columns: Collection[str]) -> FileKind | None:
    """Return what a CSV file is, or None for a file of another program.

    A file of diagnoses has the columns of a scored file, too.
    """
    has_task = TASK in columns or TASK_ID in columns
    if not has_task:
        return None
    if COVERAGE in columns and DETAILS in columns:
        return "scored"
    if CONVERSATION in columns or OLD_TRAJECTORY in columns:
        return "outputs"
    if CLAIMS in columns and PROMPT in columns:
        return "tasks"
    return None


def get_task_id(cells: Mapping[str, str]) -> str:
    return cells.get(TASK) or cells.get(TASK_ID) or ""


def make_item_id(task_id: str, line: int, known_ids: Container[str]) -> str:
    """Return the id of a task's item. If the task occurs again, it ends with the line."""
    return f"{task_id}#{line}" if task_id in known_ids else task_id


def find_response_column(columns: Collection[str], model: str) -> str | None:
    """Return the column of the model's answer, as the scorer chooses it."""
    for name in (f"{model}_response", *RESPONSES):
        if name in columns:
            return name
    return None
