"""Write reviewed verdicts and golden fixes back to a benchmark's files.

`LineEdits` changes lines of a JSON Lines file and keeps the bytes of all other lines.
`rewrite_golden_file` replaces golden answers in a dataset. `find_unrepresentable_reviews` counts
the reviews that a file format cannot represent.
"""

from __future__ import annotations

import json
import re
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from fcreview.importers.common.file_form import PROBE_BYTES, detect_form
from fcreview.importers.common.records import find_function_doc
from fcreview.model.address import ITEM, RESPONSE, parse_address
from fcreview.model.function_schema import read_declared_parameters
from fcreview.model.incident import Incident
from fcreview.model.item import AcceptedValues, Call, GoldenObject, Item
from fcreview.model.json_edit import edit_json
from fcreview.model.metric import ScoredItem
from fcreview.model.review import CORRECT, ITEM_CORRECT
from fcreview.run_plan import AppliedGoldenFix, RewrittenFile, Unrepresentable
from fcreview.safe_files import read_file

JsonObject = dict[str, Any]
GoldenFixes = Mapping[tuple[str, str], JsonObject]
"""(category, item id) -> the fields to replace in the item's golden record."""
FixesByRecord = Mapping[str, tuple[tuple[str, str], JsonObject]]
"""Record name -> ((category, item id), fields to replace)."""
CriterionKey = tuple[str, str]
"""(target, criterion)."""

JSON_STYLES: tuple[dict[str, Any], ...] = tuple(
    {"ensure_ascii": escaped, "separators": separators}
    for escaped in (False, True)
    for separators in ((", ", ": "), (",", ":"))
)
"""Arguments of `json.dumps` that benchmarks use for datasets. The first entry is the default."""
BYTE_ORDER_MARK = "\ufeff"
_INDENT = re.compile(rb"\n( *)")
PROBED_LAYOUT_BYTES = 2000
"""Part of a JSON text that shows whether spaces follow its colons."""
ANNOTATOR_REASON = "an annotator marked the item as failed; the benchmark's own check passed it"
"""Text for the field `error` of an entry that exists only because of a review."""
DISAGREEMENT_NOTE = (
    "unresolved disagreements between annotators; the benchmark's own verdict is kept"
)


def has_only_decoded_calls(calls: Sequence[Call]) -> bool:
    return bool(calls) and all(call.arguments is not None for call in calls)


def make_golden_calls_from_prediction(
    item: Item, to_accepted_value: Callable[[Any], Any] = lambda value: value
) -> list[Call]:
    """Return the predicted calls of an item as golden calls that accept only the predicted values.

    Empty if a call could not be decoded. `to_accepted_value` converts an argument to an accepted
    value of the benchmark.
    """
    if not has_only_decoded_calls(item.predicted):
        return []
    names = _map_to_documented_names(item)
    calls = []
    for call in item.predicted:
        accepted = {}
        for argument, value in (call.arguments or {}).items():
            accepted[argument] = AcceptedValues([to_accepted_value(value)])
        name = names.get(call.name, call.name)
        calls.append(replace(call, side="golden", name=name, arguments=accepted))
    return calls


def _map_to_documented_names(item: Item) -> dict[str, str]:
    """Return the documented name for each spelling of it with underscores instead of dots.

    APIs do not allow dots in function names, so models call `alarm.set` as `alarm_set`.
    """
    names = {}
    for function in item.functions:
        name = str(function.get("name"))
        names[name.replace(".", "_")] = name
    return names


def nest_accepted_values(value: Any) -> Any:
    """Return a predicted value in which each field of an object is a list with one accepted
    value, as BFCL writes golden objects.
    """
    if isinstance(value, dict):
        fields = {
            name: AcceptedValues([nest_accepted_values(each)]) for name, each in value.items()
        }
        return GoldenObject(fields)
    if isinstance(value, list):
        return [nest_accepted_values(each) for each in value]
    return value


def list_accepted_values(accepted: AcceptedValues) -> list[Any]:
    """Return the accepted values as BFCL lists them: `["C", "F", ""]`.

    The "" means that the argument is optional.
    """
    values = [_expand_golden_objects(value) for value in accepted.any_of]
    if accepted.optional:
        values.append("")
    return values


