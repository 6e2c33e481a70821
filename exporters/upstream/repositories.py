"""Describe the repositories of benchmarks: where golden answers are, and how pull requests look.

Sources: ShishirPatil/gorilla at 6ea5797 (`berkeley-function-call-leaderboard/CHANGELOG.md`,
`.github/ISSUE_TEMPLATE/bfcl.md`, pull requests #1175 and #1177), sierra-research/tau2-bench at
a2c0247 (`CONTRIBUTING.md`), ACEBench/ACEBench at e6db74b.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from fcreview.exporters.golden_patch import ResolvedFix
from fcreview.exporters.report_pages import format_code_span
from fcreview.exporters.repository_paths import ACEBENCH_DATA, ACEBENCH_LANGUAGES, BFCL_DATA
from fcreview.exporters.upstream.checkout import RepositoryFiles
from fcreview.model.json_edit import Span, edit_json_at, find_json_member, iter_json_parts
from fcreview.model.json_value import canonical_json
from fcreview.model.sanitize import sanitize

Json = dict[str, Any]


class RefusedFix(Exception):
    """Raised if a corrected golden answer cannot be sent. The message is the reason."""


@dataclass(frozen=True, slots=True)
class RecordPlace:
    """A record with a golden answer in the text of a dataset file."""

    record: Json
    """The whole record, such as a task."""
    span: Span
    """Position of the record."""
    golden: Json
    """The object with the fields of the golden answer."""
    golden_span: Span

    def edit(self, text: str, fix_fields: Json) -> str:
        """Return the text with other fields of the golden answer."""
        return edit_json_at(text, self.golden_span, self.golden | fix_fields)


class UpstreamRepository(ABC):
    """Repository of a benchmark. A subclass has the rules of one repository."""

    name: str
    """Value of `--upstream`, and the importer of the runs."""
    benchmark: str
    url: str
    has_issue: bool = False
    """Whether the maintainers want an issue before a pull request."""
    has_trials: bool = False
    """Whether a conversation of the store has all trials of a question."""

    @abstractmethod
    def find_answer_files(self, fix: ResolvedFix, files: RepositoryFiles) -> Sequence[str]:
        """Return the files that contain the golden answer, the main one first.

        Raises RefusedFix if the repository does not have it.
        """

    @abstractmethod
    def find_record(self, text: str, record_id: str) -> RecordPlace | None:
        """Return the record with an id in a file with golden answers."""

    @abstractmethod
    def read_question(self, files: RepositoryFiles, path: str, place: RecordPlace) -> Json:
        """Return the question of a golden answer in `path`. Raises RefusedFix if there is none."""

    @abstractmethod
    def read_imported_question(self, fix: ResolvedFix) -> Json | None:
        """Return the question with which the fix was reviewed, or None if no file has it."""

    @abstractmethod
    def select_question_parts(self, question: Json) -> Json:
        """Return the fields of a question on which its golden answer depends."""

    def normalize(self, value: Any) -> Any:
        """Return a question or golden answer in a form in which it can be compared, although files
        write the same content differently.
        """
        return value

    def adapt_fields(self, place: RecordPlace, fix_fields: Json) -> Json:
        """Return the fields of a golden fix in the form of the repository's file."""
        return fix_fields

    def map_imported_files(self, fix: ResolvedFix) -> dict[str, Path]:
        """Return the path in the repository of each imported file of the fix."""
        return {}

    @abstractmethod
    def make_title(self, files: Sequence[str], names: Sequence[str]) -> str:
        """Return the title of a pull request for some records."""

    @abstractmethod
    def make_branch(self, files: Sequence[str], names: Sequence[str]) -> str:
        """Return the name of the branch for a pull request."""

    def make_link(self, commit: str, path: str, lines: tuple[int, int]) -> str:
        first, last = lines
        anchor = f"#L{first}" if first == last else f"#L{first}-L{last}"
        # A file name can contain Markdown markup and line breaks.
        quoted_path = quote(path.encode("utf-8", "surrogateescape"))
        return f"{self.url}/blob/{commit}/{quoted_path}{anchor}"


