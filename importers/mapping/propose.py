"""Propose a mapping file from the first records of a file, by the names and forms of its fields."""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

from fcreview.importers.common.records import as_list, as_object, is_number, list_objects
from fcreview.importers.dialects.detection import detect_dialects, is_message_list
from fcreview.importers.mapping.expressions import compile_expression
from fcreview.importers.mapping.files import (
    FORMAT_BY_SUFFIX,
    MappedRecord,
    find_format,
    list_files,
    read_mapped_records,
)
from fcreview.importers.mapping.joins import load_joins
from fcreview.importers.mapping.mapping_file import (
    DEFAULT_FAIL,
    DEFAULT_PASS,
    ITEM_KEYS,
    Encoding,
    FilePattern,
    ItemMapping,
    normalize_verdict_text,
    read_mapping_tables,
)
from fcreview.importers.mapping.read import MappingReader
from fcreview.importers.mapping.tables import TABLE_FORMATS, find_missing_form, write_delimiter
from fcreview.model.item import ImportIssue, Item

N_RECORDS = 50
N_SHOWN_ITEMS = 3
MAX_DEPTH = 3
MAX_FIELDS = 400
MAX_METADATA_FIELDS = 12
MAX_JSON_TEXT = 4 << 20
SUFFIXES = (".json", *FORMAT_BY_SUFFIX)
_PLAIN_FIELD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

NAMES: Mapping[str, tuple[str, ...]] = {
    "id": (
        "id",
        "task_id",
        "item_id",
        "question_id",
        "sample_id",
        "case_id",
        "instance_id",
        "problem_id",
        "uid",
        "uuid",
        "task",
        "name",
    ),
    "trial": ("trial", "trial_id", "attempt", "epoch", "repeat", "repetition", "iteration"),
    "model": ("model", "model_name", "model_id", "system", "llm", "agent"),
    "category": ("category", "task_type", "domain", "service", "split", "subset", "lang"),
    "question": ("question", "prompt", "query", "instruction", "task_description"),
    "response": ("response", "final_answer", "final_response", "answer", "output"),
    "calls": ("calls", "tool_calls", "predicted", "predicted_calls", "function_calls"),
    "golden": (
        "golden",
        "expected",
        "expected_calls",
        "ground_truth",
        "gold",
        "gold_answer",
        "reference",
        "target",
        "gtfa",
    ),
    "tools": ("tools", "functions", "available_tools", "enabled_tools", "function_docs"),
    "verdict": (
        "passed",
        "pass",
        "success",
        "correct",
        "is_correct",
        "resolved",
        "solved",
        "valid",
        "verdict",
        "task_success",
        "result",
        "status",
    ),
    "score": ("score", "reward", "final_score", "coverage_score"),
    "error": ("error", "error_message", "exception"),
    "time": ("time", "timestamp", "created_at", "start_time"),
}
"""Names of fields that often hold a value, by key, the most telling first. Case does not count."""
MESSAGE_NAMES = (
    "messages",
    "dialog",
    "conversation",
    "conversation_history",
    "raw_conversation_history",
    "history",
    "trajectory",
    "trace",
)
CALL_NAME_FIELDS = ("name", "fn", "function", "function_name", "tool", "tool_name", "action")
CALL_ARGUMENT_FIELDS = ("arguments", "args", "parameters", "params", "kwargs", "input")
PASS_WORDS = ("pass", "passed", "success", "correct", "true", "yes", "ok", "solved", "right", "1")
FAIL_WORDS = ("fail", "failed", "failure", "incorrect", "false", "no", "wrong", "ko", "0")
JUDGE_WORDS = ("judge", "grader", "evaluator", "llm_eval")
HUMAN_WORDS = ("human", "reviewer", "annotator", "annotation")
OPINION_VERDICT_FIELDS = ("verdict", "label", "ok", "passed", "correct", "judgement", "judgment")
OPINION_NAME_FIELDS = ("model", "name", "who", "annotator", "judge")
TOOL_FIELDS = frozenset({"function", "parameters", "input_schema"})
"""Fields of which each declaration of a tool has at least one."""
OPINION_REASON_FIELDS = ("rationale", "reason", "why", "explanation", "note", "comment")


