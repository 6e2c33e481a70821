"""Load BFCL datasets. A dataset item consists of question, golden answer and function docs, and all
runs share it.

A dataset folder contains `BFCL_v4_CATEGORY.json` (V1 has other names), the golden answers in
`possible_answer/` under the same names and, for multi-turn and agentic categories, function docs in
`multi_turn_func_doc/`.
"""

from __future__ import annotations

import json
import re
from array import array
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

import orjson

from fcreview.equivalence import EquivalenceRule
from fcreview.errors import MALFORMED_DATA
from fcreview.importers.bfcl.decoders.python_calls import parse_call_text
from fcreview.importers.common.file_cache import file_stamp
from fcreview.importers.common.jsonl import JsonRecord, read_records, reread_value
from fcreview.importers.common.records import (
    function_names,
    list_objects,
    read_function_docs,
    shorten_question,
)
from fcreview.model.item import AcceptedValues, Call, GoldenObject, ImportIssue, Message, SharedList
from fcreview.model.json_value import answer_hash, to_plain_json
from fcreview.model.sanitize import redact_third_party_keys
from fcreview.model.wording import format_count

Turns = list[list[dict[str, Any]]]
"""Messages `{"role", "content"}` of each turn."""


@dataclass(slots=True, weakref_slot=True)
class DatasetItem:
    """One test case.

    All runs and datasets with equal records share it, so only its caches change after loading.
    """

    id: str
    category: str
    turns: Turns = field(default_factory=list)
    """Messages of the question. In V1, the question is a string, which becomes one user message."""
    functions: list[dict[str, Any]] = field(default_factory=list)
    """Function docs as in the dataset. A single object in V1 becomes a list with one element."""
    ground_truth: Any = None
    """Golden answer as in the dataset; None for irrelevance.

    Its form is `{name_N: {parameter: [values]}}` in V1 and `[{name: {parameter: [values]}}]` from
    V2 on. Executable categories have `["f(a=1)"]`, multi-turn categories `[["f(a=1)"], []]` (one
    list for each turn), and agentic categories `["text"]`.
    """
    golden_calls: list[Call] = field(default_factory=list)
    golden_hash: str = ""
    opening_messages: SharedList[Message] = field(default_factory=SharedList)
    question: str = ""
    extra: dict[str, Any] = field(default_factory=dict)
    """Other fields of the question and answer records, such as `initial_config` or `scenario`,
    for the metadata.
    """
    equivalence_rules: tuple[EquivalenceRule, ...] = ()
    expected_calls_cache: dict[str, Any] = field(default_factory=dict)
    """Results of `schema.compile_expected_calls`, and copies of the item with errata."""
    evaluation_cache: dict[str, Any] = field(default_factory=dict)
    reply_cache: dict[Any, Any] = field(default_factory=dict)


MAX_LOADED_ITEMS = 10_000
"""Maximum number of items of a dataset that is kept in memory as a whole.

No published dataset is larger.
"""
LOADED_ITEMS_OF_LARGE_DATASET = 500
"""Number of items of a larger dataset that are kept in memory.

It is small, because runs use items in order.
"""
_NO_POSITION = (-1, -1, -1)
"""Line, offset and length of a record that does not exist."""
POSITIONS_PER_ITEM = 2 * len(_NO_POSITION)
ReloadItem = Callable[[str, JsonRecord, JsonRecord | None], DatasetItem]
"""Function that loads an item by the positions of its question and answer records. Raises KeyError
if the files have changed.
"""


