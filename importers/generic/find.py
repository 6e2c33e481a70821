"""Generic files and chat logs among files: told by their first line."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fcreview.importers.common.jsonl import head
from fcreview.importers.generic.shape import OWN_FIELDS, as_record
from fcreview.model import Run
from fcreview.plan import Found, RunPlan

SUFFIXES = (".jsonl", ".ndjson", ".json")
HEAD = 8 << 20


def find(files: Sequence[Path], data: Sequence[Path]) -> Found:  # noqa: ARG001 (records carry their own golden answers)
    found = Found()
    for path in files:
        if path.suffix in SUFFIXES:
            plan = _plan(path, head(path, HEAD))
            if plan:
                found.plans.append(plan)
                found.claimed.add(path)
    return found


def _plan(path: Path, first: Any) -> RunPlan | None:
    if not isinstance(first, dict):
        return None
    if "fcreview" in first:
        run = Run(
            str(first.get("benchmark") or "generic"),
            str(first.get("generation") or ""),
            str(first.get("language") or ""),
            str(first.get("model") or path.stem),
            str(path),
        )
        settings = first.get("settings")
        run.settings = settings if isinstance(settings, dict) else {}
        return RunPlan(
            run,
            [path],
            confidence=1.0,
            reason="first line is a header of the generic format",
            needs_scores=False,
            needs_data=False,
        )
    run = Run("generic", "", "", path.stem, str(path))
    if isinstance(first.get("messages"), list) and "id" in first and first.keys() & OWN_FIELDS:
        return RunPlan(
            run, [path], confidence=0.6, reason="records with id and messages", needs_scores=False, needs_data=False
        )
    if as_record(first, 1) is not first:
        run.generation = "chat log"
        return RunPlan(
            run, [path], confidence=0.4, reason="an OpenAI-style chat log", needs_scores=False, needs_data=False
        )
    return None
