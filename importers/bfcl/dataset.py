"""BFCL's questions, golden answers and function documents, joined to `Case`s and shared by all items and runs.

A dataset folder holds `BFCL_v4_CATEGORY.json` (or V1's names), the golden answers under the same names in
`possible_answer/`, and for multi-turn and agentic categories documents in `multi_turn_func_doc/`.

One dataset item of BFCL as the reader hands it to the checker: question, function documents and golden answer,
joined.

A dataset's cases by id. Those of a usual dataset are all kept; of a larger one only the last ones used, and a case
that was let go is made again from its lines: as objects 500,000 of them would take gigabytes.

Golden answers as calls of the vocabulary, for display and comparison.
"""

from __future__ import annotations

import json
import re
from array import array
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import orjson

from fcreview.corrections.equivalence import EquivalenceRule
from fcreview.importers.bfcl.decoders.python_calls import parse_call_text
from fcreview.importers.common.jsonl import Record, records, reread
from fcreview.importers.common.records import names_of, question_line
from fcreview.model.item import AcceptedValues, Call, GoldenObject, ImportIssue, Message, SharedList
from fcreview.model.json_value import answer_hash, to_plain_json
from fcreview.model.redact import redact


@dataclass(slots=True)
class DatasetItem:
    id: str
    category: str
    turns: list[list[dict[str, Any]]] = field(default_factory=list)
    """Messages `{"role", "content"}` a turn; V1's plain string is one user message in one turn."""
    functions: list[dict[str, Any]] = field(default_factory=list)
    """Original documents, always a list (V1's single object is wrapped)."""
    ground_truth: Any = None
    """`ground_truth` as stored: V1 `{name_N: {param: [..]}}`, V2+ `[{name: {param: [..]}}]`, multi-turn
    `[["f(a=1)"]]`, None."""
    golden_calls: list[Call] = field(default_factory=list)
    """`answer` as golden calls of the vocabulary, for display and comparison. Shared by all runs: never changed."""
    golden_hash: str = ""
    opening_messages: list[Message] = field(default_factory=list)
    """The messages that open each turn. Shared by all runs: never changed."""
    question: str = ""
    """One line for lists."""
    extra: dict[str, Any] = field(default_factory=dict)
    """Fields of the question and the answer that have no other place here, shown under *more*: initial_config,
    involved_classes, missed_function, path, scenario, source ..."""
    equivalence_rules: tuple[EquivalenceRule, ...] = ()
    """Equivalence rules of errata, that hold for the checker."""
    expected_calls_cache: dict[str, Any] = field(default_factory=dict)
    """The checker's cache for this case (compiled golden values, parameters by function); filled on first use."""
    evaluation_cache: dict[str, Any] = field(default_factory=dict)
    """Evaluations of decoded outputs, see `evaluate`."""
    reply_cache: dict[Any, Any] = field(default_factory=dict)
    """What raw replies come to, see `replies`."""


MAX_LOADED_ITEMS = 10_000
"""Cases in memory. No published dataset has as many."""
LOADED_ITEMS_OF_LARGE_DATASET = 500
"""Cases in memory of a larger one: runs go through it in its order, so that more would be used again no sooner."""
_NO_POSITION = -1
ReloadItem = Callable[[str, Record, Record | None], DatasetItem]
"""Makes a case again of the places of its question and its answer, whose values were let go. KeyError if the files
hold it no longer."""