def describe_names(names: Sequence[str], noun: str) -> str:
    """Return the only name as code, or the number of names: `3 datapoints`."""
    return format_code_span(names[0]) if len(names) == 1 else f"{len(names)} {noun}s"


class JsonLinesRepository(UpstreamRepository):
    """Repository with a question file, and a file of golden answers in `possible_answer`."""

    def find_record(self, text: str, record_id: str) -> RecordPlace | None:
        for span, record in _iter_lines(text):
            if record.get("id") == record_id:
                return RecordPlace(record, span, golden=record, golden_span=span)
        return None

    def read_question(self, files: RepositoryFiles, path: str, place: RecordPlace) -> Json:
        question_path = path.replace("/possible_answer/", "/")
        content = files.read(question_path)
        question = None
        if content is not None:
            question = _find_line(content, str(place.record.get("id")))
        if question is None:
            raise RefusedFix(f"{question_path} has no question {place.record.get('id')}")
        return question

    def read_imported_question(self, fix: ResolvedFix) -> Json | None:
        answers = fix.applied.path
        questions = answers.parent.parent / answers.name
        if not questions.is_file():
            return None
        return _find_line(questions.read_bytes(), fix.applied.record)

    def map_imported_files(self, fix: ResolvedFix) -> dict[str, Path]:
        answers = fix.applied.path
        path = self._make_answer_path(fix)
        return {
            path: answers,
            path.replace("/possible_answer/", "/"): answers.parent.parent / answers.name,
        }

    def find_answer_files(self, fix: ResolvedFix, files: RepositoryFiles) -> Sequence[str]:
        path = self._make_answer_path(fix)
        if files.read(path) is None:
            raise RefusedFix(f"the repository has no file {path}")
        return [path]

    @abstractmethod
    def _make_answer_path(self, fix: ResolvedFix) -> str: ...


def _iter_lines(text: str) -> Iterator[tuple[Span, Json]]:
    """Yield the JSON object of each line, with its position in the text. Lines without an object
    are skipped.
    """
    line_start = 0
    for line in text.split("\n"):
        stripped = line.strip()
        record = _parse_object(stripped)
        if record is not None:
            record_start = line_start + line.index(stripped)
            yield Span(record_start, record_start + len(stripped)), record
        line_start += len(line) + 1


def _parse_object(text: str) -> Json | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _find_line(content: bytes, record_id: str) -> Json | None:
    for _, record in _iter_lines(content.decode("utf-8", "replace")):
        if record.get("id") == record_id:
            return record
    return None


class BfclRepository(JsonLinesRepository):
    name = "bfcl"
    benchmark = "bfcl"
    url = "https://github.com/ShishirPatil/gorilla"
    changelog = "berkeley-function-call-leaderboard/CHANGELOG.md"

    def _make_answer_path(self, fix: ResolvedFix) -> str:
        generation = fix.detail.run.generation
        if generation != "V4":
            raise RefusedFix(f"the repository has only BFCL V4, and this is {generation}")
        return f"{BFCL_DATA}/possible_answer/{fix.applied.path.name}"

    def select_question_parts(self, question: Json) -> Json:
        names = ("question", "initial_config", "involved_classes", "missed_function")
        return {name: question[name] for name in names if name in question}

    def make_title(self, files: Sequence[str], names: Sequence[str]) -> str:
        return f"[BFCL] Fix ground truth for {describe_names(names, 'datapoint')}"

    def make_branch(self, files: Sequence[str], names: Sequence[str]) -> str:
        return _make_simple_branch("fix-ground-truth", names)


