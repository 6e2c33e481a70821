"""Records of a dataset with other golden answers: the lines of those that change are written anew, in the style of the
line that was there; all others stay."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from fcreview.importers.common.jsonl import read_whole
from fcreview.importers.common.writing.lines import Edits, edited, numbered
from fcreview.plan import GoldenFixed, NoPlace, Rewritten

Json = dict[str, Any]
Fixes = Mapping[tuple[str, str], Json]
"""(category, item) -> the fields of its golden record that are to be replaced."""
STYLES: tuple[dict[str, Any], ...] = tuple(
    {"ensure_ascii": escaped, "separators": separators}
    for escaped in (False, True)
    for separators in ((", ", ": "), (",", ":"))
)


def styled(record: Any, before: Any, line: bytes) -> str:
    """The record's JSON with the blanks and escapes that the line was written with."""
    text = line.decode("utf-8", "replace").strip()
    style = next((style for style in STYLES if json.dumps(before, **style) == text), STYLES[0])
    return json.dumps(record, **style)


def with_golden(
    path: Path,
    wanted: Mapping[str, tuple[tuple[str, str], Json]],
    name: Callable[[int, Json], str],
    replaced: Callable[[Json, Json], tuple[Any, Any, Json]],
) -> Iterator[Rewritten | GoldenFixed | NoPlace]:
    """A JSON Lines file with golden answers. `wanted` has (item, fix) by the record's name, `name` gives that from
    place and record, `replaced` (old golden answer, new one, new record) from record and fix. Records that are not
    there are told."""
    raw = read_whole(path)
    lines = raw.split(b"\n")
    edits, fixed = Edits(), list[GoldenFixed]()
    missing = dict(wanted)
    for place, (line, record) in enumerate(numbered(raw)):
        found = missing.pop(name(place, record), None)
        if found is not None:
            item, fix = found
            old, new, changed = replaced(record, fix)
            if changed != record:
                edits.replaced[line] = styled(changed, record, lines[line - 1])
            fixed.append(GoldenFixed(item, path, old, new))
    if edits:
        yield Rewritten(path, edited(raw, edits))
    yield from fixed
    if missing:
        yield NoPlace(f"golden answers that {path.name} does not have", len(missing))


def fields_replaced(record: Json, fix: Json) -> tuple[Any, Any, Json]:
    """Of records with fields of their own for golden answers: `{"ground_truth": ...}`."""
    old, new = {name: record.get(name) for name in fix}, record | fix
    if len(fix) == 1:
        (name,) = fix
        return old[name], fix[name], new
    return old, fix, new


def only_fields(fix: Json, *names: str) -> str | None:
    """What is wrong with a fix that may have these fields."""
    unknown = [name for name in fix if name not in names]
    if unknown or not fix:
        return f"a golden fix has the fields {', '.join(names)}" + (f", not {unknown[0]}" if unknown else "")
    return None


def wrong_call(name: Any, arguments: Any, functions: list[Json]) -> str | None:
    """What is wrong with a golden call by the function documents, where there are any."""
    if not isinstance(name, str) or not name:
        return "a call has no name"
    if not isinstance(arguments, dict):
        return f"the arguments of {name} are no object"
    document = next((each for each in functions if each.get("name") == name), None)
    if document is None:
        return f"no function {name} is offered" if functions else None
    schema: Json = next(
        (document[key] for key in ("parameters", "arguments") if isinstance(document.get(key), dict)), {}
    )
    properties, required = schema.get("properties"), schema.get("required")
    if isinstance(properties, dict) and (unknown := [each for each in arguments if each not in properties]):
        return f"{name} has no parameter {unknown[0]}"
    if isinstance(required, list) and (lacking := [each for each in required if each not in arguments]):
        return f"{name} requires the parameter {lacking[0]}"
    return None