def _expand_golden_objects(value: Any) -> Any:
    """Replace golden objects by plain objects with lists of accepted values."""
    if isinstance(value, GoldenObject):
        return {name: list_accepted_values(accepted) for name, accepted in value.fields.items()}
    if isinstance(value, list):
        return [_expand_golden_objects(element) for element in value]
    return value


def first_accepted_arguments(call: Call) -> JsonObject:
    """Return the first accepted value of each argument of a golden call, as plain JSON:
    `{"unit": "C"}`.
    """
    arguments = {}
    for name, accepted in (call.arguments or {}).items():
        if accepted.any_of:
            arguments[name] = _first_accepted_value(accepted)
    return arguments


def _first_accepted_value(accepted: AcceptedValues) -> Any:
    value = accepted.any_of[0] if accepted.any_of else None
    if isinstance(value, GoldenObject):
        return {name: _first_accepted_value(each) for name, each in value.fields.items()}
    return value


def key_by_function_name(calls: Sequence[Call], arguments: Sequence[Any]) -> JsonObject:
    """Return an object with the arguments of each call by function name: `{"f": {"a": 1}}`.

    If a function is called several times, its calls get the keys `f_1`, `f_2` and so on. This is
    the form of golden answers in BFCL V1 and in ACEBench.
    """
    n_calls = Counter(call.name for call in calls)
    n_earlier_calls: Counter[str] = Counter()
    arguments_by_key: JsonObject = {}
    for call, arguments_of_call in zip(calls, arguments, strict=True):
        n_earlier_calls[call.name] += 1
        key = call.name
        if n_calls[call.name] > 1:
            key = f"{call.name}_{n_earlier_calls[call.name]}"
        arguments_by_key[key] = arguments_of_call
    return arguments_by_key


@dataclass(frozen=True, slots=True)
class FixedRecord:
    """A record of a dataset to which a golden fix was applied."""

    old_golden: Any
    new_golden: Any
    record: JsonObject
    """The record with the new golden answer."""


@dataclass(slots=True)
class LineEdits:
    """Changes to the lines of a JSON Lines file. Lines count from 1."""

    replaced: dict[int, Any] = field(default_factory=dict)
    """Line number -> the new record, or the new line as a string."""
    removed: set[int] = field(default_factory=set)
    added: list[tuple[int, Any]] = field(default_factory=list)
    """(position, record) of each added record.

    A record is inserted before the first line with a higher position.
    """
    positions: Mapping[int, int] = field(default_factory=dict)
    """Line number -> position of the line's record among all records.

    Added records are inserted by position.
    """

    def replace_if_changed(self, number: int, line: bytes, old_record: Any, record: Any) -> None:
        """Replace a line if its record changed. Keep the text of all equal parts of the line."""
        if record != old_record:
            self.replaced[number] = edit_line(line, old_record, record)

    def __bool__(self) -> bool:
        return bool(self.replaced or self.removed or self.added)


def apply_line_edits(raw: bytes, edits: LineEdits) -> bytes:
    """Apply changes to the lines of a JSON Lines file, and return its new content.

    Lines without a change stay as they are, byte by byte. The new content ends in a line feed if
    the old content (`raw`) ends in one or is empty.
    """
    is_terminated = raw.endswith(b"\n") or not raw
    lines = raw.split(b"\n")
    if is_terminated:
        # The text after the last line feed is empty and no line.
        lines.pop()

    edited_lines = list(_edit_lines(lines, edits))
    content = b"\n".join(edited_lines)
    if is_terminated and edited_lines:
        return content + b"\n"
    return content


def _edit_lines(lines: Sequence[bytes], edits: LineEdits) -> Iterator[bytes]:
    """Yield the lines of the edited file, without their ends."""
    pending_records = deque(sorted(edits.added, key=lambda added: added[0]))
    for number, line in enumerate(lines, 1):
        # Records that would stand before a removed line stand before the next one.
        if number in edits.removed:
            continue
        # Lines that are no records, such as blank ones, have no position.
        line_position = edits.positions.get(number)
        if line_position is not None:
            yield from _take_records_before(line_position, pending_records)
        if number in edits.replaced:
            yield encode_line(edits.replaced[number], line)
        else:
            yield line
    for _, record in pending_records:
        yield encode_line(record)