class AcebenchRepository(JsonLinesRepository):
    name = "acebench"
    benchmark = "acebench"
    url = "https://github.com/ACEBench/ACEBench"

    def _make_answer_path(self, fix: ResolvedFix) -> str:
        language = fix.detail.run.language
        if language not in ACEBENCH_LANGUAGES:
            raise RefusedFix("the language of the run is unknown. Pass --language en or zh")
        return f"{ACEBENCH_DATA.format(language=language)}/possible_answer/{fix.applied.path.name}"

    def select_question_parts(self, question: Json) -> Json:
        names = ("question", "time", "profile", "initial_config", "involved_classes")
        return {name: question[name] for name in names if name in question}

    def make_title(self, files: Sequence[str], names: Sequence[str]) -> str:
        return f"Fix ground truth of {describe_names(names, 'item')}"

    def make_branch(self, files: Sequence[str], names: Sequence[str]) -> str:
        return _make_simple_branch("fix-ground-truth", names)


def _make_simple_branch(prefix: str, names: Sequence[str]) -> str:
    suffix = names[0] if len(names) == 1 else f"{len(names)}-datapoints"
    return f"{prefix}-{make_branch_part(suffix)}"


def sanitize_line(text: str) -> str:
    return " ".join(sanitize(text).split())


def make_branch_part(text: str) -> str:
    """Return a text with only the characters that every git branch may have."""
    kept = [char if char.isascii() and (char.isalnum() or char in "_-") else "-" for char in text]
    return "".join(kept).strip("-")[:60] or "task"


DEFAULT_MEMBERS = (("requestor", "assistant"), ("assert_value", True))
"""Members that mean the same if they are missing. Source: `data_model/tasks.py` of tau2-bench."""
NEW_ACTION: Json = {"action_id": None, "name": None, "arguments": None, "info": None}
"""Members of an action in a task that had none."""


