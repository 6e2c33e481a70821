"""What benchmarks' files that are written back have in common.

Golden calls as benchmarks write them: what a person corrects starts from that.

JSON Lines written back: lines that stay are the same bytes, others go, come or are replaced.

Records of a dataset with other golden answers: the lines of those that change are written anew, in the style of the
line that was there; all others stay.

What people overruled, as far as a file can hold it, and the words for what it cannot.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fcreview.model.address import ITEM, RESPONSE, parse_address
from fcreview.model.function_schema import read_declared_parameters
from fcreview.model.item import AcceptedValues, Call, GoldenObject
from fcreview.model.metric import ScoredItem
from fcreview.model.review import ITEM_CORRECT
from fcreview.run_plan import AppliedGoldenFix, Unrepresentable, RewrittenFile
from fcreview.safe_files import read_file


def has_decoded_calls(calls: Sequence[Call]) -> bool:
    """Whether all of them could be read: else nothing can be made of them."""
    return bool(calls) and all(call.arguments is not None for call in calls)


def list_accepted_values(accept: AcceptedValues) -> list[Any]:
    """`["C", "F", ""]`: every value; an empty text where it may be left out. Fields of objects likewise."""
    return [*(_expand_golden_object(value) for value in accept.any_of), *([""] if accept.optional else [])]


def _expand_golden_object(value: Any) -> Any:
    if isinstance(value, GoldenObject):
        return {name: list_accepted_values(one) for name, one in value.fields.items()}
    return [_expand_golden_object(each) for each in value] if isinstance(value, list) else value


def first_accepted_arguments(call: Call) -> dict[str, Any]:
    """`{"unit": "C"}`: the first value of each, objects as they are."""
    return {name: _first_accepted_value(accept) for name, accept in (call.arguments or {}).items() if accept.any_of}


def _first_accepted_value(accept: AcceptedValues) -> Any:
    value = accept.any_of[0] if accept.any_of else None
    return {name: _first_accepted_value(one) for name, one in value.fields.items()} if isinstance(value, GoldenObject) else value


def key_by_function_name(calls: Sequence[Call], arguments: Sequence[Any], first: int) -> dict[str, Any]:
    """`{"f": {...}}`; calls of one function as `f_1`, `f_2` ..., counted from `first`."""
    times = Counter(call.name for call in calls)
    seen: Counter[str] = Counter()
    found: dict[str, Any] = {}
    for call, given in zip(calls, arguments, strict=True):
        name = call.name if times[call.name] == 1 else f"{call.name}_{seen[call.name] + first}"
        seen[call.name] += 1
        found[name] = given
    return found


@dataclass(slots=True)
class LineEdits:
    """What becomes of the lines of a file. Lines count from 1."""

    replaced: dict[int, Any] = field(default_factory=dict)
    """Line -> its new record, or the text of its line."""
    removed: set[int] = field(default_factory=set)
    """Lines that are taken out."""
    added: list[tuple[int, Any]] = field(default_factory=list)
    """(place, record): each stands before the first line that stays and has a later place."""
    positions: Mapping[int, int] = field(default_factory=dict)
    """Line -> its place among the file's records; any order of numbers will do."""

    def __bool__(self) -> bool:
        return bool(self.replaced or self.removed or self.added)


def apply_edits(raw: bytes, edits: LineEdits) -> bytes:
    """The file with these edits. It ends in a line feed if it did, or was empty."""
    ends = raw.endswith(b"\n") or not raw
    lines = raw.split(b"\n") if raw else []
    if raw and ends:
        lines.pop()
    waiting = sorted(edits.added, key=lambda each: each[0])
    kept: list[bytes] = []
    for number, line in enumerate(lines, 1):
        if number in edits.removed:
            continue
        while waiting and number in edits.positions and waiting[0][0] < edits.positions[number]:
            kept.append(encode_line(waiting.pop(0)[1]))
        kept.append(encode_line(edits.replaced[number], line) if number in edits.replaced else line)
    kept += [encode_line(record) for _, record in waiting]
    return b"\n".join(kept) + (b"\n" if ends and kept else b"")


