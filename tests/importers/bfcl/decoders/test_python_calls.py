"""Prompt-mode Python text is decoded into calls, with the differences of V1 (formats/bfcl
section 5, D2).
"""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fcreview.importers.bfcl.decoders.base import DecoderContext, WrongFormat
from fcreview.importers.bfcl.decoders.models import find_model_decoder
from fcreview.importers.bfcl.decoders.python_calls import (
    is_prose,
    parse_call_text,
    parse_calls,
    parse_simple_calls,
)
from fcreview.importers.bfcl.decoders.registry import decode_result
from fcreview.importers.common.python_syntax import parse_expression, read_call
from fcreview.importers.common.records import Undecodable
from tests.examples import examples


def decode(text: str, *, v1: bool = False, model: str = "") -> Any:
    rules = "V1" if v1 else "V4"
    return decode_result(text, find_model_decoder(model, rules).decoder, DecoderContext(rules))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[f(a=1)]", [("f", {"a": 1})]),
        ("f(a=1)", [("f", {"a": 1})]),
        ("f(a=1), g(b=2)", [("f", {"a": 1}), ("g", {"b": 2})]),
        ("\n`[a.b.c(x='y')]`\n", [("a.b.c", {"x": "y"})]),
        ("[f()]", [("f", {})]),
        ("", []),
        ("[]", []),
        ("[f(1, 2, a=3)]", [("f", {"a": 3})]),
        ("[f(a=1, a=2)]", [("f", {"a": 2})]),
        ("[f(**x)]", [("f", {None: "x"})]),
        ("[a.b(c=1).get('x')]", [("get", {})]),
    ],
)
def test_clean_up_and_call_shapes(text: str, expected: Any) -> None:
    assert decode(text) == expected


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("...", "..."),
        ("true", "true"),
        ("None", None),
        ("(1, 'a')", (1, "a")),
        ("{'k': [1, {'x': 2.5}]}", {"k": [1, {"x": 2.5}]}),
        ("-5", -5),
        ("+5", -5),
        ("not True", -1),
        ("2*3", 6),
        ("1/6", 1 / 6),
        ("'x'+'y'", "xy"),
        ("max(2, 3) + 1", 4),
        ("g(1, 2)", "g(1, 2)"),
        ("g(x=1)", {"g": {"x": 1}}),
        ("rows[0]", "rows[0]"),
        ("'it\\'s'", "it's"),
        ("'a' 'b'", "ab"),
        ("12345678901234567890123", 12345678901234567890123),
    ],
)
def test_argument_values(source: str, value: Any) -> None:
    found = decode(f"[f(a={source})]")[0][1]["a"]
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    "source",
    [
        "Foo.BAR",
        "{1, 2}",
        "f'{x}'",
        "[x for x in y]",
        "a < b",
        "a and b",
        "lambda: 1",
        "x * 2",
        "-x",
        "1 / 0",
        "9**9**9",
        "'x' * 10**9",
        "1 << 10**9",
        "'%999999999d' % 1",
        "[[]] * 10**9",
        "{[]: 1}",
    ],
)
def test_unreadable_values_are_failures(source: str) -> None:
    with pytest.raises(Undecodable):
        decode(f"[f(a={source})]")


@pytest.mark.parametrize(
    "text",
    [
        "```python\n[f(a=1)]\n```",
        "Here is the call: [f(a=1)]",
        "[f(a=1)]\n[g(b=2)]",
        "f(a=1); g(b=2)",
        "[f(a\\_b=1)]",
        "[f(a=1",
        "I'm sorry.",
        "word",
        "[{'f': 1}]",
        "[1]",
        "\0",
        "[f(a='\ud800')]",
        "(" * 5000,
        "[f(a=" + "[" * 150,
    ],
)
def test_text_without_calls_fails(text: str) -> None:
    with pytest.raises(Undecodable):
        decode(text)


def test_v1_call_without_keywords_has_wrong_format() -> None:
    with pytest.raises(WrongFormat) as caught:
        decode("[f(1, 2), g(a=1)]", v1=True)
    assert caught.value.display_calls == [("f", {}), ("g", {"a": 1})]


def test_v1_unreadable_argument_precedes_wrong_format() -> None:
    with pytest.raises(Undecodable):
        decode("[f(1), g(a=Foo.BAR)]", v1=True)