class DatasetItems(Mapping[str, DatasetItem]):
    """In dataset order."""

    def __init__(self, remake: ReloadItem | None = None) -> None:
        self._reload_item = remake
        self._numbers: dict[str, int] = {}
        self._positions = array("q")
        """Line, offset and length of question and answer, of each in its order."""
        self._loaded: OrderedDict[str, DatasetItem] = OrderedDict()

    def add(self, case: DatasetItem, question: Record | None = None, answer: Record | None = None) -> None:
        """Without a place it is kept for good."""
        self.add_unloaded(case.id, question, answer)
        self._loaded[case.id] = case

    def add_unloaded(self, name: str, question: Record | None, answer: Record | None) -> None:
        """A case that is made when it is asked for."""
        self._numbers[name] = len(self._numbers)
        for place in (question, answer):
            self._positions.extend(
                (place.line, place.offset, place.length) if place else (_NO_POSITION, _NO_POSITION, _NO_POSITION)
            )
        if len(self._numbers) > MAX_LOADED_ITEMS:
            self._evict()

    def __getitem__(self, name: str) -> DatasetItem:
        case = self._loaded.get(name)
        if case is None:
            case = self._loaded[name] = self._reload(name, with_answer=True)
            self._evict()
        return case

    def read_question(self, name: str) -> list[list[dict[str, Any]]] | None:
        """A case's question; None if there is no such case. Nothing else is made for it."""
        case = self._loaded.get(name)
        try:
            return (case or self._reload(name, with_answer=False)).turns
        except KeyError:
            return None

    def _reload(self, name: str, *, with_answer: bool) -> DatasetItem:
        number = self._numbers[name]
        question, answer = (self._record_position(6 * number + start) for start in (0, 3))
        if self._reload_item is None or question is None:
            raise KeyError(name)
        return self._reload_item(name, question, answer if with_answer else None)

    def _evict(self) -> None:
        """Lets go what came first."""
        while self._reload_item is not None and len(self._loaded) > min(
            LOADED_ITEMS_OF_LARGE_DATASET, MAX_LOADED_ITEMS
        ):
            self._loaded.popitem(last=False)

    def __iter__(self) -> Iterator[str]:
        return iter(self._numbers)

    def __len__(self) -> int:
        return len(self._numbers)

    def __contains__(self, name: object) -> bool:
        return name in self._numbers

    def _record_position(self, start: int) -> Record | None:
        line, offset, length = self._positions[start : start + 3]
        return None if line == _NO_POSITION else Record(line, offset, length, None)


_REPEAT_SUFFIX = re.compile(r"[_ ]\d+\Z")


def parse_golden_calls(answer: Any, category: str, generation: str, functions: Sequence[dict[str, Any]]) -> list[Call]:  # noqa: ARG001
    """`ground_truth` of any category and generation as golden calls.

    V1 `{name_N: {param: [..]}}`, V2+ `[{name: {param: [..]}}]`, executable `["f(a=1)"]`, multi-turn
    `[["f(a=1)"], []]` (one list a turn). What is none of these (agentic answers are texts) gives no calls.
    """
    if "memory" in category or "web_search" in category:
        return []
    if isinstance(answer, dict):
        names = names_of(functions)
        parsed = [_golden_call(strip_repeat_suffix(name, names), values) for name, values in answer.items()]
    elif isinstance(answer, list) and answer and all(isinstance(part, list) for part in answer):
        return [
            call
            for turn, texts in enumerate(answer)
            for call in _number_calls(_golden_calls_from_texts(texts, functions), turn)
        ]
    elif isinstance(answer, str):
        parsed = _golden_calls_from_texts([answer], functions)
    elif isinstance(answer, list):
        parsed = [
            _golden_call(name, values) for part in answer if isinstance(part, dict) for name, values in part.items()
        ] or _golden_calls_from_texts(answer, functions)
    else:
        return []
    return _number_calls(parsed, 0)


def _number_calls(calls: list[Call], turn: int) -> list[Call]:
    for index, call in enumerate(calls):
        call.turn, call.index = turn, index
    return calls


def strip_repeat_suffix(name: str, names: set[Any]) -> str:
    """V1 tells repeated functions apart by `_1`, `_2` (in some items ` 1`, ` 2`): stripped where what remains is a
    declared function."""
    if name in names:
        return name
    stripped = _REPEAT_SUFFIX.sub("", name)
    return stripped if stripped in names else name


def _golden_call(name: str, values: Any) -> Call:
    if not isinstance(values, dict):
        raw = json.dumps({name: values}, ensure_ascii=False, default=str)
        return Call("golden", str(name), None, raw=raw, decode_error="the golden answer has no arguments object")
    return Call("golden", str(name), {key: parse_accepted_values(alternatives) for key, alternatives in values.items()})


