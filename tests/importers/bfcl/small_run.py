"""Paths and verdicts of the run that the fixture `v4` writes."""

from __future__ import annotations

from typing import Any

from fcreview.model.item import Item

CATEGORY = "simple_python"
RESULT = f"result/m/non_live/BFCL_v4_{CATEGORY}_result.json"
SCORE = f"score/m/non_live/BFCL_v4_{CATEGORY}_score.json"
OFFICIAL = {f"{CATEGORY}_0": True, f"{CATEGORY}_1": False}


def official_verdicts(found: list[Item]) -> dict[str, bool | None]:
    return {item.id: item.official for item in found}


def issue_texts(*groups: Any) -> list[str]:
    """Return the texts of all issues."""
    return [issue.what for group in groups for issue in group]
