"""Error types are described in plain words."""

from __future__ import annotations

import pytest

from fcreview.model.wording import describe_error_type


@pytest.mark.parametrize(
    ("error", "words"),
    [
        ("value_error:string", "string is not an accepted value"),
        ("value_error:never_seen", "argument value is not accepted"),
        ("multiple_function_checker:wrong_count", "number of calls differs from the golden answer"),
        ("simple_function_checker:missing_required", "required argument is missing"),
        ("type_error:simple", "value has the wrong type"),
        ("relevance_error:decoder_success", "no function fits, but the model called one"),
        ("relevance_error:decoder_failed", "no call was made, but one was expected"),
        ("dialog_act:no_overlap", "reply has none of the golden reply's labels"),
        (
            "db_mismatch + not_communicated",
            "final database differs from the expected one and model did not give the user an expected text",
        ),
        ("db_mismatch + never_seen", ""),
        ("something else", ""),
        ("", ""),
    ],
)
def test_error_type_is_described(error: str, words: str) -> None:
    assert describe_error_type(error) == words
