"""BFCL's questions, golden answers and function documents, joined to `Case`s and shared by all items and runs.

A dataset folder holds `BFCL_v4_CATEGORY.json` (or V1's names), the golden answers under the same names in
`possible_answer/`, and for multi-turn and agentic categories documents in `multi_turn_func_doc/`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

import orjson

from fcreview.importers.bfcl.case import Case
from fcreview.importers.bfcl.cases import KEPT, Cases
from fcreview.importers.bfcl.golden import golden_calls
from fcreview.importers.common.asked import question_line
from fcreview.importers.common.jsonl import Record, records, reread
from fcreview.model import ImportIssue, Message, Repeated
from fcreview.text.redact import redact
from fcreview.values import json_safe

_DOCUMENTS = {
    "TwitterAPI": "posting_api", "TravelAPI": "travel_booking", "TradingBot": "trading_bot",
    "VehicleControlAPI": "vehicle_control", "GorillaFileSystem": "gorilla_file_system", "MessageAPI": "message_api",
    "TicketAPI": "ticket_api", "MathAPI": "math_api", "WebSearchAPI": "web_search",
}  # fmt: skip
"""API class -> its file in `multi_turn_func_doc/`; MemoryAPI's is named by the backend."""

_BAD = (ValueError, TypeError, AttributeError, RecursionError)
_OWN_FIELDS = frozenset({"id", "question", "function", "ground_truth"})


@dataclass(frozen=True, slots=True)
class Source:
    """The files of one question file's worth of dataset."""

    questions: Path
    answers: Path | None = None
    documents: Path | None = None
    """The folder `multi_turn_func_doc`."""

    @property
    def files(self) -> list[Path]:
        return [path for path in (self.questions, self.answers) if path is not None]


@dataclass(slots=True)
class Dataset:
    """`cases` by dataset id, in dataset order."""

    cases: Cases = field(default_factory=Cases)
    issues: list[ImportIssue] = field(default_factory=list)
    """More may come while cases of a large dataset are made."""
    repeated: dict[str, list[str]] = field(default_factory=dict)
    """Ids that stand several times, and the names of their cases in order, `[id, "id#2"]`."""


def load(source: Source, generation: str, category: str) -> Dataset:
    """The dataset of a category; read once while its files do not change."""
    return _load(source, generation, category, tuple(_stamp(path) for path in source.files))


@lru_cache(maxsize=64)
def _load(source: Source, generation: str, category: str, stamps: tuple[Any, ...]) -> Dataset:  # noqa: ARG001
    def made(name: str, question: Record, answer: Record | None) -> Case:
        documents = _class_documents(source.documents, question.value.get("involved_classes"), category)
        return make_case(name, category, generation, question.value, answer.value if answer else None, documents)

    def again(name: str, question: Record, answer: Record | None) -> Case:
        question.value = reread(source.questions, question)
        if answer is not None and source.answers is not None:
            answer.value = reread(source.answers, answer)
        if not isinstance(question.value, dict) or (answer is not None and not isinstance(answer.value, dict)):
            raise KeyError(name)
        try:
            return made(name, question, answer)
        except _BAD as error:
            tell(name, error)
            raise KeyError(name) from error

    def tell(name: str, error: Exception) -> None:
        if name not in odd:
            odd.add(name)
            what = f"{name} of the dataset could not be interpreted: {type(error).__name__}: {error}"
            dataset.issues.append(ImportIssue(str(source.questions), None, what, item=name, severity="error"))

    dataset, odd = Dataset(Cases(again)), set[str]()
    answers, by_id = _answers(source.answers, dataset.issues)
    for place, record in enumerate(_records(source.questions, dataset.issues)):
        item = record.value.get("id")
        if not isinstance(item, str):
            item = f"{category}_{place}"
        given = by_id.get(item, ())
        number = 0
        if item in dataset.cases:
            names = dataset.repeated.setdefault(item, [item])
            number = len(names)
            names.append(name_of(item, number))
            what = f"{item} stands in the dataset twice: the later record is called {names[-1]}"
            dataset.issues.append(ImportIssue(str(source.questions), None, what, item=names[-1]))
            item = names[-1]
        answer = answers[given[min(number, len(given) - 1)]] if given else None
        if answer is None and not by_id and place < len(answers):
            answer = answers[place]
        if len(dataset.cases) >= KEPT:
            dataset.cases.add_place(item, record, answer)
            continue
        try:
            dataset.cases.add(made(item, record, answer), record, answer)
        except _BAD as error:
            tell(item, error)
    return dataset


def _answers(path: Path | None, issues: list[ImportIssue]) -> tuple[list[Record], dict[str, tuple[int, ...]]]:
    """The answers' records, and the places in the list of those with an id. Values beyond the first are let go."""
    answers: list[Record] = []
    by_id: dict[str, tuple[int, ...]] = {}
    for one in _records(path, issues) if path is not None else ():
        item = one.value.get("id")
        if isinstance(item, str):
            by_id[item] = (*by_id.get(item, ()), len(answers))
        if len(answers) >= KEPT:
            one.value = None
        answers.append(one)
    return answers, by_id


def _stamp(path: Path) -> tuple[str, int, int]:
    try:
        status = path.stat()
    except OSError:
        return str(path), 0, 0
    return str(path), status.st_mtime_ns, status.st_size


