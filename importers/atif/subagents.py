"""Show the trajectories of subagents to which the results of an ATIF trajectory refer.

A reference names a trajectory that the document embeds, or another file. A document can be
referenced any number of times, also by itself, so an item has a budget of text and of references.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from fcreview.importers.atif.foreign_steps import ConvertedSteps, convert_steps
from fcreview.importers.common.budgets import MAX_ITEM_TEXT_SHOWN, MAX_REFERENCES, TextBudget
from fcreview.importers.common.records import as_list, list_objects
from fcreview.importers.common.writeback import JsonObject
from fcreview.importers.dialects.conversation import MessageIssue
from fcreview.model.json_value import to_json_text
from fcreview.model.wording import format_count

MAX_SUBAGENT_DEPTH = 5
MAX_SHOWN_REFERENCE = 120
_NAMES_OF_TRAJECTORIES = ("trajectory_id", "session_id")
"""Fields by which a reference names an embedded trajectory. Before 1.7, the session id named it."""

ReadDocumentAt = Callable[[str], "JsonObject | None"]
"""Function that reads the trajectory at a relative path.

Returns None if the file is not available.
"""
FormatSteps = Callable[[list[JsonObject]], str]


@dataclass(frozen=True, slots=True)
class ShownSubagent:
    name: str
    id: str
    text: str


@dataclass(slots=True)
class SubagentReader:
    """Finds and formats the subagents of one item, within its budget."""

    read_document_at: ReadDocumentAt
    format_steps: FormatSteps
    budget: TextBudget = field(default_factory=TextBudget)
    n_references: int = 0
    problems: list[str] = field(default_factory=list)
    """Texts of import issues about references that are not shown."""
    _texts: dict[int, str] = field(default_factory=dict)
    """`id` of a subagent's document -> its text.

    `_documents` keeps the documents, so that ids stay unique.
    """
    _documents: list[JsonObject] = field(default_factory=list)
    _documents_by_path: dict[str, JsonObject | None] = field(default_factory=dict)
    _embedded: dict[int, dict[tuple[str, Any], JsonObject]] = field(default_factory=dict)
    """`id` of a document -> its embedded trajectories by field and value of the name."""
    _n_above_limit: int = 0
    _n_circular: int = 0

    def read_subagents(self, document: JsonObject, result: JsonObject) -> list[ShownSubagent]:
        """Return the subagents to which a result of a document refers, each before its own
        subagents.
        """
        return self._read_references(document, result, path=[document])

    def list_refusals(self) -> list[str]:
        """Return a sentence for each reason why references were not followed."""
        refusals = []
        if self._n_circular:
            references = format_count(self._n_circular, "reference")
            refusals.append(f"{references} of subagents to themselves were not followed")
        if self.budget.n_refused:
            subagents = format_count(self.budget.n_refused, "subagent was", "subagents were")
            refusals.append(
                f"{subagents} omitted because an item may have at most {MAX_ITEM_TEXT_SHOWN} of"
                " text"
            )
        if self._n_above_limit:
            references = format_count(self._n_above_limit, "reference")
            refusals.append(
                f"{references} to subagents were not followed, because an item may have at most"
                f" {MAX_REFERENCES:,}"
            )

        return refusals

    def _read_references(
        self, document: JsonObject, result: JsonObject, path: list[JsonObject]
    ) -> list[ShownSubagent]:
        """Read the subagents to which the result of a call refers, and the subagents of these.

        Args:
            document: The trajectory with the result.
            result: A result of a call. It can refer to one subagent or to a list of them.
            path: The trajectories around the result, outermost first.
        """
        references = result.get("subagent_trajectory_ref")
        if isinstance(references, dict):
            references = [references]

        shown: list[ShownSubagent] = []
        for reference in as_list(references):
            subagent = self._find_referenced(document, reference)
            if subagent is None:
                continue
            # A subagent that is around the result would refer to itself without end. Trajectories
            # are compared by identity, because two subagents can have equal content.
            if any(subagent is outer for outer in path):
                self._n_circular += 1
            else:
                shown += self._read_subagent(subagent, path)
        return shown

    def _find_referenced(self, document: JsonObject, reference: Any) -> JsonObject | None:
        """Return the trajectory to which a reference points. None if it is missing, which is a
        problem, or above the limit of references.
        """
        if self.n_references >= MAX_REFERENCES:
            self._n_above_limit += 1
            return None
        self.n_references += 1

        subagent = None
        if isinstance(reference, dict):
            subagent = self._find_trajectory(document, reference)
        if subagent is None:
            text = to_json_text(reference)[:MAX_SHOWN_REFERENCE]
            self.problems.append(f"the trajectory of the subagent {text} was not found")
        return subagent

    def _read_subagent(self, subagent: JsonObject, path: list[JsonObject]) -> list[ShownSubagent]:
        """Return a subagent as text, followed by its own subagents.

        `path` are the trajectories around it. Nothing is returned if the text would exceed what an
        item may contain. Subagents that are nested too deeply are left out.
        """
        text = self._format(subagent)
        if not self.budget.spend(len(text)):
            return []

        name = _get_agent_name(subagent)
        subagent_id = get_subagent_id(subagent)
        shown = [ShownSubagent(name, id=subagent_id, text=f"subagent {name}:\n{text}")]
        if len(path) > MAX_SUBAGENT_DEPTH:
            return shown

        path_to_inner = [*path, subagent]
        for step in list_objects(subagent.get("steps")):
            for result in list_results(step):
                shown += self._read_references(subagent, result, path_to_inner)
        return shown

    def _format(self, subagent: JsonObject) -> str:
        """Return the steps of a subagent as text. The first time, report what could not be read."""
        known_text = self._texts.get(id(subagent))
        if known_text is not None:
            return known_text

        converted = convert_steps(as_list(subagent.get("steps")))
        steps = [numbered.step for numbered in converted.steps if isinstance(numbered.step, dict)]
        text = self.format_steps(steps)
        self._texts[id(subagent)] = text
        # The dictionary of texts uses the identity of the object, so the object must be kept alive.
        self._documents.append(subagent)
        self._report_steps(subagent, converted)
        return text

    def _report_steps(self, subagent: JsonObject, converted: ConvertedSteps) -> None:
        """Report what was not read of the steps of a subagent."""
        name = f"subagent {get_subagent_id(subagent)}"
        if not isinstance(subagent.get("steps"), list):
            self.problems.append(f"{name}: the trajectory has no steps")
        for numbered in converted.steps:
            if not isinstance(numbered.step, dict):
                what = f"step {numbered.number} is not an object, so it was skipped"
                self.problems.append(f"{name}: {what}")
        for problem in _merge_equal_issues(converted.issues):
            self.problems.append(f"{name}: {problem}")

    def _find_trajectory(self, document: JsonObject, reference: JsonObject) -> JsonObject | None:
        """Return the trajectory of a subagent that a document refers to, inside the document or in
        another file.
        """
        embedded = self._index_embedded(document)
        for name in _NAMES_OF_TRAJECTORIES:
            value = reference.get(name)
            if value is None or isinstance(value, (dict, list)):
                continue
            subagent = embedded.get((name, value))
            if subagent is not None:
                return subagent
        path = reference.get("trajectory_path")
        return self._read_file(path) if isinstance(path, str) else None

    def _read_file(self, path: str) -> JsonObject | None:
        if path not in self._documents_by_path:
            self._documents_by_path[path] = self.read_document_at(path)
        return self._documents_by_path[path]

    def _index_embedded(self, document: JsonObject) -> dict[tuple[str, Any], JsonObject]:
        """Return the trajectories that a document contains, by (name of the id field, id).

        The first of several with the same id counts. The index of each document is made once.
        """
        # A dictionary cannot be a key, so the key is the identity of the document in memory.
        known_index = self._embedded.get(id(document))
        if known_index is not None:
            return known_index

        index: dict[tuple[str, Any], JsonObject] = {}
        for subagent in list_objects(document.get("subagent_trajectories")):
            for field_name in _NAMES_OF_TRAJECTORIES:
                subagent_id = subagent.get(field_name)
                is_usable = subagent_id is not None and not isinstance(subagent_id, (dict, list))
                if is_usable:
                    index.setdefault((field_name, subagent_id), subagent)

        self._embedded[id(document)] = index
        # While the document is kept, no other object can get the same identity.
        self._documents.append(document)
        return index


def _merge_equal_issues(issues: Sequence[MessageIssue]) -> list[str]:
    """Return the text of each issue once, with its first place and the number of places."""
    paths_by_reason: dict[str, list[str]] = {}
    for issue in issues:
        paths_by_reason.setdefault(issue.what, []).append(issue.path)

    texts = []
    for what, paths in paths_by_reason.items():
        more = f" ({len(paths):,} times)" if len(paths) > 1 else ""
        texts.append(f"{paths[0]}: {what}{more}")
    return texts


def get_subagent_id(subagent: JsonObject) -> str:
    """Return the id of a subagent's trajectory, or else the name of its agent."""
    stated = subagent.get("trajectory_id") or subagent.get("session_id")
    return str(stated or _get_agent_name(subagent))


def _get_agent_name(subagent: JsonObject) -> str:
    agent = subagent.get("agent")
    return str(agent.get("name")) if isinstance(agent, dict) else "subagent"


def list_results(step: JsonObject) -> list[JsonObject]:
    """Return the results in the observation of a step."""
    observation = step.get("observation")
    return list_objects(observation.get("results")) if isinstance(observation, dict) else []
