"""Collect data from the events of a sample: the available functions, and the scorers that called a model."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class EventFacts:
    functions: list[dict[str, Any]] = field(default_factory=list)
    """Function docs of the first model call that has functions."""
    graders: dict[str, str] = field(default_factory=dict)
    """Scorer -> model that it called."""
    n_model_calls: int = 0
    """Number of model calls outside scorers."""


def collect_event_facts(events: Any) -> EventFacts:
    """Collect facts from a list of events. Events of unknown kinds and forms are ignored."""
    facts = EventFacts()
    parents: dict[str, str | None] = {}
    scorers: dict[str, str] = {}
    for event in events if isinstance(events, list) else ():
        if not isinstance(event, dict):
            continue
        kind, name = event.get("event"), str(event.get("id"))
        if kind == "span_begin":
            parents[name] = event.get("parent_id")
            if event.get("type") == "scorer":
                scorers[name] = str(event.get("name"))
        elif kind == "model":
            scorer = _enclosing_scorer(event.get("span_id"), parents, scorers)
            if scorer is not None:
                facts.graders[scorer.rpartition("/")[2]] = str(event.get("model"))
                continue
            facts.n_model_calls += 1
            tools = event.get("tools")
            if not facts.functions and isinstance(tools, list):
                facts.functions = [tool for tool in tools if isinstance(tool, dict)]
    return facts


def _enclosing_scorer(span: Any, parents: dict[str, str | None], scorers: dict[str, str]) -> str | None:
    for _ in range(50):
        if not isinstance(span, str):
            return None
        if span in scorers:
            return scorers[span]
        span = parents.get(span)
    return None