class DatasetItems(Mapping[str, DatasetItem]):
    """Items by id, in dataset order.

    Items of a large dataset are loaded on use: 500,000 items would take gigabytes.
    """

    def __init__(self, reload_item: ReloadItem | None = None) -> None:
        self._reload_item = reload_item
        self._numbers: dict[str, int] = {}
        self._positions = array("q")
        """Six numbers for each item: line, offset and length of its question record, then of its
        answer record.
        """
        self._loaded: OrderedDict[str, DatasetItem] = OrderedDict()

    def add_item(
        self,
        item: DatasetItem,
        question: JsonRecord | None = None,
        answer: JsonRecord | None = None,
    ) -> None:
        """Add an item. With the positions of its records, it can be unloaded and loaded again."""
        self.add_unloaded_item(item.id, question, answer)
        self._loaded[item.id] = item

    def add_unloaded_item(
        self, item_id: str, question: JsonRecord | None, answer: JsonRecord | None
    ) -> None:
        """Add an item that is loaded from its question and answer records when it is used."""
        self._numbers[item_id] = len(self._numbers)
        self._append_position(question)
        self._append_position(answer)
        # A small dataset is kept in memory as a whole.
        is_large = len(self._numbers) > MAX_LOADED_ITEMS
        if is_large:
            self._unload_oldest_items()

    def _append_position(self, record: JsonRecord | None) -> None:
        if record is None:
            self._positions.extend(_NO_POSITION)
        else:
            self._positions.extend((record.line, record.offset, record.length))

    def __getitem__(self, item_id: str) -> DatasetItem:
        item = self._loaded.get(item_id)
        if item is None:
            item = self._loaded[item_id] = self._load_item(item_id, with_answer=True)
            self._unload_oldest_items()
        return item

    def read_question_turns(self, item_id: str) -> Turns | None:
        """Return the turns of an item without loading the rest of it; None if it does not exist."""
        item = self._loaded.get(item_id)
        try:
            return (item or self._load_item(item_id, with_answer=False)).turns
        except KeyError:
            return None

    def _load_item(self, item_id: str, *, with_answer: bool) -> DatasetItem:
        """Load an item from its files. Raises KeyError if that is not possible."""
        question_index = POSITIONS_PER_ITEM * self._numbers[item_id]
        answer_index = question_index + len(_NO_POSITION)
        question = self._get_unread_record(question_index)
        answer = self._get_unread_record(answer_index)
        if self._reload_item is None or question is None:
            raise KeyError(item_id)
        return self._reload_item(item_id, question, answer if with_answer else None)

    def _get_unread_record(self, index: int) -> JsonRecord | None:
        """Return the record whose position begins at `index`, without its value."""
        line, offset, length = self._positions[index : index + len(_NO_POSITION)]
        if line == _NO_POSITION[0]:
            return None
        return JsonRecord(line, offset=offset, length=length, value=None)

    def _unload_oldest_items(self) -> None:
        limit = min(LOADED_ITEMS_OF_LARGE_DATASET, MAX_LOADED_ITEMS)
        while self._reload_item is not None and len(self._loaded) > limit:
            self._loaded.popitem(last=False)

    def __iter__(self) -> Iterator[str]:
        return iter(self._numbers)

    def __len__(self) -> int:
        return len(self._numbers)

    def __contains__(self, item_id: object) -> bool:
        return item_id in self._numbers


_REPEAT_SUFFIX = re.compile(r"[_ ]\d+\Z")


def parse_golden_calls(
    ground_truth: Any, category: str, functions: Sequence[dict[str, Any]]
) -> list[Call]:
    """Convert a golden answer, the field `ground_truth` of any BFCL version, to golden calls.

    The field is one of: a call as text; an object of calls (V1); a list of lists of calls, one for
    each turn; a list of calls as objects or as texts. Answers of agentic categories contain no
    calls.
    """
    if "memory" in category or "web_search" in category:
        return []
    if isinstance(ground_truth, str):
        return _number_calls(_parse_golden_call_texts([ground_truth], functions), turn=0)
    if isinstance(ground_truth, dict):
        return _number_calls(_parse_v1_golden_calls(ground_truth, functions), turn=0)
    if not isinstance(ground_truth, list):
        return []

    # Only multi-turn answers are lists of lists.
    has_turns = ground_truth and all(isinstance(turn, list) for turn in ground_truth)
    if has_turns:
        return _parse_golden_turns(ground_truth, functions)
    calls = _parse_golden_call_objects(ground_truth)
    if not calls:
        calls = _parse_golden_call_texts(ground_truth, functions)
    return _number_calls(calls, turn=0)


def _number_calls(calls: list[Call], *, turn: int) -> list[Call]:
    """Number the calls of a turn, and return them."""
    for index, call in enumerate(calls):
        call.turn = turn
        call.index = index
    return calls


def _parse_v1_golden_calls(
    arguments_by_name: dict[str, Any], functions: Sequence[dict[str, Any]]
) -> list[Call]:
    """Convert the golden calls of V1, an object `{name: {parameter: [accepted values]}}`.

    A repeated function has a number behind its name, such as `name_2`, which is removed.
    """
    declared_names = function_names(functions)
    return [
        _make_golden_call(strip_repeat_suffix(name, declared_names), arguments)
        for name, arguments in arguments_by_name.items()
    ]


