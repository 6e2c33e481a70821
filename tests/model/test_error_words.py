"""Error types in plain words."""

from __future__ import annotations

import pytest

from fcreview.model.wording import describe_error_type


@pytest.mark.parametrize(
    ("error", "words"),
    [
        ("value_error:string", "a text is none of the accepted ones"),
        ("value_error:never_seen", "the right argument with a value that is not accepted"),
        ("multiple_function_checker:wrong_count", "more or fewer calls than golden ones"),
        ("simple_function_checker:missing_required", "a required argument was left out"),
        ("type_error:simple", "a value has the wrong type"),
        ("relevance_error:decoder_success", "no function fits the question, and one was called all the same"),
        ("relevance_error:decoder_failed", "a call was expected, and none was made"),
        ("dialog_act:no_overlap", "none of the labels of the reply is a golden one"),
        ("something else", ""),
        ("", ""),
    ],
)
def test_by_the_whole_its_end_or_its_beginning(error: str, words: str) -> None:
    assert describe_error_type(error) == words
