"""Objects and lists of objects against golden ones whose fields have alternatives (`ast_checker.py`)."""

from __future__ import annotations

from typing import Any

from fcreview.importers.bfcl.check.texts import choices, normalise_any, shown

Finding = tuple[str, str]
"""Error type and message."""


def check_object(value: dict[str, Any], alternatives: list[Any], v1: bool) -> Finding | None:
    """Whether one alternative takes the object; else what the last one objects to."""
    finding: Finding | None = ("dict_checker:unclear", "the golden answer accepts no object here")
    for golden in alternatives:
        if golden == "":
            continue
        finding = _against_v1(value, golden) if v1 else _against(value, golden)
        if finding is None:
            return None
    return finding


def _against(value: dict[str, Any], golden: Any) -> Finding | None:
    if type(golden) is not dict:
        return "value_error:dict_key", f"{shown(value)} is not {shown(golden)}"
    finding = None
    for key, field in value.items():
        if key not in golden:
            finding = ("value_error:dict_key", f"field {shown(key)} is not in the golden object")
            break
        if not _accepted(field, golden[key]):
            finding = ("value_error:dict_value", f"field {key}: {shown(field)} is none of {choices(golden[key])}")
            break
    for key, accepted in golden.items():
        if key not in value and not _optional(accepted):
            finding = ("value_error:dict_key", f"field {shown(key)} is missing")
            break
    return finding


def _against_v1(value: dict[str, Any], golden: Any) -> Finding | None:
    """V1: the number of fields must be equal, and golden objects may lie directly in golden objects."""
    if type(golden) is not dict or type(value) is not dict:
        return "value_error:dict_items", f"{shown(value)} is not {shown(golden)}"
    if len(value) != len(golden):
        return "value_error:dict_items", f"{len(value)} fields where the golden object has {len(golden)}"
    for key, field in value.items():
        if key not in golden:
            return "value_error:dict_key", f"field {shown(key)} is not in the golden object"
        accepted = golden[key]
        if type(accepted) is dict:
            finding = _against_v1(field, accepted)
            if finding is not None:
                return finding[0], f"field {key}: {finding[1]}"
        elif not _accepted(field, accepted):
            return "value_error:dict_value", f"field {key}: {shown(field)} is none of {choices(accepted)}"
    return None


def _accepted(field: Any, accepted: Any) -> bool:
    if not isinstance(accepted, (list, dict, str)):
        return False
    return normalise_any(field) in [normalise_any(one) for one in accepted]


def _optional(accepted: Any) -> bool:
    return isinstance(accepted, str) or (isinstance(accepted, (list, dict)) and "" in accepted)


def check_objects(values: list[Any], alternatives: list[Any], v1: bool) -> Finding | None:
    """A list of objects, in order, of which one alternative must take every object."""
    finding: Finding | None = ("list_dict_checker:unclear", "the golden answer accepts no list here")
    for golden in alternatives:
        if not isinstance(golden, (list, str)):
            continue
        if len(values) != len(golden):
            finding = ("value_error:list_dict_count", f"{len(values)} objects where the golden list has {len(golden)}")
            continue
        finding = None
        for index, (value, one) in enumerate(zip(values, golden, strict=True)):
            found = check_object(value, [one], v1) if type(value) is dict else ("value_error:dict_key", "no object")
            if found is not None:
                finding = (found[0], f"[{index}] {found[1]}")
                break
        if finding is None:
            return None
    return finding