@dataclass(frozen=True, slots=True)
class Proposal:
    """A proposed mapping file, and the first items as it reads them."""

    text: str
    items: list[Item]
    issues: list[ImportIssue] = field(default_factory=list)


@dataclass(slots=True)
class _Field:
    """A field of the records, at any depth, with the values of the first records."""

    path: tuple[str, ...]
    values: list[Any] = field(default_factory=list)
    is_json_text: bool = False
    """Whether the values are JSON texts. `values` are then what they hold."""

    @property
    def name(self) -> str:
        return self.path[-1].lower()

    @property
    def expression(self) -> str:
        return ".".join(_quote_field(name) for name in self.path)


def _quote_field(name: str) -> str:
    return name if _PLAIN_FIELD.fullmatch(name) else json.dumps(name)


def propose_mapping(path: Path, base: Path) -> Proposal | None:
    """Propose a mapping for a file, or for a folder with one file for each item.

    `base` is the folder of the mapping file. Returns None without records that are objects.
    """
    source = _propose_source(path, base)
    if source is None:
        return None
    records = _read_first_records(source, base)
    if not records:
        return None

    fields = _collect_fields([record.value for record in records])
    choices = _choose_values(fields, source)
    if source.items:
        _choose_document_values(choices, records[0].document)
    choices.item.setdefault("id", _propose_id_without_field(source))

    lines = _write_mapping(source, choices)
    text = "\n".join(lines) + "\n"
    mapping = read_mapping_tables(base / "fcreview-map.toml", tomllib.loads(text)).mapping
    if mapping is None:
        return None
    return _read_shown_items(mapping, records, base, text)


def _read_shown_items(
    mapping: ItemMapping, records: Sequence[MappedRecord], base: Path, text: str
) -> Proposal:
    """Read the first items by a proposed mapping, so that the user sees what it does."""
    proposal = Proposal(text, [])
    reader = MappingReader(mapping, load_joins(mapping, base))
    for record in records[:N_SHOWN_ITEMS]:
        for reading in reader.read_record(record):
            if isinstance(reading, Item):
                proposal.items.append(reading)
            else:
                proposal.issues.append(reading)
    return proposal


# -- the records


@dataclass(frozen=True, slots=True)
class _ProposedSource:
    glob: str
    items: str = ""
    entries: bool = False
    delimiter: str | None = None
    encoding: Encoding | None = None

    def as_pattern(self) -> FilePattern:
        """Return the source in the form in which mapping files name files."""
        items = compile_expression(self.items) if self.items else None
        return FilePattern(
            (self.glob,),
            items=items,
            entries=self.entries,
            delimiter=self.delimiter,
            encoding=self.encoding,
        )


def _propose_source(path: Path, base: Path) -> _ProposedSource | None:
    """Return the files, and the list of items in each of them."""
    relative = Path(os.path.relpath(path, base)).as_posix()
    if not path.is_dir():
        return _find_items(_ProposedSource(_escape_glob(relative)), path)
    prefix = "" if relative == "." else f"{_escape_glob(relative)}/"
    for suffix in SUFFIXES:
        first = next(path.rglob(f"*{suffix}"), None)
        if first is not None:
            return _find_items(_ProposedSource(f"{prefix}**/*{suffix}"), first)
    return None


def _escape_glob(path: str) -> str:
    return re.sub(r"([*?\[])", r"[\1]", path)


def _find_items(source: _ProposedSource, path: Path) -> _ProposedSource:
    """Find the list of items in a document that is an object, or the form of a table."""
    format_name = find_format(path, FilePattern(()))
    if format_name in TABLE_FORMATS:
        missing = find_missing_form(path, format_name)
        return replace(source, delimiter=missing.delimiter, encoding=missing.encoding)

    document = as_object(_read_first_value(path))
    has_messages = any(is_message_list(value) for value in document.values())
    # A document with messages is an item itself.
    if has_messages or not _is_document(path):
        return source
    return _find_items_of_document(source, document)


def _find_items_of_document(source: _ProposedSource, document: dict[str, Any]) -> _ProposedSource:
    """Find the items in a document: its only list of objects, or else its only object whose members
    are all alike.
    """
    lists = [name for name, value in document.items() if _is_list_of_items(value)]
    if len(lists) == 1:
        return _ProposedSource(source.glob, items=_quote_field(lists[0]))
    objects = [name for name, value in document.items() if _is_object_of_items(value)]
    if len(objects) == 1:
        return _ProposedSource(source.glob, items=_quote_field(objects[0]), entries=True)
    return source