def _golden_calls_from_texts(texts: list[Any], functions: Sequence[dict[str, Any]]) -> list[Call]:
    calls = []
    for text in texts:
        found = parse_call_text(text, functions) if isinstance(text, str) else None
        if found is None:
            calls.append(Call("golden", "", None, raw=str(text), decode_error="not call syntax"))
        else:
            name, arguments = found
            accepts = {str(key): AcceptedValues([value]) for key, value in arguments.items()}
            calls.append(Call("golden", name, accepts, raw=text))
    return calls


def parse_accepted_values(alternatives: Any) -> AcceptedValues:
    """A list of acceptable values, where `""` says that the argument may be left out; objects are lists of
    alternatives again."""
    if isinstance(alternatives, dict):  # V1 has objects directly in objects
        return AcceptedValues([_parse_accepted_value(alternatives)])
    if not isinstance(alternatives, list):
        return AcceptedValues([alternatives])
    return AcceptedValues([_parse_accepted_value(value) for value in alternatives if value != ""], "" in alternatives)


def _parse_accepted_value(value: Any) -> Any:
    if isinstance(value, dict):
        return GoldenObject({key: parse_accepted_values(field) for key, field in value.items()})
    if isinstance(value, list):
        return [_parse_accepted_value(element) if isinstance(element, (dict, list)) else element for element in value]
    return value


_FUNCTION_DOC_FILES = {
    "TwitterAPI": "posting_api", "TravelAPI": "travel_booking", "TradingBot": "trading_bot",
    "VehicleControlAPI": "vehicle_control", "GorillaFileSystem": "gorilla_file_system", "MessageAPI": "message_api",
    "TicketAPI": "ticket_api", "MathAPI": "math_api", "WebSearchAPI": "web_search",
}  # fmt: skip
"""API class -> its file in `multi_turn_func_doc/`; MemoryAPI's is named by the backend."""

_BAD = (ValueError, TypeError, AttributeError, RecursionError)
_FIELDS_WITH_ATTRIBUTES = frozenset({"id", "question", "function", "ground_truth"})


@dataclass(frozen=True, slots=True)
class DatasetFiles:
    """The files of one question file's worth of dataset."""

    questions: Path
    answers: Path | None = None
    function_docs: Path | None = None
    """The folder `multi_turn_func_doc`."""

    @property
    def paths(self) -> list[Path]:
        return [path for path in (self.questions, self.answers) if path is not None]


@dataclass(slots=True)
class Dataset:
    """`cases` by dataset id, in dataset order."""

    items: DatasetItems = field(default_factory=DatasetItems)
    issues: list[ImportIssue] = field(default_factory=list)
    """More may come while cases of a large dataset are made."""
    repeated_ids: dict[str, list[str]] = field(default_factory=dict)
    """Ids that stand several times, and the names of their cases in order, `[id, "id#2"]`."""


def load_dataset(source: DatasetFiles, generation: str, category: str) -> Dataset:
    """The dataset of a category; read once while its files do not change."""
    return _load_cached(source, generation, category, tuple(_file_stamp(path) for path in source.paths))


@lru_cache(maxsize=64)
def _load_cached(source: DatasetFiles, generation: str, category: str, stamps: tuple[Any, ...]) -> Dataset:  # noqa: ARG001
    return _DatasetLoader(source, generation, category).load()


