"""Name the task of an Inspect log, and list what can distinguish its run from others of the same
model.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from fcreview.importers.common.records import as_object
from fcreview.model.json_value import to_json_text
from fcreview.model.sanitize import redact_api_keys_in_text

_CONTROL_CHARACTERS = re.compile(r"[\x00-\x1f\x7f]")
UNKNOWN_TASK = "unknown task"
MAX_ARGUMENT_LENGTH = 40
MAX_ARGUMENTS = 20
ARGUMENT_FIELDS = ("task_args", "model_args", "model_generate_config")
"""Fields of `eval` with named settings, most telling first."""
_MINUTES_LENGTH = len("2026-11-28T04:44")


def remove_control_characters(text: str) -> str:
    return _CONTROL_CHARACTERS.sub("", text)


def get_task_name(eval_fields: Mapping[str, Any]) -> str:
    """Return the last part of the task's registered name: `bfcl` for `inspect_evals/bfcl`."""
    name = eval_fields.get("task_registry_name") or eval_fields.get("task")
    return _get_last_part(name) or UNKNOWN_TASK


def _get_last_part(name: Any) -> str:
    return remove_control_characters(str(name or "")).rpartition("/")[2]


def list_name_parts(eval_fields: Mapping[str, Any], status: str, path: Path) -> list[str]:
    """List what distinguishes a run from others of its model, most telling first: the task, its
    arguments, the status of an unfinished log, the time and the file name.

    API keys and control characters are removed, because logs contain the arguments of commands.
    """
    parts = [_get_last_part(eval_fields.get("task"))]
    parts += _list_arguments(eval_fields)
    if status not in ("", "success"):
        parts.append(status)
    parts.append(str(eval_fields.get("created") or "")[:_MINUTES_LENGTH].replace("T", " "))
    parts.append(path.stem)
    cleaned = (redact_api_keys_in_text(remove_control_characters(part)) for part in parts)
    return [part for part in cleaned if part]


def _list_arguments(eval_fields: Mapping[str, Any]) -> list[str]:
    arguments: list[str] = []
    for field_name in ARGUMENT_FIELDS:
        arguments += _format_arguments(as_object(eval_fields.get(field_name)))
    return arguments[:MAX_ARGUMENTS]


def _format_arguments(arguments: Mapping[str, Any]) -> Iterator[str]:
    """Yield short arguments as `name=value`. Objects and lists are omitted, because they
    distinguish no run at a glance.
    """
    for name, value in arguments.items():
        if value is None or isinstance(value, (dict, list)):
            continue
        text = value if isinstance(value, str) else to_json_text(value)
        if len(text) <= MAX_ARGUMENT_LENGTH:
            yield f"{name}={text}"