def _is_list_of_items(value: Any) -> bool:
    return bool(list_objects(value)) and not _is_tool_list(value)


def _is_document(path: Path) -> bool:
    return path.suffix.lower() not in FORMAT_BY_SUFFIX


def _is_tool_list(value: Any) -> bool:
    return any(tool.keys() & TOOL_FIELDS for tool in list_objects(value))


def _is_object_of_items(value: Any) -> bool:
    """Whether a value is an object with several members that are objects with equal fields."""
    members = list(as_object(value).values())
    if len(members) < 2 or not all(isinstance(member, dict) and member for member in members):
        return False
    first, *others = members
    return all(member.keys() == first.keys() for member in others)


def _read_first_value(path: Path) -> Any:
    for reading in read_mapped_records(path, path.parent, FilePattern((path.name,))):
        if isinstance(reading, MappedRecord):
            return reading.value
    return None


def _read_first_records(source: _ProposedSource, base: Path) -> list[MappedRecord]:
    """Return the first objects in the files of a source."""
    # Some readings are problems, or values that are no objects. So more are read than needed.
    records: list[MappedRecord] = []
    for reading in islice(_read_source(source, base), 2 * N_RECORDS):
        if isinstance(reading, MappedRecord) and isinstance(reading.value, dict):
            records.append(reading)
    return records[:N_RECORDS]


def _read_source(source: _ProposedSource, base: Path) -> Iterator[MappedRecord | ImportIssue]:
    pattern = source.as_pattern()
    for path in list_files(base, pattern):
        yield from read_mapped_records(path, base, pattern)


# -- the fields


def _collect_fields(values: Sequence[Any]) -> list[_Field]:
    """Return the fields of records at all depths, the highest first."""
    fields: dict[tuple[str, ...], _Field] = {}
    for value in values:
        for path, part in _walk(value, ()):
            if path in fields or len(fields) < MAX_FIELDS:
                fields.setdefault(path, _Field(path)).values.append(part)
    for each in fields.values():
        _decode_json_texts(each)
    return sorted(fields.values(), key=lambda each: len(each.path))


