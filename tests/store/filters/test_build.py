"""Values as filter terms, and filters made narrower."""

from __future__ import annotations

import pytest

from fcreview.store.filters.build import add_terms, build_exact_term


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
def test_a_value_is_quoted_only_where_it_has_to_be(value: str | None, others: list[str | None], term: str) -> None:
    assert build_exact_term("error", value, others) == term


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
def test_a_filter_is_narrowed_without_needless_parentheses(base: str, whole: str) -> None:
    assert add_terms(base, "effective:fail", "error:x") == whole