def encode_line(record: Any, like: bytes = b"") -> bytes:
    """A record as `json.dumps` writes it, which all five benchmarks use. `like` is the line before: where it escapes
    what is not ASCII, so does this, and it ends as that does."""
    escapes = like.isascii() and b"\\u" in like
    text = record if isinstance(record, str) else json.dumps(record, ensure_ascii=escapes)
    return text.encode("utf-8", "backslashreplace") + (b"\r" if like.endswith(b"\r") else b"")


def parse_numbered_records(raw: bytes) -> Iterator[tuple[int, dict[str, Any]]]:
    """(line, record) of every line that is a JSON object, by Python's own reader: what is written back of a line keeps
    its numbers as they are."""
    for number, line in enumerate(raw.split(b"\n"), 1):
        try:
            value = json.loads(line.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            yield number, value


def header_line_number(raw: bytes) -> int:
    """That of the header: the first that is not blank."""
    return next((number for number, line in enumerate(raw.split(b"\n"), 1) if line.strip()), 1)


def update_counts(
    header: dict[str, Any], gained: int, *, digits: int | None = None, rate: str = "accuracy"
) -> dict[str, Any]:
    """A score file's header with so many more (fewer) items right: `correct_count`, and `rate` of them."""
    total, before = header.get("total_count"), header.get("correct_count")
    if not isinstance(total, int) or not isinstance(before, int):
        return header
    correct = before + gained
    share = correct / total if total else 0.0
    return header | {rate: share if digits is None else round(share, digits), "correct_count": correct}


def positions_by_name(names: Sequence[str]) -> dict[str, int]:
    """Name -> place."""
    return {name: place for place, name in enumerate(names)}


JsonObject = dict[str, Any]
GoldenFixes = Mapping[tuple[str, str], JsonObject]
"""(category, item) -> the fields of its golden record that are to be replaced."""
JSON_STYLES: tuple[dict[str, Any], ...] = tuple(
    {"ensure_ascii": escaped, "separators": separators}
    for escaped in (False, True)
    for separators in ((", ", ": "), (",", ":"))
)


def dump_in_style_of(record: Any, before: Any, line: bytes) -> str:
    """The record's JSON with the blanks and escapes that the line was written with."""
    text = line.decode("utf-8", "replace").strip()
    style = next((style for style in JSON_STYLES if json.dumps(before, **style) == text), JSON_STYLES[0])
    return json.dumps(record, **style)


FixesByRecord = Mapping[str, tuple[tuple[str, str], JsonObject]]
"""Record name -> ((category, item), fix)."""


def fixes_by_record(fixes: GoldenFixes, category: str | None = None) -> FixesByRecord:
    """Fixes, all or of one category, of a benchmark whose records have the items' ids."""
    return {item: ((where, item), fix) for (where, item), fix in fixes.items() if category in (None, where)}


def rewrite_answer_files(
    fixes: GoldenFixes, answer_file: Callable[[str], Path | None]
) -> Iterator[RewrittenFile | AppliedGoldenFix | Unrepresentable]:
    """Golden answers in files of their own, one a category, with these fixes."""
    for category in dict.fromkeys(where for where, _ in fixes):
        wanted, path = fixes_by_record(fixes, category), answer_file(category)
        if path is None:
            yield Unrepresentable(f"golden answers of {category}, whose dataset was not found", len(wanted))
        else:
            yield from rewrite_golden_file(path, wanted)


def _stated_id(place: int, record: JsonObject) -> str:  # noqa: ARG001
    return str(record.get("id"))


def replace_fields(record: JsonObject, fix: JsonObject) -> tuple[Any, Any, JsonObject]:
    """Of records with fields of their own for golden answers: `{"ground_truth": ...}`."""
    old, new = {name: record.get(name) for name in fix}, record | fix
    if len(fix) == 1:
        (name,) = fix
        return old[name], fix[name], new
    return old, fix, new


def rewrite_golden_file(
    path: Path,
    wanted: FixesByRecord,
    name: Callable[[int, JsonObject], str] = _stated_id,
    replaced: Callable[[JsonObject, JsonObject], tuple[Any, Any, JsonObject]] = replace_fields,
) -> Iterator[RewrittenFile | AppliedGoldenFix | Unrepresentable]:
    """A JSON Lines file with other golden answers, and how many records it lacks.

    Args:
        name: record name from place and record.
        replaced: old golden answer, new one and new record, from record and fix.
    """
    raw = read_file(path)
    lines = raw.split(b"\n")
    edits, fixed = LineEdits(), list[AppliedGoldenFix]()
    missing = dict(wanted)
    for place, (line, record) in enumerate(parse_numbered_records(raw)):
        found = missing.pop(name(place, record), None)
        if found is not None:
            item, fix = found
            old, new, changed = replaced(record, fix)
            if changed != record:
                edits.replaced[line] = dump_in_style_of(changed, record, lines[line - 1])
            fixed.append(AppliedGoldenFix(item, path, old, new))
    if edits:
        yield RewrittenFile(path, apply_edits(raw, edits))
    yield from fixed
    if missing:
        yield Unrepresentable(f"golden answers that {path.name} does not have", len(missing))


def check_fix_fields(fix: JsonObject, *names: str) -> str | None:
    """What is wrong with a fix that may have these fields."""
    unknown = [name for name in fix if name not in names]
    if unknown or not fix:
        return f"a golden fix has the fields {', '.join(names)}" + (f", not {unknown[0]}" if unknown else "")
    return None


def check_golden_call(name: Any, arguments: Any, functions: list[JsonObject]) -> str | None:
    """What is wrong with a golden call by the function documents, where there are any."""
    if not isinstance(name, str) or not name:
        return "a call has no name"
    if not isinstance(arguments, dict):
        return f"the arguments of {name} are no object"
    document = next((each for each in functions if each.get("name") == name), None)
    if document is None:
        return f"no function {name} is offered" if functions else None
    declared = read_declared_parameters(document, ("parameters", "arguments"))
    properties = declared.properties
    if properties is not None and (unknown := [each for each in arguments if each not in properties]):
        return f"{name} has no parameter {unknown[0]}"
    if lacking := [each for each in declared.required or () if each not in arguments]:
        return f"{name} requires the parameter {lacking[0]}"
    return None


ANNOTATOR_REASON = "judged wrong by people; the benchmark's own check passed it"
"""Stands as the reason in entries that only people made."""
DISAGREEMENT_NOTE = "where people differ the benchmark's own verdict stays"

CriterionKey = tuple[str, str]
"""(target, criterion)"""


def item_override(row: ScoredItem) -> bool | None:
    """What people say of the item itself where it differs from the benchmark; None if that stands."""
    said = row.overrides.get(ITEM_CORRECT)
    return said if isinstance(said, bool) else None


def overridden_items(rows: Iterable[ScoredItem]) -> list[ScoredItem]:
    return [row for row in rows if item_override(row) is not None]


def find_unrepresentable(rows: Iterable[ScoredItem], held: Callable[[ScoredItem, CriterionKey], bool]) -> Iterator[Unrepresentable]:
    """Everything that people overruled in these rows and of which `held` says that the files do not have it. What they
    differ on is told apart."""
    counts: Counter[str] = Counter()
    for row in rows:
        for key, value in row.overrides.items():
            if value is None:
                counts[DISAGREEMENT_NOTE] += 1
            elif not held(row, key):
                counts[_describe_criterion(key)] += 1
    yield from (Unrepresentable(what, count) for what, count in counts.items())


def is_item_verdict(row: ScoredItem, key: CriterionKey) -> bool:
    """For files that hold a verdict an item. What is said of the response of an item that is nothing else is the
    item's verdict too."""
    return key == ITEM_CORRECT or (key[0] == RESPONSE and key[1] == ITEM_CORRECT[1] and row.overrides[key] == row.overrides.get(ITEM_CORRECT))


def _describe_criterion(key: CriterionKey) -> str:
    target, criterion = key
    part = parse_address(target)
    if part is None:
        where = "an item" if target == ITEM else "a response"
    else:
        where = "a turn" if part.call is None else "a call" if part.argument is None else "an argument"
    return f"{criterion} of {where}"
