"""Sample runs in which one field of one record is very large: as many values as a model that never stops can write."""

from __future__ import annotations

import json

from tests.faults.hostile.data import Change, Raw


def forms(count: int) -> dict[str, str]:
    """JSON texts by what is large in them."""
    some = range(count // 10)
    pairs = ", ".join(f'"a{number}": {number}' for number in range(count))
    said = ", ".join(f"a{number}={number}" for number in range(count))
    messages = '{"role": "assistant", "content": "x"}, ' * (count // 10)
    return {
        "arguments": f"{{{pairs}}}",
        "a call with many arguments": json.dumps(f"[f({said})]"),
        "a native call with many arguments": json.dumps(f"{{{pairs}}}"),
        "a call by name": f'{{"name": "f", "arguments": {{{pairs}}}}}',
        "a list": f"[{', '.join(map(str, range(count)))}]",
        "calls": "[" + ", ".join([f'{{"f": {{"a": {n}}}}}' for n in some]) + "]",
        "calls by name": "[" + ", ".join([f'{{"name": "f{n}", "arguments": {{"a": {n}}}}}' for n in some]) + "]",
        "calls in text": json.dumps("[" + ", ".join([f"f(a={number})" for number in some]) + "]"),
        "messages": f"[{messages[:-2]}]",
        "lines": json.dumps("word of a line\n" * count),
        "one line": json.dumps("word " * count),
        "lists in lists": "[" * 100_000 + "]" * 100_000,
        "objects in objects": '{"a": ' * 100_000 + "1" + "}" * 100_000,
        "parameters": json.dumps({
            "type": "dict",
            "properties": {f"a{n}": {"type": "integer", "description": "d"} for n in some},
            "required": [f"a{n}" for n in some],
        }),
    }  # fmt: skip


def once(field: tuple[str, ...], raw: str) -> Change:
    """The field of the first record that has it."""
    return each_once({field: raw})


def each_once(raws: dict[tuple[str, ...], str]) -> Change:
    """Each of the fields in the first record that has it."""
    left = dict(raws)
    return lambda path, value: Raw(left.pop(path)) if path in left else value