def _parse_golden_turns(turns: list[list[Any]], functions: Sequence[dict[str, Any]]) -> list[Call]:
    """Parse `[["f(a=1)"], []]`, with one list for each turn."""
    calls: list[Call] = []
    for turn, texts in enumerate(turns):
        calls += _number_calls(_parse_golden_call_texts(texts, functions), turn=turn)
    return calls


def _parse_golden_call_objects(ground_truth: list[Any]) -> list[Call]:
    """Parse `[{name: {parameter: [values]}}]`."""
    calls = []
    for element in ground_truth:
        if isinstance(element, dict):
            calls += [_make_golden_call(name, arguments) for name, arguments in element.items()]
    return calls


def strip_repeat_suffix(name: str, declared_names: set[Any]) -> str:
    """Remove the suffix `_1`, `_2` (or ` 1`, ` 2`) of V1's repeated functions, if the rest is a
    declared function.
    """
    if name in declared_names:
        return name
    stripped = _REPEAT_SUFFIX.sub("", name)
    return stripped if stripped in declared_names else name


def _make_golden_call(name: str, arguments: Any) -> Call:
    """Return a golden call. Each argument has a list of accepted values."""
    if not isinstance(arguments, dict):
        return Call(
            "golden",
            str(name),
            arguments=None,
            raw=json.dumps({name: arguments}, ensure_ascii=False, default=str),
            decode_error="the golden answer has no arguments object",
        )
    accepted = {key: parse_accepted_values(values) for key, values in arguments.items()}
    return Call("golden", str(name), arguments=accepted)


def _parse_golden_call_texts(texts: list[Any], functions: Sequence[dict[str, Any]]) -> list[Call]:
    return [_parse_golden_call_text(text, functions) for text in texts]


def _parse_golden_call_text(text: Any, functions: Sequence[dict[str, Any]]) -> Call:
    """Parse a golden call that is written as Python, such as `f(a=1)`. Text that is no call becomes
    a call with an error.
    """
    parsed = None
    if isinstance(text, str):
        parsed = parse_call_text(text, functions)
    if parsed is None:
        return Call(
            "golden",
            "",
            arguments=None,
            raw=str(text),
            decode_error="the text is not a function call",
        )
    name, arguments = parsed
    accepted = {str(key): AcceptedValues([value]) for key, value in arguments.items()}
    return Call("golden", name, arguments=accepted, raw=text)


def parse_accepted_values(alternatives: Any) -> AcceptedValues:
    """Parse a list of accepted values. The value `""` in it means that the argument is optional."""
    # V1 has objects directly in objects.
    if isinstance(alternatives, dict):
        return AcceptedValues([_parse_accepted_value(alternatives)])
    if not isinstance(alternatives, list):
        return AcceptedValues([alternatives])
    values = [_parse_accepted_value(value) for value in alternatives if value != ""]
    return AcceptedValues(values, optional="" in alternatives)


def _parse_accepted_value(value: Any) -> Any:
    """Convert the objects in a value, at any depth, to golden objects."""
    if isinstance(value, dict):
        return GoldenObject({key: parse_accepted_values(field) for key, field in value.items()})
    if isinstance(value, list):
        return [_parse_accepted_value(element) for element in value]
    return value


_FUNCTION_DOC_FILES = {
    "TwitterAPI": "posting_api",
    "TravelAPI": "travel_booking",
    "TradingBot": "trading_bot",
    "VehicleControlAPI": "vehicle_control",
    "GorillaFileSystem": "gorilla_file_system",
    "MessageAPI": "message_api",
    "TicketAPI": "ticket_api",
    "MathAPI": "math_api",
    "WebSearchAPI": "web_search",
}
"""API class -> name of the file in `multi_turn_func_doc/`.

The file of MemoryAPI has the name of the backend.
"""
_FIELDS_WITH_ATTRIBUTES = frozenset({"id", "question", "function", "ground_truth"})
"""Fields of records that `DatasetItem` has an attribute for. All other fields go to `extra`."""


@dataclass(frozen=True, slots=True)
class DatasetFiles:
    questions: Path
    answers: Path | None = None
    function_docs: Path | None = None
    others: tuple[DatasetFiles, ...] = ()
    """Files of the category in other folders that the user named, with further records."""

    @property
    def expected_answers(self) -> Path:
        """Place of the answer file in an official dataset."""
        return self.questions.parent / "possible_answer" / self.questions.name

    @property
    def has_answers_elsewhere(self) -> bool:
        """Whether the golden answers are not beside the questions."""
        return self.answers is not None and self.answers.parent.parent != self.questions.parent

    @property
    def record_paths(self) -> list[Path]:
        """Paths of the question file and, if it exists, the answer file, then those of `others`."""
        paths = [path for path in (self.questions, self.answers) if path is not None]
        for files in self.others:
            paths += files.record_paths
        return paths