def _records(path: Path, issues: list[ImportIssue]) -> Iterator[Record]:
    """Those that are objects."""
    for record in records(path):
        if isinstance(record, ImportIssue):
            issues.append(record)
        elif isinstance(record.value, dict):
            yield record
        else:
            issues.append(ImportIssue(str(path), record.line, "a dataset record is not an object"))


def make_case(
    item: str,
    category: str,
    generation: str,
    record: dict[str, Any],
    answer: dict[str, Any] | None = None,
    documents: list[dict[str, Any]] | None = None,
) -> Case:
    """A case of a question record and its answer record (`{"ground_truth": ...}`), both as stored in any generation."""
    if category == "rest":
        record = redact(record)
    functions = record.get("function")
    if documents is None:
        documents = [functions] if isinstance(functions, dict) else functions if isinstance(functions, list) else []
        documents = Repeated(document for document in documents if isinstance(document, dict))
    extra = {key: value for key, value in record.items() if key not in _OWN_FIELDS}
    truth: Any = record.get("ground_truth")
    if answer is not None:
        truth = answer["ground_truth"] if "ground_truth" in answer else _bare(answer)
        if truth is None or "ground_truth" in answer:
            extra.update((key, value) for key, value in answer.items() if key not in _OWN_FIELDS)
    turns = as_turns(record.get("question"))
    case = Case(item, category, turns, documents, truth, question=_asked(turns), extra=extra)
    if not category.startswith(("memory", "web_search")):
        case.golden = Repeated(golden_calls(truth, category, generation, documents))
    if truth is not None:
        case.golden_hash = content_hash(truth)
    case.opening = Repeated(opening_messages(case))
    return case


def name_of(item: str, number: int) -> str:
    """The name of the record with this id, counted from 0: an id may stand in a dataset several times."""
    return item if number == 0 else f"{item}#{number + 1}"


def _bare(answer: dict[str, Any]) -> dict[str, Any] | None:
    """The golden answer of V1 before 2024-07-24: the record itself, `{function: {parameter: [values]}}`; None if it is
    no such record."""
    calls = {name: values for name, values in answer.items() if name not in ("id", "idx")}
    return calls if calls and all(isinstance(values, dict) for values in calls.values()) else None


def as_turns(question: Any) -> list[list[dict[str, Any]]]:
    """`question` as turns of messages: V1 has text, V2 a list of messages, V3 and V4 a list of turns."""
    if isinstance(question, str):
        return [[{"role": "user", "content": question}]]
    if not isinstance(question, list):
        return []
    if question and all(isinstance(part, dict) for part in question):
        return [question]
    return [[part for part in turn if isinstance(part, dict)] for turn in question if isinstance(turn, list)]


def opening_messages(case: Case) -> list[Message]:
    """The messages that open each turn; a turn without any reveals functions that were withheld until then."""
    messages = []
    missed = case.extra.get("missed_function")
    for number, turn in enumerate(case.turns):
        for part in turn:
            messages.append(Message(number, -1, role_of(part.get("role")), text_of(part.get("content"))))
        if not turn:
            names = missed.get(str(number)) if isinstance(missed, dict) else None
            names = [name["name"] if isinstance(name, dict) else str(name) for name in names or []]
            text = f"functions withheld until now are offered: {', '.join(names)}" if names else "an empty turn"
            messages.append(Message(number, -1, "log", text))
    return messages


def role_of(role: Any) -> Any:
    """OpenAI's `developer` is a system message; unknown roles are remarks of the runner."""
    if role in ("user", "assistant", "system", "tool"):
        return role
    return "system" if role == "developer" else "log"


def text_of(content: Any) -> str:
    """Message content as text; parts of a list are joined, other JSON is written out."""
    if isinstance(content, str):
        return content
    if content is None:
        return ""
    if isinstance(content, list) and content and all(isinstance(part, dict) and "text" in part for part in content):
        return "\n".join(str(part["text"]) for part in content)
    return as_json(content)


def as_json(value: Any) -> str:
    try:
        return orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS).decode()
    except TypeError:
        return orjson.dumps(json_safe(value)).decode()


def _asked(turns: list[list[dict[str, Any]]]) -> str:
    """The first turn's last user message."""
    for turn in turns:
        for part in reversed(turn):
            if part.get("role") == "user" and part.get("content"):
                return question_line(text_of(part["content"]))
    return ""


def content_hash(value: Any) -> str:
    """blake2b-8 hex of the value's JSON."""
    try:
        data = orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS)
    except TypeError:
        data = orjson.dumps(json_safe(value))
    return blake2b(data, digest_size=8).hexdigest()


def _class_documents(folder: Path | None, classes: Any, category: str) -> list[dict[str, Any]] | None:
    if not isinstance(classes, list):
        return None
    if folder is None:
        return []
    names = tuple(_DOCUMENTS.get(str(name), category if name == "MemoryAPI" else "") for name in classes)
    return documents_of(folder, names)


@lru_cache(maxsize=256)
def documents_of(folder: Path, names: tuple[str, ...]) -> list[dict[str, Any]]:
    """Function documents of API classes, as one list that all items with the same classes share."""
    found = (record for name in names if name for record in records(folder / f"{name}.json"))
    return Repeated(record.value for record in found if isinstance(record, Record) and isinstance(record.value, dict))


def merged(parts: Iterable[Dataset]) -> Dataset:
    """Several categories as one dataset, as format sensitivity needs it."""
    whole = Dataset()
    for part in parts:
        for case in part.cases.values():
            whole.cases.add(case)
        whole.issues.extend(part.issues)
    return whole