def _take_records_before(
    line_position: int, added_records: deque[tuple[int, Any]]
) -> Iterator[bytes]:
    """Take the first records that belong before this position from the queue, and yield their
    lines.
    """
    while added_records and added_records[0][0] < line_position:
        _, record = added_records.popleft()
        yield encode_line(record)


def encode_line(record: Any, old_line: bytes = b"") -> bytes:
    """Return a record or a line as bytes, without line feed.

    Uses the escapes and the carriage return of `old_line`.
    """
    if isinstance(record, str):
        text = record
    else:
        has_escapes = old_line.isascii() and b"\\u" in old_line
        text = json.dumps(record, ensure_ascii=has_escapes)
    line = text.encode("utf-8", "backslashreplace")
    if old_line.endswith(b"\r"):
        return line + b"\r"
    return line


def parse_numbered_records(raw: bytes) -> Iterator[tuple[int, JsonObject]]:
    """Yield (line number from 1, record) for each JSON object.

    Unlike with orjson, long numbers keep all digits.
    """
    for number, line in enumerate(raw.split(b"\n"), 1):
        try:
            value = json.loads(line.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            yield number, value


def has_record_per_line(raw: bytes) -> bool:
    """Whether each line of a file is a record, so that a line can be replaced. The records of a
    JSON array, or of several lines, cannot.
    """
    return detect_form(raw[:PROBE_BYTES]) == "lines"


def find_header_line_number(raw: bytes) -> int:
    """Return the number of the first line that is not blank, or 1 without one."""
    for number, line in enumerate(raw.split(b"\n"), 1):
        if line.strip():
            return number
    return 1


def update_score_header(
    header: JsonObject,
    n_new_passes: int,
    *,
    digits: int | None = None,
    rate_field: str = "accuracy",
) -> JsonObject:
    """Return the header with `n_new_passes` added and the new rate.

    A header without counts is unchanged.
    """
    total = header.get("total_count")
    old_n_correct = header.get("correct_count")
    if not isinstance(total, int) or not isinstance(old_n_correct, int):
        return header
    n_correct = old_n_correct + n_new_passes
    rate = n_correct / total if total else 0.0
    if digits is not None:
        rate = round(rate, digits)
    return header | {rate_field: rate, "correct_count": n_correct}


def positions_by_name(names: Sequence[str]) -> dict[str, int]:
    return {name: position for position, name in enumerate(names)}


def edit_line(line: bytes, old_record: Any, record: Any) -> str:
    """Return the text of a line with another record, in which equal parts keep their text."""
    try:
        text = line.decode("utf-8").strip()
        mark = BYTE_ORDER_MARK if text.startswith(BYTE_ORDER_MARK) else ""
        return mark + edit_json(text.removeprefix(mark), record)
    except (ValueError, RecursionError):
        # The line is not UTF-8, or it is nested too deeply.
        return dump_in_style_of(line, old_record, record)


def dump_in_style_of(line: bytes, old_record: Any, record: Any) -> str:
    """Return a record as JSON, with the separators and escapes of `line`, which is the JSON of
    `old_record`.
    """
    text = line.decode("utf-8", "replace").strip()
    for style in JSON_STYLES:
        if json.dumps(old_record, **style) == text:
            return json.dumps(record, **style)
    default_style = JSON_STYLES[0]
    return json.dumps(record, **default_style)


@dataclass(frozen=True, slots=True)
class _JsonLayout:
    """How a JSON text of one record is written."""

    indent_of_record: int
    """Indentation of the record in its file, in spaces."""
    indent_of_members: int | None
    """Further indentation of its members, or None if the record is on one line."""
    has_spaces: bool
    """Whether a space follows each separator."""

    @classmethod
    def of_text(cls, text: bytes) -> _JsonLayout:
        indents = [len(match[1]) for match in _INDENT.finditer(text)]
        if not indents:
            has_spaces = b'": ' in text[:PROBED_LAYOUT_BYTES]
            return cls(0, indent_of_members=None, has_spaces=has_spaces)
        # The first line of the record follows other text, so it has no indent here. The second line
        # is the first member, and the last one is the closing bracket.
        indent_of_record = indents[-1]
        return cls(
            indent_of_record, indent_of_members=indents[0] - indent_of_record, has_spaces=True
        )


def dump_with_layout_of(value: Any, old_json: bytes) -> bytes:
    """Return a value as JSON in the layout of `old_json`, a file or a record in a file.

    The indentation, the spaces after separators, the escapes and the line ends stay, so that a
    comparison of the two files shows only the changed values.
    """
    body = old_json.rstrip()
    trailing_space = old_json[len(body) :]
    layout = _JsonLayout.of_text(body)
    compact_separators = (",", ":")
    text = json.dumps(
        value,
        indent=layout.indent_of_members,
        ensure_ascii=body.isascii(),
        separators=None if layout.has_spaces else compact_separators,
    )

    line_end = "\r\n" if b"\r\n" in body else "\n"
    indented = text.replace("\n", line_end + " " * layout.indent_of_record)
    # Bytes that were not UTF-8 were read as surrogates, and become the same bytes again.
    return indented.encode("utf-8", "surrogateescape") + trailing_space


def key_fixes_by_record(fixes: GoldenFixes, category: str | None = None) -> FixesByRecord:
    """Key the fixes of one category, or of all, by record name, for datasets whose record ids
    are item ids.
    """
    fixes_by_record = {}
    for (item_category, item_id), fix in fixes.items():
        if category in (None, item_category):
            fixes_by_record[item_id] = ((item_category, item_id), fix)
    return fixes_by_record


def rewrite_answer_files(
    fixes: GoldenFixes, find_answer_file: Callable[[str], Path | None]
) -> Iterator[RewrittenFile | AppliedGoldenFix | Unrepresentable]:
    """Apply golden fixes to a dataset.

    `find_answer_file` returns the answer file of a category, or None.
    """
    categories = dict.fromkeys(category for category, _ in fixes)
    for category in categories:
        fixes_of_category = key_fixes_by_record(fixes, category)
        path = find_answer_file(category)
        if path is None:
            what = f"golden answers of {category}, whose dataset was not found"
            yield Unrepresentable(what, len(fixes_of_category))
        else:
            yield from rewrite_golden_file(path, fixes_of_category)


def replace_fields(record: JsonObject, fix: JsonObject) -> FixedRecord:
    """Apply a fix to a record.

    If the fix has several fields, the golden answers are objects with these fields.
    """
    old_fields = {name: record.get(name) for name in fix}
    new_record = record | fix
    # A single field is itself the golden answer.
    if len(fix) == 1:
        (name,) = fix
        return FixedRecord(old_fields[name], new_golden=fix[name], record=new_record)
    return FixedRecord(old_fields, new_golden=fix, record=new_record)


def rewrite_golden_file(
    path: Path,
    fixes: FixesByRecord,
    name_record: Callable[[int, JsonObject], str] = lambda _, record: str(record.get("id")),
    apply_fix: Callable[[JsonObject, JsonObject], FixedRecord] = replace_fields,
) -> Iterator[RewrittenFile | AppliedGoldenFix | Unrepresentable]:
    """Write the reviewers' golden answers, called fixes, into a JSON Lines file.

    Yields the file if it changes, the fixes that were applied, and the number of fixes whose record
    is not in the file.

    Args:
        path: The file.
        fixes: Name of a record -> the item of the fix, and the fields to replace.
        name_record: Returns the name of a record, given its index from 0 and the record.
        apply_fix: Applies a fix to a record, given record and fix.
    """
    raw = read_file(path)
    lines = raw.split(b"\n")
    edits = LineEdits()
    applied = []
    remaining_fixes = dict(fixes)
    for index, (line_number, record) in enumerate(parse_numbered_records(raw)):
        record_name = name_record(index, record)
        # Each fix is applied only to the first record of its name.
        fix = remaining_fixes.pop(record_name, None)
        if fix is None:
            continue
        item, new_fields = fix
        fixed = apply_fix(record, new_fields)
        edits.replace_if_changed(line_number, lines[line_number - 1], record, fixed.record)
        old_fields = {field_name: record.get(field_name) for field_name in new_fields}
        applied.append(
            AppliedGoldenFix(
                item,
                path=path,
                old=fixed.old_golden,
                new=fixed.new_golden,
                record=record_name,
                old_fields=old_fields,
                new_fields=new_fields,
            )
        )

    if edits:
        yield RewrittenFile(path, apply_line_edits(raw, edits))
    yield from applied
    if remaining_fixes:
        kind = f"golden answers without a record in {path.name}"
        yield Unrepresentable(kind, len(remaining_fixes))


def check_fix_fields(fix: JsonObject, *allowed: str) -> str | None:
    """Return an error if a golden fix is empty or has fields that are not `allowed`, else None."""
    rule = f"a golden fix must contain {' or '.join(allowed)}"
    if not fix:
        return rule
    for name in fix:
        if name not in allowed:
            return f"{rule}, not {name}"
    return None


def check_golden_call(name: Any, arguments: Any, functions: list[JsonObject]) -> str | None:
    """Check a golden call that a reviewer wrote. Return the first error, or None.

    The call must name an available function and fit its parameters. `functions` are the function
    docs. If there are none, only the types are checked.
    """
    if not isinstance(name, str) or not name:
        return "a call has no name"
    if not isinstance(arguments, dict):
        return f"the arguments of {name} are not an object"
    if not functions:
        return None

    function = find_function_doc(name, functions)
    if function is None:
        return f"function {name} is not available"
    return _find_parameter_error(name, arguments, function)


def _find_parameter_error(name: str, arguments: JsonObject, function: JsonObject) -> str | None:
    """Return the first error in the names of arguments: a parameter that the function does not
    declare, or a required one that is missing.
    """
    declared = read_declared_parameters(function, ("parameters", "arguments"))
    if declared.properties is not None:
        for parameter in arguments:
            if parameter not in declared.properties:
                return f"{name} has no parameter {parameter}"
    for parameter in declared.required or ():
        if parameter not in arguments:
            return f"{name} requires the parameter {parameter}"
    return None


def get_item_override(item: ScoredItem) -> bool | None:
    """Return the reviewed verdict on an item if it contradicts the automatic one, else None."""
    verdict = item.overrides.get(ITEM_CORRECT)
    return verdict if isinstance(verdict, bool) else None


def list_overridden_items(items: Iterable[ScoredItem]) -> list[ScoredItem]:
    return [item for item in items if get_item_override(item) is not None]


def is_incident_mark_reviewed(item: ScoredItem, incident: Incident | None) -> bool:
    """Return whether annotators set or cleared the incident mark of an item. `incident` is the
    incident that the imported record shows.
    """
    is_automatic = incident is not None and incident.counts
    return item.is_incident != is_automatic


def find_unrepresentable_reviews(
    items: Iterable[ScoredItem], is_representable: Callable[[ScoredItem, CriterionKey], bool]
) -> Iterator[Unrepresentable]:
    """Count, by kind, the overrides that a benchmark's files cannot represent, and the
    unresolved disagreements.
    """
    counts: Counter[str] = Counter()
    for item in items:
        for key in item.overrides:
            if not is_representable(item, key):
                counts[_describe_verdict_kind(key)] += 1
        if item.disputed:
            counts[DISAGREEMENT_NOTE] += len(item.disputed)
    for description, count in counts.items():
        yield Unrepresentable(description, count)


def is_item_verdict(item: ScoredItem, key: CriterionKey) -> bool:
    """Return whether an override is the verdict on the item, or the same verdict on its
    response.
    """
    if key == ITEM_CORRECT:
        return True
    is_about_response = key == (RESPONSE, CORRECT)
    return is_about_response and item.overrides[key] == item.overrides.get(ITEM_CORRECT)


def _describe_verdict_kind(key: CriterionKey) -> str:
    """Describe verdicts with this target and criterion, such as `verdicts on turns, criterion
    correct`.
    """
    target, criterion = key
    return f"verdicts on {_describe_target_kind(target)}, criterion {criterion}"


def _describe_target_kind(target: str) -> str:
    """Name the kind of part that a review is about, in the plural, such as `calls`."""
    if target == ITEM:
        return "items"
    part = parse_address(target)
    if part is None:
        return "responses"
    if part.call is None:
        return "turns"
    if part.argument is None:
        return "calls"
    return "arguments"