class Tau2Repository(UpstreamRepository):
    name = "tau2"
    benchmark = "tau"
    url = "https://github.com/sierra-research/tau2-bench"
    has_issue = True
    has_trials = True
    changelog = "CHANGELOG.md"

    def find_answer_files(self, fix: ResolvedFix, files: RepositoryFiles) -> Sequence[str]:
        """Return the task files of the domain: `tasks.json`, and others that repeat its tasks."""
        domain = fix.label["category"]
        # A domain is the name of a folder, with the characters that a branch may have. Any other
        # text, such as one with `/` or `..`, must not become part of a path.
        if make_branch_part(domain) != domain:
            raise RefusedFix(f"the repository has no domain {domain[:80]!r}")
        folder = f"data/tau2/domains/{domain}"
        main_file = f"{folder}/tasks.json"
        paths = files.list_files(folder, "tasks*.json")
        if main_file not in paths:
            raise RefusedFix(f"the repository has no file {main_file}")
        return [main_file, *(path for path in paths if path != main_file)]

    def find_record(self, text: str, record_id: str) -> RecordPlace | None:
        """Return the task with an id. Its golden answer is the field `evaluation_criteria`."""
        for task in iter_json_parts(text):
            if not isinstance(task.value, dict) or str(task.value.get("id")) != record_id:
                continue
            criteria = find_json_member(text, "evaluation_criteria", task.span.start)
            if criteria is None or not isinstance(criteria.value, dict):
                return None
            return RecordPlace(
                task.value, task.span, golden=criteria.value, golden_span=criteria.span
            )
        return None

    def read_question(self, files: RepositoryFiles, path: str, place: RecordPlace) -> Json:
        return place.record

    def read_imported_question(self, fix: ResolvedFix) -> Json | None:
        """Return the task in the result file from which the fix was imported."""
        text = fix.applied.path.read_text("utf-8")
        tasks = find_json_member(text, "tasks")
        if tasks is None:
            return None
        for task in iter_json_parts(text, tasks.span.start):
            if isinstance(task.value, dict) and str(task.value.get("id")) == fix.applied.record:
                return task.value
        return None

    def select_question_parts(self, question: Json) -> Json:
        return {
            "user_scenario": question.get("user_scenario"),
            "initial_state": question.get("initial_state"),
        }

    def normalize(self, value: Any) -> Any:
        """Remove defaults, which result files contain and task files mostly omit."""
        if isinstance(value, dict):
            members = {name: self.normalize(member) for name, member in value.items()}
            return {
                name: member
                for name, member in members.items()
                if member is not None and (name, member) not in DEFAULT_MEMBERS
            }
        if isinstance(value, list):
            return [self.normalize(element) for element in value]
        return value

    def adapt_fields(self, place: RecordPlace, fix_fields: Json) -> Json:
        """Write changed actions and assertions as the repository's file writes them."""
        adapted = {}
        for name, value in fix_fields.items():
            if name in ("actions", "env_assertions"):
                old_elements = place.golden.get(name) or []
                value = self._adapt_objects(str(place.record.get("id")), old_elements, value)
            adapted[name] = value
        return adapted

    def _adapt_objects(
        self, task_id: str, old_elements: Sequence[Json], new_elements: Sequence[Json]
    ) -> list[Json]:
        """Keep unchanged objects as they are, and give the others the members that the file
        usually writes.
        """
        unused = list(old_elements)
        adapted: list[Json] = []
        for element in new_elements:
            equal = next((old for old in unused if self._is_same(old, element)), None)
            if equal is not None:
                unused.remove(equal)
                adapted.append(equal)
                continue
            template = _find_by_action_id(old_elements, element)
            if template is None:
                template = old_elements[0] if old_elements else NEW_ACTION
            adapted.append(self._adapt_object(template, element))
        _add_action_ids(task_id, adapted)
        return adapted

    def _is_same(self, one: Json, other: Json) -> bool:
        return canonical_json(self.normalize(one)) == canonical_json(self.normalize(other))

    def _adapt_object(self, template: Json, element: Json) -> Json:
        own_members: Json = self.normalize(element)
        usual_members = {name: element.get(name) for name in template}
        return usual_members | own_members

    def make_title(self, files: Sequence[str], names: Sequence[str]) -> str:
        is_single = len(names) == 1
        tasks = f"task {sanitize_line(names[0])}" if is_single else f"{len(names)} tasks"
        domains = _list_domains(files)
        if len(domains) == 1:
            tasks = f"{domains[0]} {tasks}"
        return f"fix: correct the evaluation criteria of {tasks}"

    def make_branch(self, files: Sequence[str], names: Sequence[str]) -> str:
        """Return a name such as `domain/airline/fix-task-7`."""
        domains = _list_domains(files)
        domain = domains[0] if len(domains) == 1 else "several"
        suffix = f"task-{names[0]}" if len(names) == 1 else f"{len(names)}-tasks"
        return f"domain/{domain}/fix-{make_branch_part(suffix)}"


def _list_domains(files: Sequence[str]) -> list[str]:
    """Return the domains of task files such as `data/tau2/domains/airline/tasks.json`."""
    domains = set()
    for path in files:
        _, _, _, domain, *_ = path.split("/")
        domains.add(domain)
    return sorted(domains)


def _find_by_action_id(elements: Sequence[Json], action: Json) -> Json | None:
    action_id = action.get("action_id")
    if action_id is None:
        return None
    return next((each for each in elements if each.get("action_id") == action_id), None)


def _add_action_ids(task_id: str, elements: Sequence[Json]) -> None:
    """Give each action whose id is empty the next free one, made of the task and a number, such as
    `7_3`.
    """
    known_ids = {element.get("action_id") for element in elements}
    number = 0
    for element in elements:
        # Elements that are no actions have no such field.
        if "action_id" not in element or element["action_id"] is not None:
            continue
        while f"{task_id}_{number}" in known_ids:
            number += 1
        element["action_id"] = f"{task_id}_{number}"
        known_ids.add(element["action_id"])


REPOSITORIES: Mapping[str, UpstreamRepository] = {
    repository.name: repository
    for repository in (BfclRepository(), Tau2Repository(), AcebenchRepository())
}
"""Value of `--upstream` -> repository."""