@dataclass(slots=True)
class Dataset:
    items: DatasetItems = field(default_factory=DatasetItems)
    issues: list[ImportIssue] = field(default_factory=list)
    """Issues of the files. Loading items of a large dataset may add more."""
    repeated_ids: dict[str, list[str]] = field(default_factory=dict)
    """Record id that occurs more than once -> ids of its items in order, `[id, "id#2"]`."""
    ids_by_question: dict[tuple[str, ...] | None, list[str]] | None = None
    """Index of `joining.find_items_with_question`, which builds it on first use."""


MAX_CACHED_ITEMS = 20_000
"""If the cached datasets have more distinct items than this, the cache keeps only
`MIN_CACHED_DATASETS` datasets.
"""
MIN_CACHED_DATASETS = 64
_cached_datasets: OrderedDict[tuple[Any, ...], Dataset] = OrderedDict()
"""(dataset files, category, file stamps) -> dataset, in order of last use. See `file_stamp`."""
_shared_items: WeakValueDictionary[tuple[Any, ...], DatasetItem] = WeakValueDictionary()
"""Items in memory by file name, category, item id and content, because versions of a dataset
have many equal items.
"""
_shared_function_docs: WeakValueDictionary[bytes, SharedList[dict[str, Any]]] = (
    WeakValueDictionary()
)


def load_dataset(files: DatasetFiles, category: str) -> Dataset:
    """Load the dataset of a category, or return it from the cache if its files have not changed."""
    key = (files, category, *(file_stamp(path) for path in files.record_paths))
    dataset = _cached_datasets.pop(key, None) or _load_files(files, category)
    # Inserted at the end, so that the datasets at the start are those that were not used longest.
    _cached_datasets[key] = dataset
    # An item is in `_shared_items` as long as a dataset has it, so dropping datasets removes items.
    while len(_cached_datasets) > MIN_CACHED_DATASETS and len(_shared_items) > MAX_CACHED_ITEMS:
        _cached_datasets.popitem(last=False)
    return dataset


def _load_files(files: DatasetFiles, category: str) -> Dataset:
    dataset = _DatasetLoader(files, category).load()
    for other in files.others:
        dataset = _combine_datasets(dataset, load_dataset(other, category), files, other)
    return dataset


def _combine_datasets(
    first: Dataset, second: Dataset, first_files: DatasetFiles, second_files: DatasetFiles
) -> Dataset:
    """Return a dataset with the records of two datasets of one category.

    If both have a record of the same id, the first one is used, and an issue names both folders if
    the records differ. Very large datasets are not combined.
    """
    path = str(second_files.questions)
    first_folder = first_files.questions.parent
    folders = f"{first_folder} and {second_files.questions.parent}"
    if len(first.items) + len(second.items) > MAX_LOADED_ITEMS:
        what = f"the datasets in {folders} are too large to combine. Using {first_folder}"
        issues = [*first.issues, ImportIssue(path, what=what)]
        return Dataset(first.items, issues=issues, repeated_ids=first.repeated_ids)

    combined = _merge_two_datasets(first, second)
    different_ids = _list_ids_with_different_records(first, second)
    if different_ids:
        count = format_count(len(different_ids), "id")
        what = (
            f"{count} with different records in {folders}, such as {different_ids[0]}. Using those"
            f" in {first_folder}"
        )
        combined.issues.append(ImportIssue(path, what=what))
    return combined


def _merge_two_datasets(first: Dataset, second: Dataset) -> Dataset:
    merged = Dataset(
        issues=first.issues + second.issues,
        repeated_ids=second.repeated_ids | first.repeated_ids,
    )
    for item in _combine_items(first, second).values():
        merged.items.add_item(item)
    return merged


def _combine_items(first: Dataset, second: Dataset) -> dict[str, DatasetItem]:
    """Return the items of both by id. An item of `second` replaces one without golden answer."""
    items = dict(first.items)
    for item_id, item in second.items.items():
        known = items.get(item_id)
        if known is None or _lacks_only_answer(known, item):
            items[item_id] = item
    return items