@pytest.mark.parametrize(
    ("text", "model"),
    [
        ("\n\n[f(a=1),\ng(b='x')]", "meta-llama_Meta-Llama-3-8B-Instruct"),
        ("Sure: [f(a=1), g(b='x')] does it", "google_gemma-7b-it"),
        ("[f(a=1), g(b='x')]", "mistral-large"),
        ("\n[f(a=1), g(b='x')]  ", "gpt-4-turbo"),
        ("f(a=1), g(b='x')", "claude-3-opus"),
        ("f(a=1), g(b='x');", "Nexusflow-Raven-v2"),
    ],
)
def test_v1_handlers_clean_up_differently(text: str, model: str) -> None:
    assert decode(text, v1=True, model=model) == [("f", {"a": 1}), ("g", {"b": "x"})]


@pytest.mark.parametrize(
    ("text", "model"), [("f(a=1)", "gpt-4o"), ("`[f(a=1)]`", "claude"), ("\n[f(a=1)]", "claude")]
)
def test_v1_handlers_without_clean_up_fail(text: str, model: str) -> None:
    with pytest.raises(Undecodable):
        decode(text, v1=True, model=model)


NAMES = st.sampled_from(
    ["f", "a.b", "if", "None", "x_1", "_", "a.for.b", "match", "é", "__debug__"]
)
NUMBERS = ("1", "-1", "0", "00", "1.5", "-0.0", "1.", "1e5", "1_0", "0x1", "99999999999999999999")
WORDS = ("True", "none", "None", "if", "x.y", "-x", "# c\n1")
TEXTS = (
    "''",
    "'a'",
    '"b"',
    "'''c'''",
    "'\\n'",
    "'é ]),'",
    "f'x'",
    "b'x'",
    "'a' 'b'",
    "'#'",
    "'\t'",
    "'\r'",
)
SCALARS = st.sampled_from([*NUMBERS, *WORDS, *TEXTS])
LISTS = st.lists(SCALARS, max_size=3).map(lambda parts: "[" + ", ".join(parts) + "]")
VALUES = st.one_of(SCALARS, LISTS, st.just("[1,]"))
GAPS = st.sampled_from(["", " ", "\n", "  ", "\t"])


@st.composite
def call_texts(draw: st.DrawFn) -> str:
    texts = []
    for _ in range(draw(st.integers(0, 3))):
        pairs = [
            f"{draw(GAPS)}{draw(NAMES)}{draw(st.sampled_from(['=', ' = ', '  =', ': ']))}{draw(VALUES)}{draw(GAPS)}"
            for _ in range(draw(st.integers(0, 3)))
        ]
        texts.append(f"{draw(NAMES)}({','.join(pairs)})")
    return (
        "["
        + (draw(GAPS) + "," + draw(GAPS)).join(texts)
        + draw(st.sampled_from(["]", "]", "", "]]"]))
    )


@given(call_texts())
@examples(3)
def test_fast_reader_agrees_with_parser(text: str) -> None:
    fast = parse_simple_calls(text)
    if fast is not None:
        body: Any = parse_expression(text)
        slow = [read_call(node) for node in body.elts]
        assert repr(fast) == repr(slow)


@given(st.text(alphabet="ab Iift'\"!=(,.\n`for not None", max_size=20))
@examples(3)
def test_prose_is_not_expression(text: str) -> None:
    if is_prose("[" + text):
        with pytest.raises(Undecodable):
            parse_expression("[" + text + "]")


def test_fast_reader_accepts_common_calls() -> None:
    assert parse_simple_calls("[a.b(x=1, y='z', w=[1, 2.5], v=true), g(a=None)]") is not None


@pytest.mark.parametrize(
    "text",
    [
        "[" * 1_200_000,
        "a" * 1_200_000,
        "[f(a=" + "-" * 100_000 + "1)]",
        "[f(a=" + "1+" * 90_000 + "1)]",
        "[f(a=" + "x." * 90_000 + "y)]",
        "[f(" + "a=1," * 90_000,
        "[f(a='" + "\\" * 100_000,
        "[f" + "(a=1)" * 50_000,
        "[" + " " * 900_000 + "f",
        "[" + "a " * 200_000,
    ],
    ids=lambda text: text[:12],
)
def test_hostile_text_is_refused_quickly(text: str) -> None:
    start = time.process_time()
    with pytest.raises((Undecodable, WrongFormat)):
        parse_calls(text)
    assert time.process_time() - start < 3


FUNCTIONS = [{"name": "cd", "parameters": {"properties": {"folder": {}, "force": {}}}}]


def test_positional_arguments_get_names() -> None:
    assert parse_call_text("cd('a', force=True)", FUNCTIONS) == (
        "cd",
        {"folder": "a", "force": True},
    )
    assert parse_call_text("cd('a')") == ("cd", {"0": "a"})
    assert parse_call_text("cd(folder='a')") == ("cd", {"folder": "a"})
    assert parse_call_text("no call") is None