class _DatasetLoader:
    """Reads one category's dataset; makes cases again that were let go."""

    def __init__(self, source: DatasetFiles, generation: str, category: str) -> None:
        self._files, self._version, self._category = source, generation, category
        self._dataset = Dataset(DatasetItems(self._reload_item))
        self._reported_ids: set[str] = set()

    def load(self) -> Dataset:
        dataset, source = self._dataset, self._files
        answers, by_id = _read_answers(source.answers, dataset.issues)
        for place, record in enumerate(_read_objects(source.questions, dataset.issues)):
            stated = record.value.get("id")
            item = stated if isinstance(stated, str) else f"{self._category}_{place}"
            given = by_id.get(item, ())
            name, number = self._unique_id(item)
            answer = answers[given[min(number, len(given) - 1)]] if given else None
            if answer is None and not by_id and place < len(answers):
                answer = answers[place]
            if len(dataset.items) >= MAX_LOADED_ITEMS:
                dataset.items.add_unloaded(name, record, answer)
                continue
            try:
                dataset.items.add(self._make_item(name, record, answer), record, answer)
            except _BAD as error:
                self._report_malformed(name, error)
        return dataset

    def _unique_id(self, item: str) -> tuple[str, int]:
        """Name of a record's case, and how many earlier records have its id."""
        if item not in self._dataset.items:
            return item, 0
        names = self._dataset.repeated_ids.setdefault(item, [item])
        name, number = repeated_id(item, len(names)), len(names)
        names.append(name)
        what = f"{item} stands in the dataset twice: the later record is called {name}"
        self._dataset.issues.append(ImportIssue(str(self._files.questions), None, what, item=name))
        return name, number

    def _make_item(self, name: str, question: Record, answer: Record | None) -> DatasetItem:
        documents = _class_function_docs(
            self._files.function_docs, question.value.get("involved_classes"), self._category
        )
        given = answer.value if answer else None
        return make_dataset_item(name, self._category, self._version, question.value, given, documents)

    def _reload_item(self, name: str, question: Record, answer: Record | None) -> DatasetItem:
        """Raises KeyError for records that have become unreadable."""
        question.value = reread(self._files.questions, question)
        if answer is not None and self._files.answers is not None:
            answer.value = reread(self._files.answers, answer)
        if not isinstance(question.value, dict) or (answer is not None and not isinstance(answer.value, dict)):
            raise KeyError(name)
        try:
            return self._make_item(name, question, answer)
        except _BAD as error:
            self._report_malformed(name, error)
            raise KeyError(name) from error

    def _report_malformed(self, name: str, error: Exception) -> None:
        if name not in self._reported_ids:
            self._reported_ids.add(name)
            what = f"{name} of the dataset could not be interpreted: {type(error).__name__}: {error}"
            where = str(self._files.questions)
            self._dataset.issues.append(ImportIssue(where, None, what, item=name, severity="error"))


def _read_answers(path: Path | None, issues: list[ImportIssue]) -> tuple[list[Record], dict[str, tuple[int, ...]]]:
    """The answers' records, and the places in the list of those with an id. Values beyond the first are let go."""
    answers: list[Record] = []
    by_id: dict[str, tuple[int, ...]] = {}
    for one in _read_objects(path, issues) if path is not None else ():
        item = one.value.get("id")
        if isinstance(item, str):
            by_id[item] = (*by_id.get(item, ()), len(answers))
        if len(answers) >= MAX_LOADED_ITEMS:
            one.value = None
        answers.append(one)
    return answers, by_id


def _file_stamp(path: Path) -> tuple[str, int, int]:
    try:
        status = path.stat()
    except OSError:
        return str(path), 0, 0
    return str(path), status.st_mtime_ns, status.st_size


def _read_objects(path: Path, issues: list[ImportIssue]) -> Iterator[Record]:
    """Those that are objects."""
    for record in records(path):
        if isinstance(record, ImportIssue):
            issues.append(record)
        elif isinstance(record.value, dict):
            yield record
        else:
            issues.append(ImportIssue(str(path), record.line, "a dataset record is not an object"))


def make_dataset_item(
    item: str,
    category: str,
    generation: str,
    record: dict[str, Any],
    answer: dict[str, Any] | None = None,
    documents: list[dict[str, Any]] | None = None,
) -> DatasetItem:
    """A case of a question record and its answer record (`{"ground_truth": ...}`), both as stored in any generation."""
    if category == "rest":
        record = redact(record)
    functions = record.get("function")
    if documents is None:
        documents = [functions] if isinstance(functions, dict) else functions if isinstance(functions, list) else []
        documents = SharedList(document for document in documents if isinstance(document, dict))
    extra = {key: value for key, value in record.items() if key not in _FIELDS_WITH_ATTRIBUTES}
    truth: Any = record.get("ground_truth")
    if answer is not None:
        truth = answer["ground_truth"] if "ground_truth" in answer else _unkeyed_ground_truth(answer)
        if truth is None or "ground_truth" in answer:
            extra.update((key, value) for key, value in answer.items() if key not in _FIELDS_WITH_ATTRIBUTES)
    turns = parse_turns(record.get("question"))
    case = DatasetItem(item, category, turns, documents, truth, question=_question_line(turns), extra=extra)
    if not category.startswith(("memory", "web_search")):
        case.golden_calls = SharedList(parse_golden_calls(truth, category, generation, documents))
    if truth is not None:
        case.golden_hash = answer_hash(truth)
    case.opening_messages = SharedList(make_opening_messages(case))
    return case