def _list_ids_with_different_records(first: Dataset, second: Dataset) -> list[str]:
    """Return the ids that both datasets have, with different content."""
    different_ids = []
    for item_id, item in second.items.items():
        known = first.items.get(item_id)
        # A record without its golden answer contradicts nothing.
        if known is None or _lacks_only_answer(known, item):
            continue
        if not _has_same_content(known, item):
            different_ids.append(item_id)
    return different_ids


def _has_same_content(item: DatasetItem, other: DatasetItem) -> bool:
    return _has_same_question(item, other) and bool(item.ground_truth == other.ground_truth)


def _lacks_only_answer(item: DatasetItem, other: DatasetItem) -> bool:
    """Whether `other` is the same question with a golden answer, which `item` does not have."""
    has_new_answer = item.ground_truth is None and other.ground_truth is not None
    return has_new_answer and _has_same_question(item, other)


def _has_same_question(item: DatasetItem, other: DatasetItem) -> bool:
    if item is other:
        return True
    return item.turns == other.turns and list(item.functions) == list(other.functions)


def _hash_content(*values: Any) -> bytes:
    """Return a digest that is equal only for JSON values of equal content and types."""
    try:
        text = orjson.dumps(values)
    except TypeError:
        text = b"null"
    # orjson also writes NaN as null, which must differ.
    if b"null" in text:
        text = repr(values).encode("utf-8", "surrogatepass")
    return blake2b(text, digest_size=16).digest()