def _walk(value: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, part in as_object(value).items():
        if part is None:
            continue
        yield (*path, name), part
        if len(path) + 1 < MAX_DEPTH:
            yield from _walk(part, (*path, name))


def _decode_json_texts(field: _Field) -> None:
    """Decode the values of a field if all of them are JSON texts of lists or objects, as cells of a
    table can be. Otherwise, all stay as they are.
    """
    decoded: list[Any] = []
    for value in field.values:
        is_candidate = isinstance(value, str) and value.lstrip()[:1] in ("[", "{")
        if not is_candidate or len(value) > MAX_JSON_TEXT:
            return
        try:
            decoded.append(json.loads(value))
        except (ValueError, RecursionError):
            return
    field.values = decoded
    field.is_json_text = True


# -- which field is what


@dataclass(slots=True)
class _Choices:
    """Chosen places by key, as TOML values."""

    item: dict[str, str] = field(default_factory=dict)
    judge: dict[str, str] = field(default_factory=dict)
    human: dict[str, str] = field(default_factory=dict)
    used: set[tuple[str, ...]] = field(default_factory=set)

    def choose(self, key: str, chosen: _Field, written: str) -> None:
        """Choose a field as a value of the item. `written` is its place as a TOML value."""
        self.item[key] = written
        self.used.add(chosen.path)

    def list_unused(self, fields: Sequence[_Field]) -> list[_Field]:
        return [each for each in fields if each.path not in self.used]


def _choose_values(fields: Sequence[_Field], source: _ProposedSource) -> _Choices:
    """Choose which field of the records is which part of an item.

    Each step adds to the choices, and leaves the fields that earlier steps used.
    """
    choices = _Choices()
    _choose_opinions(choices, fields)
    other_fields = [each for each in fields if not _belongs_to_opinion(each)]
    _choose_messages(choices, other_fields)
    # Parts of messages are no values of the item.
    other_fields = [each for each in other_fields if not _is_used(each, choices)]

    _choose_named_values(choices, other_fields, source)
    _choose_lists(choices, other_fields)
    _choose_verdict(choices, other_fields)
    _choose_metadata(choices, other_fields)
    return choices


def _is_used(field: _Field, choices: _Choices) -> bool:
    """Whether a field or one above it is already chosen."""
    return any(field.path[: len(path)] == path for path in choices.used)


def _belongs_to_opinion(field: _Field) -> bool:
    """Whether the name of a field, or of one above it, contains a word for judges or people."""
    names = "\n".join(field.path).lower()
    return any(word in names for word in (*JUDGE_WORDS, *HUMAN_WORDS))


def _choose_opinions(choices: _Choices, fields: Sequence[_Field]) -> None:
    """Choose a judge and a person: objects with a telling name and a verdict in them."""
    choices.judge = _propose_opinion(fields, JUDGE_WORDS, reason_key="rationale")
    choices.human = _propose_opinion(fields, HUMAN_WORDS, reason_key="note")


def _propose_opinion(
    fields: Sequence[_Field], words: Sequence[str], reason_key: str
) -> dict[str, str]:
    """Return the proposed table for the opinion of a judge or a person, or an empty table.

    It is made from the first object whose name contains one of the words, and that contains a
    verdict. `reason_key` is the key of the explanation in the table.
    """
    for candidate in fields:
        has_word = any(word in candidate.name for word in words)
        if not has_word or not list_objects(candidate.values):
            continue
        members = [member for member in fields if member.path[:-1] == candidate.path]
        if _find_named(members, OPINION_VERDICT_FIELDS) is not None:
            return _write_opinion(candidate, members, reason_key)
    return {}


def _write_opinion(owner: _Field, members: Sequence[_Field], reason_key: str) -> dict[str, str]:
    """Return the table of the opinion in an object, whose members have a verdict."""
    opinion = {"name": _write_opinion_name(owner, members)}
    verdict = _find_named(members, OPINION_VERDICT_FIELDS)
    if verdict is not None:
        opinion["verdict"] = _write_verdict(verdict) or _write_path(verdict)
    reason = _find_named(members, OPINION_REASON_FIELDS)
    if reason is not None:
        opinion[reason_key] = _write_path(reason)
    return opinion


def _write_opinion_name(owner: _Field, members: Sequence[_Field]) -> str:
    """Return the mapping of the name of a judge or person, as TOML text: the path of the field with
    the name or, without one, the name of the opinion's field as a constant.
    """
    name = _find_named(members, OPINION_NAME_FIELDS)
    if name is not None:
        return _write_path(name)
    return f"{{ const = {_write_text(owner.path[-1])} }}"


def _choose_messages(choices: _Choices, fields: Sequence[_Field]) -> None:
    """Choose the list of messages with the most telling name, or else the highest one."""
    lists = [each for each in fields if _holds_messages(each)]
    if not lists:
        return
    best = _find_named(lists, MESSAGE_NAMES) or lists[0]
    dialect, *_ = detect_dialects(best.values[0])
    choices.item["messages"] = _write_table(best, {"dialect": dialect})
    choices.used.add(best.path)


def _holds_messages(field: _Field) -> bool:
    lists = [value for value in field.values if value]
    return bool(lists) and all(is_message_list(value) for value in lists)


def _choose_named_values(
    choices: _Choices, fields: Sequence[_Field], source: _ProposedSource
) -> None:
    """Choose the fields of texts and numbers, such as the model, by the names of the fields.

    Each field is used for one value only. What was chosen before stays.
    """
    if source.entries:
        choices.item["trial"] = "{ entry = true }"
    for key in ("id", "trial", "model", "category", "question", "time", "error"):
        if key in choices.item:
            continue
        unused = [each for each in fields if _is_name_field(each) and each.path not in choices.used]
        chosen = _find_named(unused, NAMES[key])
        if chosen is not None:
            choices.item[key] = _write_path(chosen)
            choices.used.add(chosen.path)
    if "messages" not in choices.item or "golden" not in choices.item:
        _choose_response(choices, fields)


def _choose_document_values(choices: _Choices, document: Any) -> None:
    """Choose values beside the list of items, which all items of a document have in common."""
    fields = [
        _Field((name,), [value])
        for name, value in as_object(document).items()
        if isinstance(value, str | int) and not isinstance(value, bool)
    ]
    for key in ("id", "model", "category"):
        chosen = _find_named(fields, NAMES[key])
        if chosen is not None and key not in choices.item:
            choices.item[key] = f"{{ doc = {_write_path(chosen)} }}"
            fields.remove(chosen)


def _propose_id_without_field(source: _ProposedSource) -> str:
    is_one_item_a_file = not source.items and source.glob.endswith("*.json")
    return '{ file = "stem" }' if is_one_item_a_file else "{ index = true }"


def _choose_response(choices: _Choices, fields: Sequence[_Field]) -> None:
    """Choose the field with the reply of the model, by its name."""
    texts = [each for each in fields if all(isinstance(value, str) for value in each.values)]
    response = _find_named(texts, NAMES["response"])
    if response is not None and response.path not in choices.used:
        choices.item["response"] = _write_path(response)
        choices.used.add(response.path)


def _is_name_field(field: _Field) -> bool:
    return all(
        isinstance(value, str | int) and not isinstance(value, bool) for value in field.values
    )


def _choose_lists(choices: _Choices, fields: Sequence[_Field]) -> None:
    """Choose tools, golden answers and calls by names and forms."""
    lists = [field for field in fields if as_list(field.values[0])]
    tools = _find_named(lists, NAMES["tools"])
    if tools is not None:
        choices.choose("tools", tools, _write_table(tools, {}))

    golden = _find_named(choices.list_unused(fields), NAMES["golden"])
    if golden is not None:
        choices.choose("golden", golden, _write_golden(golden))

    # Messages contain the calls already.
    if "messages" not in choices.item:
        _choose_calls(choices, fields)


def _choose_calls(choices: _Choices, fields: Sequence[_Field]) -> None:
    """Choose the list of calls: one whose elements have the name and the arguments of a call."""
    lists_of_calls = [field for field in choices.list_unused(fields) if _find_call_fields(field)]
    calls = _find_named(lists_of_calls, NAMES["calls"])
    if calls is not None:
        choices.choose("calls", calls, _write_table(calls, _find_call_fields(calls)))


def _write_golden(golden: _Field) -> str:
    if _holds_messages(golden):
        return _write_table(golden, {"kind": "messages"})
    call_fields = _find_call_fields(golden)
    if call_fields:
        return _write_table(golden, {"kind": "calls"} | call_fields)
    return _write_table(golden, {"kind": "text"})


def _find_call_fields(field: _Field) -> dict[str, str]:
    """Return where name and arguments are in the elements of a list of calls; empty if it is
    none.
    """
    elements: list[dict[str, Any]] = []
    for value in field.values:
        elements += list_objects(value)
    call_name = _find_common_field(elements, CALL_NAME_FIELDS)
    call_arguments = _find_common_field(elements, CALL_ARGUMENT_FIELDS)
    if call_name is None or call_arguments is None:
        return {}
    return {"call_name": call_name, "call_arguments": call_arguments}


def _find_common_field(elements: Sequence[dict[str, Any]], names: Sequence[str]) -> str | None:
    """Return the first of the names that all elements have as a field. None without elements."""
    for name in names:
        if elements and all(name in element for element in elements):
            return name
    return None


def _choose_verdict(choices: _Choices, fields: Sequence[_Field]) -> None:
    """Choose the field with the verdict or, without one, the field with the score."""
    unused_fields = choices.list_unused(fields)
    verdict_fields = [field for field in unused_fields if _write_verdict(field)]
    # A field with the name of a score is a verdict if its values are words such as `passed`.
    verdict = _find_named(verdict_fields, (*NAMES["verdict"], *NAMES["score"]))
    if verdict is not None:
        choices.choose("verdict", verdict, _write_verdict(verdict))
        return

    number_fields = [field for field in unused_fields if _has_only_numbers(field)]
    score = _find_named(number_fields, NAMES["score"])
    if score is not None:
        choices.choose("score", score, _write_path(score))


def _has_only_numbers(field: _Field) -> bool:
    return all(is_number(value) for value in field.values)


def _write_verdict(field: _Field) -> str:
    """Return the line of a mapping file that reads a field as the verdict. Empty if none of its
    values is a known word, such as `passed`.
    """
    if not all(isinstance(value, str | int | float) for value in field.values):
        return ""
    words = {normalize_verdict_text(value) for value in field.values}
    passes = words & set(PASS_WORDS)
    fails = words & set(FAIL_WORDS)
    if not passes and not fails:
        return ""
    if _needs_no_verdict_words(field, passes | fails):
        return _write_path(field)
    options = {"pass": sorted(passes) or ["pass"], "fail": sorted(fails) or ["fail"]}
    return _write_table(field, options)


def _needs_no_verdict_words(field: _Field, words: Set[str]) -> bool:
    """Whether every mapping file reads the values of a field as verdicts, without a list of the
    words that pass and fail.
    """
    has_only_booleans = all(isinstance(value, bool) for value in field.values)
    return has_only_booleans or words <= DEFAULT_PASS | DEFAULT_FAIL


def _choose_metadata(choices: _Choices, fields: Sequence[_Field]) -> None:
    """Keep the other short values of the records."""
    expressions: dict[str, str] = {}
    for record_field in fields:
        name = "_".join(record_field.path)
        is_used = record_field.path in choices.used or _is_used(record_field, choices)
        if not is_used and _has_short_values(record_field) and _PLAIN_FIELD.fullmatch(name):
            expressions[name] = record_field.expression
    if not expressions:
        return

    # A mapping file writes them as one object: `{model_name: model.name, cost: cost}`.
    pairs = [f"{name}: {expression}" for name, expression in expressions.items()]
    kept_pairs = ", ".join(pairs[:MAX_METADATA_FIELDS])
    choices.item["metadata"] = _write_text("{" + kept_pairs + "}")


def _has_short_values(field: _Field) -> bool:
    """Whether no value of a field is a list or an object."""
    return all(isinstance(value, str | int | float | bool) for value in field.values)


def _find_named(fields: Sequence[_Field], names: Sequence[str]) -> _Field | None:
    """Return the field with the first possible of `names`, the most telling ones first.

    Of several fields with this name, it is the first one. Returns None if no field has such a name.
    """
    for name in names:
        for each in fields:
            if each.name == name:
                return each
    return None


# -- TOML


def _write_mapping(source: _ProposedSource, choices: _Choices) -> list[str]:
    """Return the lines of a mapping file with the chosen fields."""
    lines = [
        "# Proposed by fcreview map propose from the first records. Check each line, then run",
        "# fcreview map check on this file. docs/mapping.md describes the form.",
        "",
        "[map]",
        "version = 1",
        'benchmark = "my benchmark"',
        "",
    ]

    lines += _write_source(source)
    lines += ["", "[item]"]
    lines += [f"{key} = {choices.item[key]}" for key in ITEM_KEYS if key in choices.item]

    for name, values in (("judge", choices.judge), ("human", choices.human)):
        if values:
            lines += ["", f"[[{name}]]"]
            lines += [f"{key} = {value}" for key, value in values.items()]
    return lines


def _write_source(source: _ProposedSource) -> list[str]:
    """Return the lines of the table that says which files are read, and how."""
    lines = ["[[source]]", f"files = {_write_text(source.glob)}"]
    if source.items:
        lines.append(f"items = {_write_text(source.items)}")
    if source.entries:
        lines.append("entries = true")
    if source.delimiter is not None:
        lines.append(f"delimiter = {write_delimiter(source.delimiter)}")
    if source.encoding is not None:
        lines.append(f"encoding = {_write_text(source.encoding)}")
    return lines


def _write_path(field: _Field) -> str:
    return _write_text(field.expression)


def _write_table(field: _Field, options: Mapping[str, str | list[str]]) -> str:
    parts = [f"path = {_write_path(field)}"]
    if field.is_json_text:
        parts.append('parse = "json"')
    parts += [f"{name} = {_write_option(value)}" for name, value in options.items()]
    return "{ " + ", ".join(parts) + " }"


def _write_option(value: str | list[str]) -> str:
    if isinstance(value, str):
        return _write_text(value)
    texts = ", ".join(_write_text(text) for text in value)
    return f"[{texts}]"


def _write_text(text: str) -> str:
    """Write a TOML string: literal if possible, so that paths with quotes stay readable."""
    is_literal = '"' in text and "'" not in text and text.isprintable()
    return f"'{text}'" if is_literal else json.dumps(text)
