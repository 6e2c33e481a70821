"""Java and JavaScript source texts are converted to values and checked (formats/bfcl 6.6)."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fcreview.importers.bfcl.dataset import DatasetItem
from fcreview.importers.bfcl.decoders.java_javascript import (
    JAVA_TYPES,
    JAVASCRIPT_TYPES,
    convert_java,
    convert_javascript,
)
from tests.examples import examples
from tests.importers.bfcl.checker.cases import evaluate


@pytest.mark.parametrize(
    ("text", "kind", "nested", "value"),
    [
        ("-12", "integer", None, -12),
        ("1.5", "integer", None, "1.5"),
        ("5L", "long", None, 5),
        ("5", "long", None, "5"),
        ("1.5f", "float", None, 1.5),
        ("1.5", "float", None, "1.5"),
        ("1e3", "double", None, 1000.0),
        ("1.5f", "double", None, "1.5f"),
        ("true", "boolean", None, True),
        ("True", "boolean", None, "True"),
        ("'c'", "char", None, "'c'"),
        ("x", "any", None, "x"),
        ("new int[]{1, 2}", "Array", "integer", [1, 2]),
        ("new int[] { }", "Array", "integer", []),
        ('new String[]{"a", "b"}', "Array", "String", ['"a"', '"b"']),
        ("[1, 2]", "Array", "integer", "[1, 2]"),
        ('new ArrayList<String>(Arrays.asList("a", "b"))', "ArrayList", "String", ["a", "b"]),
        ("new ArrayList<>() {{ add(1); add(2); }}", "ArrayList", "integer", [1, 2]),
        ("new ArrayList<>()", "ArrayList", "integer", []),
        (
            "new ArrayList<>(Arrays.asList(1, true, 2L, 1.5f, x))",
            "ArrayList",
            None,
            [1, True, 2, 1.5, "x"],
        ),
        (
            'new HashMap<String, Object>() {{ put("a", 1); put("b", "x"); }}',
            "HashMap",
            None,
            {"a": 1, "b": "x"},
        ),
        ("new HashMap<>()", "HashMap", None, {}),
        ("Map.of()", "HashMap", None, "Map.of()"),
    ],
)
def test_java(text: str, kind: str, nested: str | None, value: Any) -> None:
    found = convert_java(text, kind, nested)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("text", "kind", "nested", "value"),
    [
        ("'a'", "String", None, "a"),
        ("a", "String", None, "a"),
        ("5", "integer", None, 5),
        ("5", "float", None, 5.0),
        ("5.", "float", None, "5."),
        ("5n", "Bigint", None, 5),
        ("true", "Boolean", None, True),
        ("'x'", "any", None, "'x'"),
        ("['a', \"b\"]", "array", "String", ["a", "b"]),
        ("new Array(1, 2)", "array", "integer", [1, 2]),
        ("[]", "array", "String", []),
        ("[[1, 2], [3]]", "array", "array", [[1, 2], [3]]),
        ("new Array([1], [2])", "array", None, [[1], [2]]),
        (
            "{a: 1, 'b': \"x\", c: [1, 2], d: true}",
            "dict",
            None,
            {"a": 1, "b": "x", "c": [1, 2], "d": True},
        ),
        ("{}", "dict", None, {}),
        ("text", "dict", None, "text"),
    ],
)
def test_javascript(text: str, kind: str, nested: str | None, value: Any) -> None:
    found = convert_javascript(text, kind, nested)
    assert found == value
    assert type(found) is type(value)


PUT = 'new HashMap<>() {{ put(\\"a\\", 2); }}'


def check_call(
    language: str, schema: Any, accepted: list[Any], result: Any
) -> tuple[bool | None, str | None]:
    category = f"simple_{language}"
    document = {
        "name": "alpha",
        "parameters": {"properties": {"beta": schema}, "required": ["beta"]},
    }
    case = DatasetItem(
        "c", category, functions=[document], ground_truth=[{"alpha": {"beta": accepted}}]
    )
    model = "gpt-4o-FC" if isinstance(result, list) else "gpt-4o"
    found = evaluate(result, case, version="V4", category=category, model=model)
    return found.valid, found.error_type


@pytest.mark.parametrize(
    ("language", "kind", "accepted", "result", "error"),
    [
        ("java", "integer", [5], [{"alpha": '{"beta": "5"}'}], None),
        ("java", "integer", [5], [{"alpha": '{"beta": 5}'}], "type_error:java"),
        ("javascript", "integer", [5], [{"alpha": '{"beta": 5}'}], "type_error:js"),
        ("java", "integer", [5], "[alpha(beta=5);]", None),
        ("java", "long", [5], "[alpha(beta=5);]", "type_error:simple"),
        ("java", "String", ["x Y"], '[alpha(beta="XY");]', None),
        ("javascript", "array", [[1, 2]], "[alpha(beta=[1, 2])]", None),
        ("javascript", "Boolean", [True], "[alpha(beta=false)]", "value_error:others"),
        (
            "java",
            "HashMap",
            [{"a": [1]}],
            [{"alpha": f'{{"beta": "{PUT}"}}'}],
            "value_error:dict_value",
        ),
        (
            "java",
            "HashMap",
            [{"a": [1]}],
            "[alpha(beta=new HashMap<>() {{ put(k, 1); }});]",
            "value_error:dict_key",
        ),
    ],
)
def test_verdicts(
    language: str, kind: str, accepted: list[Any], result: Any, error: str | None
) -> None:
    schema = {"type": kind, "items": {"type": "integer"}} if kind == "array" else {"type": kind}
    assert check_call(language, schema, accepted, result) == (error is None, error)


PIECES = [
    "new ",
    "ArrayList<",
    ">",
    "()",
    "(Arrays.asList(",
    "{{",
    "}}",
    'put("k", ',
    "add(",
    ")",
    *'[]{},:1"\n',
    '"a"',
]
SOURCES = st.lists(st.sampled_from(PIECES), max_size=12).map("".join)


@given(SOURCES, st.sampled_from([None, "integer", "String", "nonsense"]))
@examples(3)
def test_conversions_never_raise(text: str, nested: str | None) -> None:
    for kind in JAVA_TYPES:
        convert_java(text, kind, nested)
    for kind in JAVASCRIPT_TYPES:
        convert_javascript(text, kind, nested)


HOSTILE = [
    'put("',
    "add(",
    "new ArrayList<a>(",
    "[[",
    ",a",
    "a:",
    "new HashMap<",
    "] ",
    "new x[] {",
]


@pytest.mark.parametrize("piece", HOSTILE)
def test_hostile_source_is_converted_quickly(piece: str) -> None:
    start = time.process_time()
    for size in (9_000, 2_000_000):
        body = piece * (size // len(piece))
        heads = {
            "Array": "new int[]{",
            "ArrayList": "new ArrayList<>() {{",
            "HashMap": "new HashMap<>() {{",
        }
        for kind, head in heads.items():
            convert_java(body, kind, "String")
            convert_java(head + body + "}}", kind, "String")
        for kind, text in (
            ("array", "[[" + body + "]]"),
            ("dict", "{" + body + "}"),
            ("array", body),
            ("float", body),
        ):
            convert_javascript(text, kind, "String")
    assert time.process_time() - start < 3
