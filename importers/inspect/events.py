"""Collect data from the events of an Inspect sample: function docs, graders, and the replies of all
agents.

`messages` of a sample is the final state of one conversation. A reply that was compacted, that
belongs to another agent of the sample, or that the task did not add to the conversation exists only
in the model events.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from fcreview.importers.common.records import as_list, as_object, list_objects

MAX_NESTED_EVENTS = 5
"""Maximum depth of events in the field `events` of tool events, in which old logs contain a
sub-agent's events.
"""
MAX_SPAN_DEPTH = 50
SCORER_SPANS = ("scorers", "scorer")
"""Types of the spans of scoring: of all scorers together, and of each one."""


@dataclass(frozen=True, slots=True)
class EventReply:
    """The reply of a model in a model event."""

    message: dict[str, Any]
    agent: str | None
    """Name of the innermost agent that called the model, or None if the event is in no span of
    an agent.
    """

    @property
    def id(self) -> str | None:
        value = self.message.get("id")
        return value if isinstance(value, str) and value else None


@dataclass(slots=True)
class EventData:
    """Data from the events of a sample."""

    functions: list[dict[str, Any]] = field(default_factory=list)
    """Function docs of the first model call with available functions."""
    graders: dict[str, str] = field(default_factory=dict)
    """Name of a scorer -> model that it calls."""
    replies: list[EventReply] = field(default_factory=list)
    """Replies of the models that solve the sample, without those of graders, in order."""
    has_scorer_error: bool = False
    """Whether the error of the sample was raised by a scorer, after the model had answered."""


def collect_event_data(events: Any) -> EventData:
    """Collect data from a list of events. Unknown kinds and forms of events are ignored."""
    collector = _EventCollector()
    for event in _iterate_events(events):
        collector.add(event)
    return collector.data


def _iterate_events(events: Any, depth: int = 0) -> Iterator[dict[str, Any]]:
    for event in list_objects(events):
        yield event
        if event.get("event") == "tool" and depth < MAX_NESTED_EVENTS:
            yield from _iterate_events(event.get("events"), depth + 1)


class _EventCollector:
    """Collects data from events, and knows the spans that they open."""

    def __init__(self) -> None:
        self.data = EventData()
        self._parents: dict[str, str | None] = {}
        self._scorers: dict[str, str] = {}
        self._agents: dict[str, str] = {}
        self._n_open_scorer_steps = 0
        self._last_span_type: Any = None

    def add(self, event: dict[str, Any]) -> None:
        """Read one event of a sample: replies of models, and errors in scorers.

        Events are nested in spans. Whether an error happened in a scorer depends on the spans
        around it.
        """
        kind = event.get("event")
        if kind == "span_begin":
            self._open_span(event)
        elif kind == "step" and event.get("type") == "scorer":
            # Logs before 0.3.90 mark the work of a scorer by two events instead of a span.
            self._n_open_scorer_steps += 1 if event.get("action") == "begin" else -1
        elif kind == "model":
            self._add_model_event(event)
        elif kind == "error":
            # Inspect closes all spans before it writes the error, so the last one that was opened
            # tells.
            is_in_scorer = self._n_open_scorer_steps > 0 or self._last_span_type in SCORER_SPANS
            self.data.has_scorer_error = self.data.has_scorer_error or is_in_scorer

    def _open_span(self, event: dict[str, Any]) -> None:
        """Note a span, a section of the events, with its parent. The spans of scorers and agents
        tell whose events are in them.
        """
        span_id = str(event.get("id"))
        name = str(event.get("name"))
        self._parents[span_id] = event.get("parent_id")
        self._last_span_type = event.get("type")
        if event.get("type") == "scorer":
            self._scorers[span_id] = name
        elif event.get("type") == "agent":
            self._agents[span_id] = name

    def _add_model_event(self, event: dict[str, Any]) -> None:
        """Add the reply of a model event, or note its model as a grader if a scorer made the
        request.
        """
        span_id = event.get("span_id")
        scorer = self._find_enclosing(span_id, self._scorers)
        if scorer is not None:
            _, _, scorer_name = scorer.rpartition("/")
            self.data.graders[scorer_name] = str(event.get("model"))
            return

        if not self.data.functions:
            self.data.functions = list_objects(event.get("tools"))
        # In logs before 0.3.90, events mark the work of a scorer, but do not name it.
        is_of_unnamed_scorer = self._n_open_scorer_steps > 0
        message = _get_first_reply(event)
        if message and not is_of_unnamed_scorer:
            agent = self._find_enclosing(span_id, self._agents)
            self.data.replies.append(EventReply(message, agent))

    def _find_enclosing(self, span_id: Any, names: dict[str, str]) -> str | None:
        """Return the name of the innermost span in `names` that contains the span, or None."""
        for _ in range(MAX_SPAN_DEPTH):
            if not isinstance(span_id, str):
                return None
            if span_id in names:
                return names[span_id]
            span_id = self._parents.get(span_id)
        return None


def _get_first_reply(event: dict[str, Any]) -> dict[str, Any]:
    """Return the first reply in the output of a model event. Empty if there is none."""
    output = as_object(event.get("output"))
    choices = list_objects(as_list(output.get("choices"))[:1])
    return as_object(choices[0].get("message")) if choices else {}
