from __future__ import annotations

from typing import Any

import pytest

from fcreview.model.function_schema import (
    NO_DEFAULT,
    MalformedSchema,
    parse_documented_default,
    read_declared_parameters,
    read_function_schema,
)


@pytest.mark.parametrize(
    ("description", "default"),
    [
        ("The unit. Default is 'km'.", "km"),
        ("Default: 10", "10"),
        ("defaults to True.", "True"),
        ("Unit (default 'celsius')", "celsius"),
        ("Traits, default is ['a', 'b'].", "['a', 'b']"),
        ("The region. Default United States", "United States"),
        ("default is 'Homo sapiens' (Humans).", "Homo sapiens"),
        ("The significance level. Default is 0.05.", "0.05"),
        ("Uses the default route.", NO_DEFAULT),
        ("Default is 8.99e9.", "8.99e9"),
        ("Default is zero.", "0"),
        ("Default value is approximately 9.81 m/s^2, earth's gravity.", "9.81"),
        ("Default is 5 years.", "5"),
        ("Defaults to square meters.", "square meters"),
        ("Default to be 'brain'.", "brain"),
        ("Default is latest year if not specified.", "latest year"),
        ("Default to not use it if not specified.", NO_DEFAULT),
        ("If omitted, default to exchange rate of 1 unit source currency.", NO_DEFAULT),
        ("Default is empty array.", NO_DEFAULT),
        ("The unit.", NO_DEFAULT),
        ("Default is None.", NO_DEFAULT),
    ],
)
def test_defaults_are_read_from_descriptions(description: str, default: Any) -> None:
    assert parse_documented_default(description) == default


def test_other_schema_forms_are_read_and_broken_ones_omitted() -> None:
    tool = {
        "type": "function",
        "function": {"name": "f", "parameters": {"properties": {"x": {"type": "integer"}}}},
    }
    assert read_function_schema(tool).parameters["x"].kind == "integer"
    schema = {
        "name": "f",
        "inputSchema": {"json": {"properties": {"x": {"type": ["a"]}, "y": 3}, "required": "x"}},
    }
    assert list(read_function_schema(schema).parameters) == ["x"]
    for broken in ({}, {"parameters": []}, {"name": 3, "parameters": {"properties": None}}):
        assert not read_function_schema(broken).lists_parameters


@pytest.mark.parametrize(
    "parameters", [["x"], {"properties": ["x"]}, {"properties": {}, "required": "x"}]
)
def test_strict_reader_refuses_malformed_schemas(parameters: Any) -> None:
    read_declared_parameters({"name": "f", "parameters": parameters})
    with pytest.raises(MalformedSchema):
        read_declared_parameters({"name": "f", "parameters": parameters}, strict=True)