class _DatasetLoader:
    """Loads the dataset of a category, and later single items of a large dataset that are no longer
    in memory.

    The loader has no reference to the items, because a cycle would keep them in memory after the
    cache has dropped the dataset.
    """

    def __init__(self, files: DatasetFiles, category: str) -> None:
        self._files = files
        self._category = category
        self._issues: list[ImportIssue] = []
        """Issues of the dataset. Reloading items may add more."""
        self._reported_ids: set[str] = set()

    def load(self) -> Dataset:
        """Load the questions with their golden answers.

        Records that cannot be read become issues.
        """
        dataset = Dataset(DatasetItems(self._reload_item), self._issues)
        answers = _read_answer_file(self._files.answers)
        self._issues += answers.issues
        number = 0
        for question in _read_object_records(self._files.questions):
            if isinstance(question, ImportIssue):
                self._issues.append(question)
                continue
            self._add_item(dataset, question, number, answers)
            number += 1
        self._issues += self._find_differing_answers(dataset, answers)
        return dataset

    def _add_item(
        self, dataset: Dataset, question: JsonRecord, number: int, answers: AnswerRecords
    ) -> None:
        """Add the item of a question record to a dataset, with its golden answer.

        `number` counts the question records from 0. It identifies a question without an id.
        """
        stated_id = question.value.get("id")
        record_id = stated_id if isinstance(stated_id, str) else f"{self._category}_{number}"

        # Some datasets have several questions with one id. Their golden answers come in the same
        # order.
        n_earlier = _count_items_with_id(dataset, record_id)
        item_id = record_id
        if n_earlier:
            item_id = self._add_repeated_id(dataset, record_id, n_earlier)
        answer = answers.find_answer(record_id, number, n_earlier=n_earlier)

        # Items beyond the limit are loaded when they are needed.
        if len(dataset.items) >= MAX_LOADED_ITEMS:
            dataset.items.add_unloaded_item(item_id, question, answer)
            return
        item = self._make_shared_item(item_id, question, answer)
        if item is not None:
            dataset.items.add_item(item, question, answer)

    def _find_differing_answers(
        self, dataset: Dataset, answers: AnswerRecords
    ) -> Iterator[ImportIssue]:
        """Yield an issue for each id that has more golden answers than questions, unless the
        surplus answers repeat the one that is used.
        """
        for record_id, indexes in answers.indexes_by_id.items():
            n_questions = len(dataset.repeated_ids.get(record_id, [record_id]))
            records = [answers.records[index] for index in indexes]
            surplus_records = records[n_questions:]
            if not surplus_records:
                continue
            # A file that repeats an id usually repeats one answer, be it of several questions.
            used_answer = self._read_answer_value(records[0])
            if all(self._read_answer_value(record) == used_answer for record in surplus_records):
                continue

            what = (
                f"{record_id} has {len(records)} golden answers with different content. The first"
                " one is used"
            )
            line = surplus_records[0].line
            yield ImportIssue(str(self._files.answers), line, what=what, item=record_id)

    def _read_answer_value(self, record: JsonRecord) -> Any:
        if record.value is None and self._files.answers is not None:
            return reread_value(self._files.answers, record)
        return record.value

    def _add_repeated_id(self, dataset: Dataset, record_id: str, n_earlier: int) -> str:
        """Add an item id for a record whose id earlier records have, and report it.

        `n_earlier` is the number of items with this id.
        """
        item_id = make_repeated_id(record_id, n_earlier)
        dataset.repeated_ids.setdefault(record_id, [record_id]).append(item_id)
        what = (
            f"{record_id} is in the dataset more than once. The later record is imported as"
            f" {item_id}"
        )
        self._issues.append(ImportIssue(str(self._files.questions), what=what, item=item_id))
        return item_id

    def _make_shared_item(
        self, item_id: str, question: JsonRecord, answer: JsonRecord | None
    ) -> DatasetItem | None:
        """Make an item, or return the equal item in memory.

        Returns None and adds an issue if the records are malformed.
        """
        answer_value = answer.value if answer is not None else None
        try:
            return self._find_or_make_item(item_id, question.value, answer_value)
        except MALFORMED_DATA as error:
            self._report_malformed_record(item_id, error)
            return None

    def _find_or_make_item(
        self, item_id: str, question: dict[str, Any], answer: dict[str, Any] | None
    ) -> DatasetItem:
        """Return the item of a question. Several runs use the same dataset, so items with the same
        content are made once and shared.
        """
        classes = question.get("involved_classes")
        functions = _load_class_function_docs(self._files.function_docs, classes, self._category)
        content = _hash_content(question, answer)
        # The item refers to `functions`, so that `id` stays unique.
        key = (self._files.questions.name, self._category, item_id, content, id(functions))
        item = _shared_items.get(key)
        if item is None:
            item = make_dataset_item(item_id, self._category, question, answer, functions)
            _shared_items[key] = item
        return item

    def _report_malformed_record(self, item_id: str, error: Exception) -> None:
        """Add an issue for an item, only once even if the item is loaded again."""
        if item_id in self._reported_ids:
            return
        self._reported_ids.add(item_id)
        what = (
            f"the dataset record {item_id} could not be interpreted: {type(error).__name__}:"
            f" {error}"
        )
        self._issues.append(
            ImportIssue(str(self._files.questions), what=what, item=item_id, severity="error")
        )

    def _reload_item(
        self, item_id: str, question: JsonRecord, answer: JsonRecord | None
    ) -> DatasetItem:
        """Load an item whose records were too many to keep, from their positions in the files.

        Raises KeyError if the records have changed since, or are malformed.
        """
        question.value = reread_value(self._files.questions, question)
        if not isinstance(question.value, dict):
            raise KeyError(item_id)
        if answer is not None:
            if self._files.answers is not None:
                answer.value = reread_value(self._files.answers, answer)
            if not isinstance(answer.value, dict):
                raise KeyError(item_id)

        item = self._make_shared_item(item_id, question, answer)
        if item is None:
            raise KeyError(item_id)
        return item


@dataclass(slots=True)
class AnswerRecords:
    """The records of an answer file."""

    records: list[JsonRecord] = field(default_factory=list)
    """Only the first `MAX_LOADED_ITEMS` records have values."""
    indexes_by_id: dict[str, tuple[int, ...]] = field(default_factory=dict)
    """Record id -> indexes in `records`."""
    issues: list[ImportIssue] = field(default_factory=list)

    def find_answer(self, record_id: str, number: int, *, n_earlier: int) -> JsonRecord | None:
        """Return the golden answer of a question; None if the file has none.

        Args:
            record_id: id of the question record.
            number: position of the question in its file; the first is 0. It is used if the answers
                have no ids.
            n_earlier: number of earlier questions with the same id. The n-th question gets the n-th
                answer with this id. If there are fewer answers than questions, the last answer is
                used for the rest.
        """
        indexes = self.indexes_by_id.get(record_id)
        if indexes:
            last = len(indexes) - 1
            index = indexes[min(n_earlier, last)]
            return self.records[index]

        are_without_ids = not self.indexes_by_id
        if are_without_ids and number < len(self.records):
            return self.records[number]
        return None


