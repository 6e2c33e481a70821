"""Filter terms are built from values, and filters are narrowed."""

from __future__ import annotations

import pytest

from fcreview.store.filters.tokens import ExactTermBuilder, add_terms


@pytest.mark.parametrize(
    ("value", "others", "term"),
    [
        ("value_error:string", ["value_error"], "error:value_error:string"),
        ("value_error", ["value_error", "value_error:string"], 'error:"value_error"'),
        ("a", ["A"], 'error:"a"'),
        ("a", ["ab"], "error:a"),
        ("none", [None], 'error:"none"'),
        (None, ["none"], "error:none"),
        ('two "words"', [], 'error:"two \\"words\\""'),
        ("a*", [], 'error:"a*"'),
        (">1", [], 'error:">1"'),
        ("", [], 'error:""'),
        ("a" * 201, [], "error:md5:15936442c22dab9b685de350bfe75971"),
        ("md5:" + "0" * 32, [], 'error:"md5:' + "0" * 32 + '"'),
    ],
)
def test_value_is_quoted_only_if_needed(
    value: str | None, others: list[str | None], term: str
) -> None:
    assert ExactTermBuilder("error", others).build_term(value) == term


@pytest.mark.parametrize(
    ("base", "whole"),
    [
        ("", "effective:fail error:x"),
        ("category:a -reviewed", "category:a -reviewed effective:fail error:x"),
        ("effective:fail category:a", "effective:fail category:a error:x"),
        ("category:a OR rule:pass", "(category:a OR rule:pass) effective:fail error:x"),
        ('text:"a OR b"', 'text:"a OR b" effective:fail error:x'),
    ],
)
def test_narrowed_filter_has_only_needed_parentheses(base: str, whole: str) -> None:
    assert add_terms(base, "effective:fail", "error:x") == whole


def test_building_terms_needs_few_comparisons() -> None:
    class CountedText(str):
        calls = 0

        def lower(self) -> str:
            CountedText.calls += 1
            return super().lower()

    values = [CountedText(f"function_{number}") for number in range(500)]
    builder = ExactTermBuilder("function", values)
    assert [builder.build_term(value) for value in values][:2] == [
        "function:function_0",
        "function:function_1",
    ]
    assert CountedText.calls <= 4 * len(values)


@pytest.mark.parametrize("separator", [":", ""])
def test_plain_term_matches_no_other_value(separator: str) -> None:
    values = ["a", "A", "ab", "abc", "b:", "b:c", "b", "c", "c:", "cd:e", "D", "d:x"]
    builder = ExactTermBuilder("k", values, separator)
    for value in values:
        others = [other.lower() for other in values if other != value]
        lower = value.lower()
        is_plain = not any(
            other == lower or other.startswith(lower + separator) for other in others
        )
        assert builder.build_term(value) == (f"k:{value}" if is_plain else f'k:"{value}"'), value
