"""Sample runs in which one field of one record is very large."""

from __future__ import annotations

import json

from tests.faults.hostile.data import Change, Raw


def large_texts(count: int) -> dict[str, str]:
    """Return large JSON texts by name, with about `count` values."""
    some = range(count // 10)
    pairs = ", ".join(f'"a{number}": {number}' for number in range(count))
    arguments = ", ".join(f"a{number}={number}" for number in range(count))
    messages = '{"role": "assistant", "content": "x"}, ' * (count // 10)
    return {
        "arguments": f"{{{pairs}}}",
        "a call with many arguments": json.dumps(f"[f({arguments})]"),
        "a native call with many arguments": json.dumps(f"{{{pairs}}}"),
        "a call by name": f'{{"name": "f", "arguments": {{{pairs}}}}}',
        "a list": f"[{', '.join(map(str, range(count)))}]",
        "calls": "[" + ", ".join([f'{{"f": {{"a": {n}}}}}' for n in some]) + "]",
        "calls by name": "["
        + ", ".join([f'{{"name": "f{n}", "arguments": {{"a": {n}}}}}' for n in some])
        + "]",
        "calls in text": json.dumps("[" + ", ".join([f"f(a={number})" for number in some]) + "]"),
        "messages": f"[{messages[:-2]}]",
        "lines": json.dumps("word of a line\n" * count),
        "one line": json.dumps("word " * count),
        "lists in lists": "[" * 100_000 + "]" * 100_000,
        "objects in objects": '{"a": ' * 100_000 + "1" + "}" * 100_000,
        "parameters": json.dumps(
            {
                "type": "dict",
                "properties": {f"a{n}": {"type": "integer", "description": "d"} for n in some},
                "required": [f"a{n}" for n in some],
            }
        ),
    }


def replace_once(field: tuple[str, ...], raw: str) -> Change:
    """Return a change of this field in the first record that has it."""
    return replace_each_once({field: raw})


def replace_each_once(raws: dict[tuple[str, ...], str]) -> Change:
    """Return a change of each field in the first record that has it."""
    left = dict(raws)
    return lambda path, value: Raw(left.pop(path)) if path in left else value