def repeated_id(item: str, number: int) -> str:
    """The name of the record with this id, counted from 0: an id may stand in a dataset several times."""
    return item if number == 0 else f"{item}#{number + 1}"


def _unkeyed_ground_truth(answer: dict[str, Any]) -> dict[str, Any] | None:
    """The golden answer of V1 before 2024-07-24: the record itself, `{function: {parameter: [values]}}`; None if it is
    no such record."""
    calls = {name: values for name, values in answer.items() if name not in ("id", "idx")}
    return calls if calls and all(isinstance(values, dict) for values in calls.values()) else None


def parse_turns(question: Any) -> list[list[dict[str, Any]]]:
    """`question` as turns of messages: V1 has text, V2 a list of messages, V3 and V4 a list of turns."""
    if isinstance(question, str):
        return [[{"role": "user", "content": question}]]
    if not isinstance(question, list):
        return []
    if question and all(isinstance(part, dict) for part in question):
        return [question]
    return [[part for part in turn if isinstance(part, dict)] for turn in question if isinstance(turn, list)]


def make_opening_messages(case: DatasetItem) -> list[Message]:
    """The messages that open each turn; a turn without any reveals functions that were withheld until then."""
    messages = []
    missed = case.extra.get("missed_function")
    for number, turn in enumerate(case.turns):
        for part in turn:
            messages.append(Message(number, -1, message_role(part.get("role")), content_text(part.get("content"))))
        if not turn:
            names = missed.get(str(number)) if isinstance(missed, dict) else None
            names = [name["name"] if isinstance(name, dict) else str(name) for name in names or []]
            text = f"functions withheld until now are offered: {', '.join(names)}" if names else "an empty turn"
            messages.append(Message(number, -1, "log", text))
    return messages


def message_role(role: Any) -> Any:
    """OpenAI's `developer` is a system message; unknown roles are remarks of the runner."""
    if role in ("user", "assistant", "system", "tool"):
        return role
    return "system" if role == "developer" else "log"


def content_text(content: Any) -> str:
    """Message content as text; parts of a list are joined, other JSON is written out."""
    if isinstance(content, str):
        return content
    if content is None:
        return ""
    if isinstance(content, list) and content and all(isinstance(part, dict) and "text" in part for part in content):
        return "\n".join(str(part["text"]) for part in content)
    return json_text(content)


def json_text(value: Any) -> str:
    try:
        return orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS).decode()
    except TypeError:
        return orjson.dumps(to_plain_json(value)).decode()


def _question_line(turns: list[list[dict[str, Any]]]) -> str:
    """The first turn's last user message."""
    for turn in turns:
        for part in reversed(turn):
            if part.get("role") == "user" and part.get("content"):
                return question_line(content_text(part["content"]))
    return ""


def _class_function_docs(folder: Path | None, classes: Any, category: str) -> list[dict[str, Any]] | None:
    if not isinstance(classes, list):
        return None
    if folder is None:
        return []
    names = tuple(_FUNCTION_DOC_FILES.get(str(name), category if name == "MemoryAPI" else "") for name in classes)
    return load_function_docs(folder, names)


@lru_cache(maxsize=256)
def load_function_docs(folder: Path, names: tuple[str, ...]) -> list[dict[str, Any]]:
    """Function documents of API classes, as one list that all items with the same classes share."""
    found = (record for name in names if name for record in records(folder / f"{name}.json"))
    return SharedList(record.value for record in found if isinstance(record, Record) and isinstance(record.value, dict))


def merge_datasets(parts: Iterable[Dataset]) -> Dataset:
    """Several categories as one dataset, as format sensitivity needs it."""
    whole = Dataset()
    for part in parts:
        for case in part.items.values():
            whole.items.add(case)
        whole.issues.extend(part.issues)
    return whole
