"""Texts of failures are recognised by their kind."""

from __future__ import annotations

import pytest

from fcreview.model.error_text import MAX_CLASSIFIED_CHARACTERS, classify_error_text
from fcreview.model.incident import INCIDENT_KINDS
from tests.error_texts import ERROR_TEXTS

CASES = [(kind, text) for kind, texts in ERROR_TEXTS.items() for text in texts]


@pytest.mark.parametrize(("kind", "text"), CASES)
def test_error_text_has_its_kind(kind: str, text: str) -> None:
    assert classify_error_text(text) == kind


def test_corpus_has_texts_of_every_kind_that_a_text_can_have() -> None:
    assert set(ERROR_TEXTS) == set(INCIDENT_KINDS) - {"empty_reply"}


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (
            "rate_limit",
            "Error code: 400 - {'error': {'message': 'upstream returned 429: rate limit'}}",
        ),
        ("context_length", "Error code: 400 - invalid_request_error: prompt is too long"),
        ("connection", "Error code: 500 - {'error': {'message': 'Connection error.'}}"),
        ("unparsable", "Error code: 400 - tool_use_failed: context length exceeded"),
        (
            "bad_request",
            "Error code: 404 - The model does not exist or you do not have access to it.",
        ),
        ("bad_request", "Error code: 400 - Unsupported parameter: 'timeout'"),
        ("harness", "PermissionError: [Errno 13] Permission denied: '/logs/agent'"),
    ],
)
def test_first_kind_in_the_order_of_the_table_counts(kind: str, text: str) -> None:
    assert classify_error_text(text) == kind


@pytest.mark.parametrize(
    "text",
    [
        "the request used 503 tokens",
        "3.503 seconds",
        "item 4290 of 5000",
        "401 tokens of 1,401",
        "error 50312",
    ],
)
def test_numbers_that_are_no_status_mean_nothing(text: str) -> None:
    assert classify_error_text(text) == "unknown"


def test_message_is_found_at_both_ends_of_a_long_text() -> None:
    frames = "  line of a trace\n" * MAX_CLASSIFIED_CHARACTERS
    assert classify_error_text(f"Request timed out.\n{frames}") == "timeout"
    assert (
        classify_error_text(f"{frames}\nopenai.APIConnectionError: Connection error.")
        == "connection"
    )


@pytest.mark.parametrize(
    "word",
    ["error ", "exceeds ", "status: ", "prompt ", "(", "a", "\0", "tokens per ", "connection was "],
)
def test_hostile_text_of_a_megabyte_has_a_kind(word: str) -> None:
    assert classify_error_text(word * (1_000_000 // len(word))) in INCIDENT_KINDS