def _read_answer_file(path: Path | None) -> AnswerRecords:
    """Read the records of an answer file, and note which of them belong to each id."""
    answers = AnswerRecords()
    if path is None:
        return answers
    for record in _read_object_records(path):
        if isinstance(record, ImportIssue):
            answers.issues.append(record)
            continue

        index = len(answers.records)
        record_id = record.value.get("id")
        if isinstance(record_id, str):
            # Ids can repeat, so an id has a list of records.
            earlier_indexes = answers.indexes_by_id.get(record_id, ())
            answers.indexes_by_id[record_id] = (*earlier_indexes, index)

        # The values of a very large file do not fit in memory. The position in the record is
        # enough to read such a value again when its item is used.
        if index >= MAX_LOADED_ITEMS:
            record = replace(record, value=None)
        answers.records.append(record)
    return answers


def _read_object_records(path: Path) -> Iterator[JsonRecord | ImportIssue]:
    """Yield the records that are objects, and an issue for each other line."""
    for record in read_records(path):
        if isinstance(record, ImportIssue) or isinstance(record.value, dict):
            yield record
        else:
            yield ImportIssue(str(path), record.line, what="a dataset record is not an object")


def make_dataset_item(
    item_id: str,
    category: str,
    question: dict[str, Any],
    answer: dict[str, Any] | None = None,
    functions: list[dict[str, Any]] | None = None,
) -> DatasetItem:
    """Make a dataset item from its records, in the form of any BFCL version.

    Args:
        item_id: Id of the item.
        category: Category of the item.
        question: The record in the question file.
        answer: The record in the file of golden answers, if there is one.
        functions: Function docs that replace those in the question record.
    """
    record = question
    if category == "rest":
        # Questions of this category contain the API keys of the services that they call.
        record = redact_third_party_keys(question)
    available_functions = functions
    if available_functions is None:
        available_functions = SharedList(read_function_docs(record.get("function")))

    turns = parse_turns(record.get("question"))
    golden = _read_golden_answer(record, answer)
    item = DatasetItem(
        item_id,
        category=category,
        turns=turns,
        functions=available_functions,
        ground_truth=golden.ground_truth,
        question=_first_question(turns),
        extra=_select_other_fields(record) | golden.other_fields,
    )

    # In these categories, the golden answer is a text and not calls.
    if not category.startswith(("memory", "web_search")):
        golden_calls = parse_golden_calls(golden.ground_truth, category, available_functions)
        item.golden_calls = SharedList(golden_calls)
    if golden.ground_truth is not None:
        item.golden_hash = answer_hash(golden.ground_truth)
    item.opening_messages = SharedList(make_opening_messages(item))
    return item


@dataclass(frozen=True, slots=True)
class _GoldenAnswer:
    ground_truth: Any
    other_fields: dict[str, Any] = field(default_factory=dict)
    """Fields of the answer record that are no part of the golden answer."""


def _read_golden_answer(question: dict[str, Any], answer: dict[str, Any] | None) -> _GoldenAnswer:
    """Return the golden answer of a question. Where it stands depends on the version of the
    benchmark.
    """
    if answer is None:
        # Executable categories have the golden answer in the question record.
        return _GoldenAnswer(question.get("ground_truth"))
    if "ground_truth" in answer:
        return _GoldenAnswer(answer["ground_truth"], _select_other_fields(answer))
    early_answer = _read_early_v1_answer(answer)
    if early_answer is None:
        return _GoldenAnswer(None, _select_other_fields(answer))
    # The record itself is the golden answer, so all its fields belong to it.
    return _GoldenAnswer(early_answer)


def _read_early_v1_answer(answer: dict[str, Any]) -> dict[str, Any] | None:
    """Return the golden answer in a V1 answer record from before 2024-07-24.

    None if the record has another form.
    """
    calls = {name: values for name, values in answer.items() if name not in ("id", "idx")}
    if not calls or not all(isinstance(values, dict) for values in calls.values()):
        return None
    return calls


