"""JSON Lines are read with the location of each record, and unreadable data is an issue with its
location.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import orjson
import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from fcreview.importers.common import jsonl
from fcreview.importers.common.json_file import read_json, read_json_document
from fcreview.importers.common.jsonl import (
    JsonRecord,
    read_first_record,
    read_records,
    reread_value,
)
from fcreview.model.item import ImportIssue


def read(path: Path) -> tuple[list[JsonRecord], list[ImportIssue]]:
    found = list(read_records(path))
    return (
        [one for one in found if isinstance(one, JsonRecord)],
        [one for one in found if isinstance(one, ImportIssue)],
    )


def write_file(folder: Path, data: bytes) -> Path:
    path = folder / "lines.json"
    path.write_bytes(data)
    return path


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(st.characters(codec="utf-8")),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4)
    ),
    max_leaves=12,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@example(values=[-(2**63) - 1, [-(2**63) - 1], 2**64, 10**18], gap=b"\n", end=False)
@given(
    values=st.lists(JSON, max_size=6),
    gap=st.sampled_from([b"\n", b"\r\n", b"\n\n", b"\n  \n"]),
    end=st.booleans(),
)
def test_written_json_is_read_with_location(
    tmp_path: Path, values: list[object], gap: bytes, end: bool
) -> None:
    # A file that begins with an array of objects is read as an array of records.
    assume(not values or not isinstance(values[0], list))
    lines = [json.dumps(value, ensure_ascii=False).encode() for value in values]
    path = write_file(tmp_path, gap.join(lines) + (gap if end else b""))
    found, issues = read(path)
    assert issues == []
    assert [one.value for one in found] == values
    raw = path.read_bytes()
    for one, line in zip(found, lines, strict=True):
        assert raw[one.offset : one.offset + one.length].strip() == line
        assert raw[: one.offset].count(b"\n") == one.line - 1
        assert reread_value(path, one) == one.value


def test_only_line_feed_ends_line(tmp_path: Path) -> None:
    text = "a\u2028b\u0085c\u000cd"
    found, issues = read(
        write_file(tmp_path, json.dumps({"t": text}, ensure_ascii=False).encode() + b"\n{}")
    )
    assert [one.value for one in found] == [{"t": text}, {}]
    assert issues == []


def test_numbers_that_orjson_refuses_or_rounds(tmp_path: Path) -> None:
    huge = 2**70
    data = f'{{"a": NaN, "b": -Infinity, "c": {huge}, "d": [-{huge}], "e": 18446744073709551615}}'.encode()
    found, issues = read(write_file(tmp_path, data))
    value = found[0].value
    assert value["a"] != value["a"]
    assert value["b"] == float("-inf")
    assert (value["c"], value["d"], value["e"]) == (huge, [-huge], 2**64 - 1)
    assert issues == []


def test_long_fractions_stay_floats(tmp_path: Path) -> None:
    found, issues = read(write_file(tmp_path, b'{"a": 0.123456789012345678901234}'))
    assert (found[0].value, issues) == ({"a": 0.123456789012345678901234}, [])


REPEATED = b'{"a": {"id": 1, "x:y": "b:c", "id": 2}, "n": %s}'


@pytest.mark.parametrize("number", [b"1", str(2**70).encode()])
def test_repeated_key_is_named(tmp_path: Path, number: bytes) -> None:
    found, (issue,) = read(write_file(tmp_path, b'{"a": 1}\n' + REPEATED % number))
    assert found[1].value["a"]["id"] == 2
    assert issue.what == "an object has the key id more than once. The last value is used"
    assert issue.line == 2


def test_repeated_key_in_a_json_file_is_named(tmp_path: Path) -> None:
    path = write_file(tmp_path, b"[\n" + REPEATED % b"1" + b"]")
    issues: list[ImportIssue] = []
    assert read_json(path, issues, list) is not None
    document = read_json_document(path)
    assert [(issue.line, issue.what) for issue in document.issues] == [
        (2, "an object has the key id more than once. The last value is used")
    ]
    assert [issue.what for issue in issues] == [issue.what for issue in document.issues]


def test_long_integers_in_a_json_file_stay_whole(tmp_path: Path) -> None:
    issues: list[ImportIssue] = []
    path = write_file(tmp_path, f'{{"a": {2**70}}}'.encode())
    assert read_json(path, issues, dict) == {"a": 2**70}
    assert issues == []


def test_escaped_colons_are_no_repeated_keys(tmp_path: Path) -> None:
    found, issues = read(write_file(tmp_path, rb'{"a\u003a": "\u003a:", "b" : [{"c": ":"}]}'))
    assert found[0].value == {"a:": "::", "b": [{"c": ":"}]}
    assert issues == []


def test_byte_order_mark(tmp_path: Path) -> None:
    found, issues = read(write_file(tmp_path, b'\xef\xbb\xbf{"a": 1}\n{"a": 2}\n'))
    assert [one.value for one in found] == [{"a": 1}, {"a": 2}]
    assert issues == []


def test_empty_file_has_no_records(tmp_path: Path) -> None:
    assert read(write_file(tmp_path, b"")) == ([], [])


def test_missing_file_is_issue(tmp_path: Path) -> None:
    found, issues = read(tmp_path / "none.json")
    assert found == []
    assert issues[0].severity == "error"


def test_truncated_last_line_is_reported(tmp_path: Path) -> None:
    found, issues = read(write_file(tmp_path, b'{"id": "a"}\n{"id": "b", "result": "hal'))
    assert [one.value for one in found] == [{"id": "a"}]
    assert issues[0].line == 2
    assert "cut off" in issues[0].what
    assert issues[0].raw == '{"id": "b", "result": "hal'


def test_invalid_line_does_not_stop_reading(tmp_path: Path) -> None:
    found, issues = read(write_file(tmp_path, b'{"a": 1}\n{"a": }\n{"a": 3}\n'))
    assert [one.value["a"] for one in found] == [1, 3]
    assert [one.line for one in found] == [1, 3]
    assert (issues[0].line, issues[0].severity) == (2, "error")


def test_invalid_utf8_is_replaced_and_reported(tmp_path: Path) -> None:
    found, issues = read(write_file(tmp_path, b'{"a": "caf\xe9"}\n'))
    assert found[0].value == {"a": "caf\ufffd"}
    assert "not UTF-8" in issues[0].what
    assert issues[0].line == 1


def test_lone_surrogates_can_be_stored(tmp_path: Path) -> None:
    found, _ = read(write_file(tmp_path, rb'{"a": "x\ud800y"}'))
    assert orjson.dumps(found[0].value)
    assert found[0].value["a"] == "x\\ud800y"


@pytest.mark.parametrize("depth", [300, 2_000, 200_000])
def test_deep_nesting_never_raises(tmp_path: Path, depth: int) -> None:
    found, issues = read(write_file(tmp_path, b"[" * depth + b"]" * depth + b"\n[1]\n"))
    assert found[-1].value == [1]
    assert len(found) + len(issues) == 2


@pytest.mark.sweep
@pytest.mark.slow
def test_large_line_keeps_beginning_of_texts(tmp_path: Path) -> None:
    data = b'{"id": "big", "result": "' + b"x" * 50_000_000 + b'"}\n{"id": "next"}\n'
    found, issues = read(write_file(tmp_path, data))
    assert [one.value["id"] for one in found] == ["big", "next"]
    assert len(found[0].value["result"]) < jsonl.MAX_STRING_LENGTH + 100
    assert found[1].offset == data.index(b'{"id": "next"')
    assert "50 MB" in issues[0].what


def test_line_above_limit_is_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jsonl, "MAX_LINE_BYTES", 1000)
    data = b'{"a": "' + b"y" * 3_000_000 + b'"}\n{"a": 2}\n'
    found, issues = read(write_file(tmp_path, data))
    assert [(one.line, one.offset, one.value) for one in found] == [
        (2, data.index(b'{"a": 2'), {"a": 2})
    ]
    assert issues[0].severity == "error"
    assert len(issues[0].raw or "") <= 301


def test_first_record_is_read(tmp_path: Path) -> None:
    assert read_first_record(write_file(tmp_path, b'\xef\xbb\xbf\r\n\n{"a": 1}\n{')) == {"a": 1}
    assert read_first_record(write_file(tmp_path, b"")) is None
    assert read_first_record(write_file(tmp_path, b"{cut")) is None
    assert read_first_record(tmp_path / "none") is None


def test_first_record_skips_invalid_lines(tmp_path: Path) -> None:
    assert read_first_record(write_file(tmp_path, b'{"a": \xff}\n\x80\n[1]\n{"a": 2}\n')) == {
        "a": 2
    }
    assert read_first_record(write_file(tmp_path, b'{"a": "caf\xe9"}\n')) == {"a": "caf\ufffd"}
    assert read_first_record(write_file(tmp_path, b"[" * 100_000 + b'\n{"a": 1}\n')) == {"a": 1}
    assert read_first_record(write_file(tmp_path, b"[1, 2]\n")) == [1, 2]


def test_named_pipe_does_not_block(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.json"
    os.mkfifo(pipe)
    found, issues = read(pipe)
    assert (found, [issue.what for issue in issues]) == (
        [],
        ["the file cannot be read: not a regular file"],
    )
    assert read_first_record(pipe) is None


def test_large_line_with_many_values_is_not_parsed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jsonl, "LARGE_LINE_BYTES", 100)
    monkeypatch.setattr(jsonl, "MAX_VALUES", 50)
    many = json.dumps({"a": [[1]] * 30}).encode()
    text = json.dumps({"a": 'a, [b] {"c": "d"},\\ ' * 30}).encode()
    found, issues = read(write_file(tmp_path, many + b"\n" + text + b"\n[1]\n"))
    assert [one.line for one in found] == [2, 3]
    assert [(issue.line, issue.severity) for issue in issues if "values" in issue.what] == [
        (1, "error")
    ]
