"""JSON is read as a stream with the same values as by a parser."""

from __future__ import annotations

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fcreview.importers.inspect import json_stream
from fcreview.importers.inspect.json_stream import JsonStream, JsonStreamError
from tests.examples import examples

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4)
    ),
    max_leaves=30,
)


def stream_of(text: bytes, step: int = 7) -> JsonStream:
    source = io.BytesIO(text)
    return JsonStream(lambda _: source.read(step))


@examples(0.5)
@given(
    value=st.dictionaries(st.text(max_size=6), VALUES, max_size=5),
    indent=st.sampled_from([None, 1]),
    step=st.integers(1, 40),
    is_ascii=st.booleans(),
)
def test_members_equal_parsed_object(
    value: dict, indent: int | None, step: int, is_ascii: bool
) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=is_ascii).encode("utf-8", "surrogatepass")
    stream = stream_of(text, step)
    assert {
        key: json.loads(stream.read_value(1 << 20) or b"") for key in stream.iterate_keys()
    } == json.loads(text)
    skipping = stream_of(text, step)
    assert [key for key in skipping.iterate_keys() if skipping.skip_value()] == list(value)


def test_brackets_and_quotes_in_strings_do_not_count() -> None:
    text = json.dumps({"a": ['}]"\\', "\\\\", {"b": '"{['}], "c": "]}" * 40_000, "d": 5}).encode()
    stream = stream_of(text, 1000)
    found = {key: stream.read_value(100) for key in stream.iterate_keys()}
    assert found["c"] is None
    assert json.loads(found["a"] or b"") == ['}]"\\', "\\\\", {"b": '"{['}]
    assert found["d"] == b"5"


def test_elements_have_positions_and_lines() -> None:
    text = b'{"x": 1,\n "samples": [\n  {"id": 1},\n  {"id": 2}\n ]}'
    stream = stream_of(text, 3)
    places = []
    for key in stream.iterate_keys():
        if key == "samples":
            for _ in stream.iterate_elements():
                places.append((stream.line, stream.position))
                stream.skip_value()
        else:
            stream.skip_value()
    assert places == [(3, text.index(b'{"id": 1')), (4, text.index(b'{"id": 2'))]


def test_rest_of_array_is_skipped() -> None:
    stream = stream_of(b'{"events": [{"a": [1]}, {"b": "]"}, [2]], "after": "yes"}', 4)
    found = {}
    for key in stream.iterate_keys():
        if key == "events":
            for _ in stream.iterate_elements():
                stream.skip_value()
                stream.skip_rest_of_container()
                break
        else:
            found[key] = stream.read_value(20)
    assert found == {"after": b'"yes"'}


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"[",
        b'{"a"',
        b'{"a": ',
        b'{"a": [1, 2',
        b'{"a": "x',
        b'{"a": 1 "b"',
        b"{1: 2}",
        b'{"a": "\\',
    ],
)
def test_incomplete_text_is_error(text: bytes) -> None:
    stream = stream_of(text)
    with pytest.raises(JsonStreamError, match="at byte"):
        for _ in stream.iterate_keys():
            stream.skip_value()


def test_long_array_is_skipped_in_parts() -> None:
    text = json.dumps(
        {"events": [{"text": 'a "quoted" \\ word', "n": [n]} for n in range(60_000)], "end": 1}
    ).encode()
    assert len(text) > 2 * json_stream.CHUNK_BYTES
    source = io.BytesIO(text)
    stream = JsonStream(source.read)
    assert [(key, stream.read_value(10)) for key in stream.iterate_keys()] == [
        ("events", None),
        ("end", b"1"),
    ]