def _select_other_fields(record: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a record that `DatasetItem` has no attribute for."""
    return {key: value for key, value in record.items() if key not in _FIELDS_WITH_ATTRIBUTES}


def _count_items_with_id(dataset: Dataset, record_id: str) -> int:
    """Return the number of items of a dataset whose records have this id."""
    if record_id not in dataset.items:
        return 0
    return len(dataset.repeated_ids.get(record_id, [record_id]))


def make_repeated_id(record_id: str, n_earlier: int) -> str:
    """Return the item id of a record, given the number of earlier records with its id: `id`,
    `id#2`, `id#3`.
    """
    return record_id if n_earlier == 0 else f"{record_id}#{n_earlier + 1}"


def parse_turns(question: Any) -> Turns:
    """Return `question` as turns of messages.

    V1 has text, V2 a list of messages, V3 and V4 a list of turns.
    """
    if isinstance(question, str):
        return [[{"role": "user", "content": question}]]
    if not isinstance(question, list):
        return []
    if question and all(isinstance(message, dict) for message in question):
        return [question]
    return [list_objects(turn) for turn in question if isinstance(turn, list)]


def make_opening_messages(item: DatasetItem) -> list[Message]:
    """Return the messages that start each turn.

    A turn without messages gets a log message about new functions.
    """
    messages = []
    for number, turn in enumerate(item.turns):
        for message in turn:
            role = normalise_role(message.get("role"))
            content = convert_content_to_text(message.get("content"))
            messages.append(Message(turn=number, step=-1, role=role, content=content))
        if not turn:
            content = _describe_new_functions(item, number)
            messages.append(Message(turn=number, step=-1, role="log", content=content))
    return messages


def _describe_new_functions(item: DatasetItem, turn: int) -> str:
    """Return the text for a turn without a user message, in which functions become available."""
    withheld = item.extra.get("missed_function")
    functions = withheld.get(str(turn)) if isinstance(withheld, dict) else None
    names = []
    for function in functions or []:
        # Score entries have the function docs instead of the names.
        names.append(function["name"] if isinstance(function, dict) else str(function))
    if not names:
        return "this turn has no user message"
    return f"functions available from this turn: {', '.join(names)}"


def normalise_role(role: Any) -> Any:
    """Return the role of a message.

    OpenAI's `developer` becomes `system`, any unknown role `log`.
    """
    if role in ("user", "assistant", "system", "tool"):
        return role
    return "system" if role == "developer" else "log"


def convert_content_to_text(content: Any) -> str:
    """Return the content of a message as text.

    The texts of a list of parts are joined. Other values become JSON.
    """
    if isinstance(content, str):
        return content
    if content is None:
        return ""
    if isinstance(content, list) and content and all(map(_is_text_part, content)):
        return "\n".join(str(part["text"]) for part in content)
    return to_json_text(content)


def _is_text_part(part: Any) -> bool:
    return isinstance(part, dict) and "text" in part


def to_json_text(value: Any) -> str:
    """Return a value as JSON. Values that JSON cannot represent become text."""
    try:
        return orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS).decode()
    except TypeError:
        return orjson.dumps(to_plain_json(value)).decode()


def _first_question(turns: Turns) -> str:
    """Return the last user message of the first turn that has one, shortened."""
    for turn in turns:
        for message in reversed(turn):
            if message.get("role") == "user" and message.get("content"):
                return shorten_question(convert_content_to_text(message["content"]))
    return shorten_question("")


def _load_class_function_docs(
    folder: Path | None, classes: Any, category: str
) -> list[dict[str, Any]] | None:
    """Load the function docs of API classes; None if `classes` is not a list."""
    if not isinstance(classes, list):
        return None
    if folder is None:
        return []
    stems = []
    for name in classes:
        stem = _FUNCTION_DOC_FILES.get(str(name), "")
        # The backend of the memory is the category.
        if name == "MemoryAPI":
            stem = category
        if stem:
            stems.append(stem)
    return _load_function_docs(folder, tuple(stems))


@lru_cache(maxsize=1024)
def _load_function_docs(folder: Path, file_stems: tuple[str, ...]) -> list[dict[str, Any]]:
    """Load function docs from JSON Lines files.

    All items with equal function docs share one list.
    """
    docs: list[dict[str, Any]] = []
    for stem in file_stems:
        docs += _load_function_file(folder / f"{stem}.json")
    return _shared_function_docs.setdefault(_hash_content(docs), SharedList(docs))


@lru_cache(maxsize=32)
def _load_function_file(path: Path) -> list[dict[str, Any]]:
    return list_objects(
        [record.value for record in read_records(path) if isinstance(record, JsonRecord)]
    )


def merge_datasets(datasets: Iterable[Dataset]) -> Dataset:
    """Merge datasets of several categories, because format sensitivity uses items of several
    categories.
    """
    merged = Dataset()
    for dataset in datasets:
        for item in dataset.items.values():
            merged.items.add_item(item)
        merged.issues.extend(dataset.issues)
    return merged
